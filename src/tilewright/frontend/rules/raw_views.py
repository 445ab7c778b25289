"""Rules of views of raw memory: tensors at addresses, and tensors in tiles of any kind.

They belong to the pointer family: nothing but the kernel says what lies behind an address. Tiles of
inputs, though, are safe however they lie: they are only read, and indices are checked or padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import i64
from ...base.errors import Code
from ...ir.core import Value
from ..access import access_hints, checked_index, load, make_view, store, unchecked_index
from ..describe import describe
from ..emit import Emitter
from ..operands import parts
from ..pointers import only_pointer
from ..values import OutputRef, PartitionRef, TensorRef
from .memory import partition, read_only, unchecked_load, writable
from .memory import tensor as tensor_of

# --- tensors at addresses ----------------------------------------------------------------------


def make_tensor_view(em: Emitter, base: Any, shape: Any, strides: Any = None) -> TensorRef:
    """A tensor at a pointer."""
    em.require_unsafe("`make_tensor_view`")
    pointer = only_pointer(em, base)
    extents = _dims(em, shape, "shape")
    return _tensor_at(em, pointer, extents, strides, pointer.name or "memory")


def load_tensor(
    em: Emitter, pointers: Any, index: Any, shape: Any, strides: Any, dtype: Any
) -> TensorRef:
    """A tensor at an address that is read from a tensor of addresses."""
    em.require_unsafe("`load_tensor`")
    source = tensor_of(em, pointers, "pointers")
    if source.type.dtype is not i64:
        em.fail(Code.DTYPE, "addresses are i64", expected="i64", got=f"{source.type.dtype.name}")
    extents = _dims(em, shape, "shape")
    view = make_view(em, source, (1,) * source.type.rank)
    place, guard = checked_index(em, view, source.name, index)
    address = em.emit("reshape", load(em, view, place, guard), shape=())
    if guard is not None and extents:
        # The check failed: there is no address, so there must be no element either.
        extents[0] = em.emit("select", guard, em.index(extents[0]), em.index(0))
    pointer = em.emit("int_to_ptr", address, to=em.static_dtype(dtype))
    return _tensor_at(em, pointer, extents, strides, source.name)


def _dims(em: Emitter, given: Any, what: str) -> list[int | Value]:
    return [
        em.index(n, f"{what}[{k}]") if isinstance(n, Value) else em.static_int(n, f"{what}[{k}]")
        for k, n in enumerate(parts(given))
    ]


def _tensor_at(
    em: Emitter, pointer: Value, extents: list[int | Value], strides: Any, name: str
) -> TensorRef:
    steps = _row_major(em, extents) if strides is None else _dims(em, strides, "strides")
    if len(steps) != len(extents):
        em.fail(
            Code.RANK,
            "one stride per extent is needed",
            expected=f"{len(extents)} strides",
            got=str(len(steps)),
        )
    value = em.emit(
        "make_tensor",
        pointer,
        [n for n in (*extents, *steps) if isinstance(n, Value)],
        shape=_static(extents),
        strides=_static(steps),
        mutable=True,
    )
    return TensorRef(value, name)


def _static(dims: Sequence[int | Value]) -> tuple[int | None, ...]:
    return tuple(None if isinstance(n, Value) else n for n in dims)


def _row_major(em: Emitter, extents: Sequence[int | Value]) -> list[int | Value]:
    steps: list[int | Value] = [1] * len(extents)
    for k in reversed(range(len(extents) - 1)):
        n, step = extents[k + 1], steps[k + 1]
        if isinstance(n, int) and isinstance(step, int):
            steps[k] = n * step
        else:
            steps[k] = em.emit("muli", em.index(n), em.index(step))
    return steps


# --- tensors in tiles --------------------------------------------------------------------------


def make_partition_view(
    em: Emitter, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """A tensor in tiles."""
    source = tensor_of(em, tensor, "tensor")
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name)


def make_partition_view_mut(
    em: Emitter, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """A whole output, or raw memory, in tiles that may be written."""
    em.require_unsafe("`make_partition_view_mut`")
    source = tensor_of(em, tensor, "tensor")
    if not source.type.mutable:
        read_only(em, source.name)
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name, mutable=True)


def make_strided_view(
    em: Emitter, tensor: Any, shape: Any, steps: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """Tiles that start `steps` apart."""
    source = _read_only_or_unsafe(em, tensor, "make_strided_view")
    apart = tuple(em.static_int(n, f"steps[{k}]") for k, n in enumerate(parts(steps)))
    if len(apart) != source.type.rank or min(apart, default=1) < 1:
        em.fail(
            Code.SHAPE,
            f"wrong steps for `{source.name}`",
            expected=f"{source.type.rank} positive ints",
            got=str(apart),
        )
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding, step=apart)
    return PartitionRef(view, source.name, mutable=source.type.mutable)


def make_gather_scatter_view(
    em: Emitter, tensor: Any, shape: Any, axis: Any = 0, *, padding: Any = ...
) -> PartitionRef:
    """Rows in any order along an axis."""
    source = _read_only_or_unsafe(em, tensor, "make_gather_scatter_view")
    sparse = em.static_axis(axis, source.type.rank)
    padded = padding is not ...
    view = make_view(em, source, shape, padding=padding if padded else 0, sparse=sparse)
    return PartitionRef(view, source.name, mutable=source.type.mutable, padded=padded)


def _read_only_or_unsafe(em: Emitter, tensor: Any, word: str) -> TensorRef | OutputRef:
    """A tensor of which tiles of this kind may be made: those of an output are of many blocks."""
    source = tensor_of(em, tensor, "tensor")
    if source.type.mutable:
        em.require_unsafe(f"`{word}` of {describe(source)}")
    return source


# --- access without a check ---------------------------------------------------------------------


def load_view_tko(
    em: Emitter, view: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    """A load without a check."""
    em.require_unsafe("`load_view_tko`")
    ref = partition(em, view)
    return unchecked_load(em, ref, index, **access_hints(em, latency, allow_tma))


def store_view_tko(
    em: Emitter, view: Any, index: Any, tile: Any, *, latency: Any = None, allow_tma: Any = None
) -> None:
    """A store without a check."""
    em.require_unsafe("`store_view_tko`")
    ref = writable(em, view)
    values = unchecked_index(em, ref.view, ref.name, index)
    store(em, tile, ref.view, ref.name, values, **access_hints(em, latency, allow_tma))


RULES: dict[str, Callable[..., Any]] = {
    "make_tensor_view": make_tensor_view,
    "load_tensor": load_tensor,
    "make_partition_view": make_partition_view,
    "make_partition_view_mut": make_partition_view_mut,
    "make_strided_view": make_strided_view,
    "make_gather_scatter_view": make_gather_scatter_view,
    "load_view_tko": load_view_tko,
    "store_view_tko": store_view_tko,
}
