"""Rules of raw memory, in unsafe code: pointers, views at addresses, atomics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ...base.dtypes import AnyDType, bf16, f16, f32, f64, i32, i64, u32, u64
from ...base.errors import Code
from ...base.shapes import Shape
from ...ir.attrs import AtomicMode, Ordering, Scope
from ...ir.core import Value
from ...lang.stdlib.arrangement import take_along_axis
from ..semantics.access import (
    access_hints,
    checked_index,
    checked_offsets,
    checked_rows,
    counted,
    free_offsets,
    load,
    make_view,
    store,
    stored_value,
    unchecked_index,
)
from ..semantics.builder import SemanticBuilder
from ..semantics.operands import parts, pointer_of, word
from ..semantics.pointers import (
    ATOMIC_ORDERS,
    LOAD_ORDERS,
    STORE_ORDERS,
    add_pointer,
    address_of,
    as_pointers,
    elements_of,
    mask_for,
    memory_order,
    moved,
    only_pointer,
    pointee,
    value_for,
)
from ..semantics.promotion import is_weak
from ..semantics.simt import update_element
from ..semantics.values import (
    AccumulatorRef,
    ElementRef,
    OutputRef,
    PartitionRef,
    SharedRef,
    SliceRef,
    TensorRef,
    describe,
)
from .memory import partition, read_only, shape_of, unchecked_load, writable
from .memory import tensor as tensor_of

# -------------------------------------------------------------------------------------------------
# Rules of views of raw memory: tensors at addresses, and tensors in tiles of any kind.
#
# They belong to the pointer family: only the kernel knows what is at an address. Views of inputs
# are safe in any arrangement: they are only read, and indices are checked or padded.

# --- tensors at addresses ----------------------------------------------------------------------


def make_tensor_view(em: SemanticBuilder, base: Any, shape: Any, strides: Any = None) -> TensorRef:
    """Return a tensor at a pointer."""
    em.require_unsafe("`make_tensor_view`")
    pointer = only_pointer(em, base)
    extents = _dims(em, shape, "shape")
    return _tensor_at(em, pointer, extents, strides, pointer.name or "memory")


def load_tensor(
    em: SemanticBuilder, pointers: Any, index: Any, shape: Any, strides: Any, dtype: Any
) -> TensorRef:
    """Return a tensor at an address that is read from a tensor of addresses."""
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


def _dims(em: SemanticBuilder, given: Any, what: str) -> list[int | Value]:
    return [
        em.index(n, f"{what}[{k}]") if isinstance(n, Value) else em.static_int(n, f"{what}[{k}]")
        for k, n in enumerate(parts(given))
    ]


def _tensor_at(
    em: SemanticBuilder, pointer: Value, extents: list[int | Value], strides: Any, name: str
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


def _row_major(em: SemanticBuilder, extents: Sequence[int | Value]) -> list[int | Value]:
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
    em: SemanticBuilder, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """Return a tensor in tiles."""
    source = tensor_of(em, tensor, "tensor")
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name)


def make_partition_view_mut(
    em: SemanticBuilder, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """Return a whole output, or raw memory, in tiles that may be written."""
    em.require_unsafe("`make_partition_view_mut`")
    source = tensor_of(em, tensor, "tensor")
    if not source.type.mutable:
        read_only(em, source.name)
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name, mutable=True)


def make_strided_view(
    em: SemanticBuilder,
    tensor: Any,
    shape: Any,
    steps: Any,
    *,
    padding: Any = 0,
    dim_map: Any = None,
) -> PartitionRef:
    """Make a view of tiles that start `steps` apart."""
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
    em: SemanticBuilder, tensor: Any, shape: Any, axis: Any = 0, *, padding: Any = ...
) -> PartitionRef:
    """Return rows in any order along an axis."""
    source = _read_only_or_unsafe(em, tensor, "make_gather_scatter_view")
    sparse = em.static_axis(axis, source.type.rank)
    padded = padding is not ...
    view = make_view(em, source, shape, padding=padding if padded else 0, sparse=sparse)
    return PartitionRef(view, source.name, mutable=source.type.mutable, padded=padded)


def _read_only_or_unsafe(em: SemanticBuilder, tensor: Any, word: str) -> TensorRef | OutputRef:
    """Return a tensor, after a check that outputs are only viewed in unsafe code."""
    source = tensor_of(em, tensor, "tensor")
    if source.type.mutable:
        em.require_unsafe(f"`{word}` of {describe(source)}")
    return source


# --- access without a check ---------------------------------------------------------------------


def load_view_tko(
    em: SemanticBuilder, view: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    """Load a tile without a bounds check."""
    em.require_unsafe("`load_view_tko`")
    ref = partition(em, view)
    return unchecked_load(em, ref, index, **access_hints(em, latency, allow_tma))


def store_view_tko(
    em: SemanticBuilder,
    view: Any,
    index: Any,
    tile: Any,
    *,
    latency: Any = None,
    allow_tma: Any = None,
) -> None:
    """Store a tile without a bounds check."""
    em.require_unsafe("`store_view_tko`")
    ref = writable(em, view)
    values = unchecked_index(em, ref.view, ref.name, index)
    store(em, tile, ref.view, ref.name, values, **access_hints(em, latency, allow_tma))


# -------------------------------------------------------------------------------------------------
# Rules of the pointer family: pointers, accesses through them, globals; all need unsafe code.

# --- pointer arithmetic ------------------------------------------------------------------------


def offset(em: SemanticBuilder, self: Any, by: Any) -> Value:
    """Return pointers moved by a number of elements."""
    return moved(em, as_pointers(em, self), by)


def _addptr(em: SemanticBuilder, pointers: Any, by: Any) -> Value:
    return offset(em, pointers, by)


def pointer_to_tile(em: SemanticBuilder, pointer: Any) -> Value:
    """Return the pointer, which is a tile of rank 0 already."""
    return only_pointer(em, pointer)


def tile_to_pointer(em: SemanticBuilder, pointers: Any) -> Value:
    """Return the only pointer of a tile."""
    return only_pointer(em, pointers)


def broadcast_ptr(em: SemanticBuilder, pointers: Any, shape: Any) -> Value:
    """Repeat pointers along axes."""
    return _broadcast(em, pointers, shape)


def reshape_ptr(em: SemanticBuilder, pointers: Any, shape: Any) -> Value:
    """Return pointers in another shape."""
    return _reshape(em, pointers, shape)


def _broadcast(em: SemanticBuilder, self: Any, *shape: Any) -> Value:
    return em.broadcast_to(as_pointers(em, self), _shape(em, shape))


def _reshape(em: SemanticBuilder, self: Any, *shape: Any) -> Value:
    value, dims = as_pointers(em, self), _shape(em, shape)
    if value.tile.size != value.tile.with_shape(dims).size:
        em.fail(
            Code.SHAPE,
            f"{value.tile.size} pointers do not fill shape {dims}",
            expected=f"{value.tile.size} elements",
            got=str(dims),
        )
    return em.emit("reshape", value, shape=dims)


def _shape(em: SemanticBuilder, shape: Sequence[Any]) -> Shape:
    return em.static_shape(parts(shape[0]) if len(shape) == 1 else tuple(shape))


def ptr_to_int(em: SemanticBuilder, pointers: Any) -> Value:
    """Return addresses as i64."""
    em.require_unsafe("`ptr_to_int`")
    return em.emit("ptr_to_int", as_pointers(em, pointers))


def int_to_ptr(em: SemanticBuilder, addresses: Any, dtype: Any) -> Value:
    """Convert i64 or u64 addresses to pointers."""
    em.require_unsafe("`int_to_ptr`")
    value = em.numbers(addresses, "addresses")
    if value.tile.dtype not in (i64, u64):
        em.fail(
            Code.DTYPE,
            "an address has 64 bits",
            expected="i64",
            got=describe(value),
            hint="convert it: x.astype(tw.i64)",
        )
    return em.emit("int_to_ptr", em.cast(value, i64), to=em.static_dtype(dtype))


def ptr_to_ptr(em: SemanticBuilder, pointers: Any, dtype: Any) -> Value:
    """Return pointers to another element type."""
    em.require_unsafe("`ptr_to_ptr`")
    return em.emit("ptr_to_ptr", as_pointers(em, pointers), to=em.static_dtype(dtype))


# --- access through pointers -------------------------------------------------------------------


def load_ptr(
    em: SemanticBuilder,
    pointers: Any,
    mask: Any = None,
    fill: Any = None,
    *,
    ordering: Any = "weak",
    scope: Any = "device",
    latency: Any = None,
) -> Value:
    """Read where mask, fill or zero elsewhere."""
    em.require_unsafe("`load_ptr`")
    source = as_pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, LOAD_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    if mask is None and fill is not None:
        em.fail(Code.CALL, "`fill` needs `mask`", got=f"fill={describe(fill)}")
    where = mask_for(em, mask, source.tile.shape)
    other = None if fill is None or where is None else value_for(em, fill, source, "fill")
    return em.emit("load_ptr", source, where, other, **attrs)


def store_ptr(
    em: SemanticBuilder,
    pointers: Any,
    value: Any,
    mask: Any = None,
    *,
    ordering: Any = "weak",
    scope: Any = "device",
    latency: Any = None,
) -> None:
    """Write where mask."""
    em.require_unsafe("`store_ptr`")
    target = as_pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, STORE_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    where = mask_for(em, mask, target.tile.shape)
    em.op("store_ptr", target, value_for(em, value, target, "value"), where, **attrs)


def gather(
    em: SemanticBuilder,
    pointer: Any,
    offsets: Any,
    mask: Any = None,
    fill: Any = None,
    *,
    axis: Any = None,
) -> Any:
    """Read at offsets of a pointer, or at indices along an axis of a tile."""
    if isinstance(pointer, Value) and not pointer.tile.is_pointer:
        return em.inline(take_along_axis, [pointer, offsets, mask if axis is None else axis])
    if axis is not None:
        em.fail(
            Code.CALL,
            "`gather` of a pointer has no axis",
            expected="tl.gather(pointer, offsets, mask, fill), or tl.gather(tile, index, axis)",
            got=f"axis={describe(axis)}",
        )
    em.require_unsafe("`gather`")
    return load_ptr(em, add_pointer(em, as_pointers(em, pointer), offsets), mask, fill)


def scatter(em: SemanticBuilder, pointer: Any, offsets: Any, value: Any, mask: Any = None) -> None:
    """Write at offsets."""
    em.require_unsafe("`scatter`")
    store_ptr(em, add_pointer(em, as_pointers(em, pointer), offsets), value, mask)


# --- globals -----------------------------------------------------------------------------------


def get_global(em: SemanticBuilder, source: Any) -> Value:
    """Return a pointer to the first element."""
    return address_of(em, source)


def _load_global(
    em: SemanticBuilder, self: Any, *, ordering: Any = "weak", scope: Any = "device"
) -> Value:
    return load_ptr(em, elements_of(em, self), ordering=ordering, scope=scope)


def _store_global(
    em: SemanticBuilder, self: Any, value: Any, *, ordering: Any = "weak", scope: Any = "device"
) -> None:
    store_ptr(em, elements_of(em, self), value, ordering=ordering, scope=scope)


def _global_fact(name: str) -> Callable[..., Any]:
    def rule(em: SemanticBuilder, self: Any) -> Any:
        return getattr(self, name)

    return rule


# --- what is known while compiling -------------------------------------------------------------


def _pointer_shape(em: SemanticBuilder, self: Any) -> Shape:
    return as_pointers(em, self).tile.shape


def _pointer_dtype(em: SemanticBuilder, self: Any) -> AnyDType:
    return pointee(as_pointers(em, self))


def _pointer_rank(em: SemanticBuilder, self: Any) -> int:
    return as_pointers(em, self).tile.rank


# -------------------------------------------------------------------------------------------------
# Rules of the atomics family: read-modify-write through pointers and views, in unsafe code.
#
# Into accumulators it is safe: all blocks may combine into them, and none reads them.

_INTS: tuple[AnyDType, ...] = (i32, i64, u32, u64)
_ANY: tuple[AnyDType, ...] = (*_INTS, f32, f64)

ELEMENTS: dict[AtomicMode, tuple[AnyDType, ...]] = {
    AtomicMode.ADD: (*_INTS, f16, bf16, f32, f64),
    AtomicMode.AND: _INTS,
    AtomicMode.OR: _INTS,
    AtomicMode.XOR: _INTS,
    AtomicMode.MAX: _INTS,
    AtomicMode.MIN: _INTS,
    AtomicMode.XCHG: _ANY,
}
"""Which elements each mode takes; compare-and-swap takes those of an exchange."""


def atomic_rmw(
    em: SemanticBuilder,
    pointers: Any,
    value: Any,
    mode: Any,
    mask: Any = None,
    *,
    ordering: Any = "acq_rel",
    scope: Any = "device",
) -> Value:
    """Combine values into memory; return the old ones."""
    kind = word(em, mode, AtomicMode, "mode")
    return _combine(em, kind, pointers, value, mask, ordering, scope)


class _Kind(NamedTuple):
    """An atomic operation: its ops, how it is called, and the elements it takes."""

    op: str
    in_shared: str
    said: str
    elements: tuple[AnyDType, ...]


def _update(
    em: SemanticBuilder,
    kind: _Kind,
    x: Any,
    values: Mapping[str, Any],
    mask: Any,
    ordering: Any,
    scope: Any,
    **attrs: Any,
) -> Value:
    """Update memory through pointers, or an element of a slice; return the old values."""
    em.require_unsafe("an atomic operation")
    attrs |= memory_order(em, ordering, scope, ATOMIC_ORDERS)
    if isinstance(x, ElementRef):
        _accept(em, kind.said, x.memory.type.dtype, kind.elements)
        if isinstance(x.memory, SharedRef):
            return update_element(em, x, tuple(values.values()), mask, kind.in_shared, **attrs)
        x, mask = _of_slice(em, x.memory, x, mask)
    target = as_pointers(em, x)
    _accept(em, kind.said, pointee(target), kind.elements)
    given = [value_for(em, value, target, what) for what, value in values.items()]
    where = mask_for(em, mask, target.tile.shape)
    return em.emit(kind.op, target, *given, where, **attrs)


def _combine(
    em: SemanticBuilder, mode: AtomicMode, x: Any, value: Any, mask: Any, ordering: Any, scope: Any
) -> Value:
    kind = _Kind("atomic_rmw", "atomic_shared", f"atomic {mode.value}", ELEMENTS[mode])
    return _update(em, kind, x, {"value": value}, mask, ordering, scope, mode=mode)


def _convenience(mode: AtomicMode) -> Callable[..., Value]:
    def rule(
        em: SemanticBuilder,
        pointers: Any,
        value: Any,
        mask: Any = None,
        *,
        ordering: Any = "acq_rel",
        scope: Any = "device",
    ) -> Value:
        return _combine(em, mode, pointers, value, mask, ordering, scope)

    return rule


def _add_to_global(
    em: SemanticBuilder, self: Any, value: Any, *, ordering: Any = "acq_rel", scope: Any = "device"
) -> Value:
    return _combine(em, AtomicMode.ADD, elements_of(em, self), value, None, ordering, scope)


def atomic_cas(
    em: SemanticBuilder,
    pointers: Any,
    compare: Any,
    value: Any,
    mask: Any = None,
    *,
    ordering: Any = "acq_rel",
    scope: Any = "device",
) -> Value:
    """Replace values where memory equals `compare`; return the old ones."""
    kind = _Kind("atomic_cas", "cas_shared", "atomic compare-and-swap", _ANY)
    values = {"compare": compare, "value": value}
    return _update(em, kind, pointers, values, mask, ordering, scope)


def _of_slice(
    em: SemanticBuilder, ref: SliceRef, element: ElementRef, mask: Any
) -> tuple[Value, Value]:
    """Return an element of a slice as a pointer, and a mask that is off where there is none."""
    pointer, there = pointer_of(em, ref, element.index[0])
    given = mask_for(em, mask, ())
    return pointer, there if given is None else em.emit("andi", there, given)


def atomic_red_view(
    em: SemanticBuilder,
    view: Any,
    index: Any,
    tile: Any,
    mode: Any = "add",
    *,
    scope: Any = "device",
) -> None:
    """Combine a tile into memory through a view."""
    em.require_unsafe("an atomic operation")
    ref = writable(em, view)
    accepted = tuple(m for m in AtomicMode if m is not AtomicMode.XCHG)
    kind = word(em, mode, AtomicMode, "mode", accepted)
    where = word(em, scope, Scope, "scope", (Scope.TILE_BLOCK, Scope.DEVICE))
    expected = ref.view.view.loaded
    _accept(em, f"atomic {kind.value}", expected.dtype, ELEMENTS[kind])
    if ref.view.view.sparse is not None:
        em.fail(
            Code.TYPE,
            "an atomic reduction takes no gather or scatter view",
            expected="a partition or a strided view",
            got=f"rows of `{ref.name}`",
            hint="use tl.atomic_rmw through pointers",
        )
    value = stored_value(em, tile, expected, ref.name)
    values, guard = checked_index(em, ref.view, ref.name, index)
    em.op(
        "atomic_red_view", value, ref.view, values, guard,
        mode=kind, ordering=Ordering.RELAXED, scope=where,
    )  # fmt: skip


# --- accumulators: safe, since no block reads them ------------------------------------------------


def _into(mode: AtomicMode) -> Callable[..., None]:
    def rule(em: SemanticBuilder, self: Any, tile: Any, places: Any, *, clip: Any = False) -> None:
        _accumulate(em, mode, self, tile, places, em.static_bool(clip, "clip"))

    return rule


def _accumulate(
    em: SemanticBuilder, mode: AtomicMode, ref: AccumulatorRef, tile: Any, places: Any, clip: bool
) -> None:
    """Combine a tile into the elements at places, of which any block may have the same."""
    dtype = ref.type.dtype
    _accept(em, f"accumulator operation `{mode.value}`", dtype, ELEMENTS[mode])
    given = parts(places)
    sparse = _numbered_axis(em, ref, given)
    value = em.number(tile, dtype) if is_weak(tile) else em.numbers(tile, "accumulated value")
    shape = _accumulated_shape(em, ref, value, given, sparse)
    step = None if sparse is not None else (1,) * len(shape)
    view = make_view(em, ref, shape, step=step, sparse=sparse)
    if sparse is not None:
        rows = PartitionRef(view, ref.name, mutable=True, padded=clip)
        values, guard = checked_rows(em, rows, tuple(given))
    elif clip:
        values, guard = free_offsets(em, view, ref.name, places), None
    else:
        values, guard = checked_offsets(em, view, ref.name, places)
    em.op(
        "atomic_red_view", stored_value(em, value, view.view.loaded, ref.name), view, values, guard,
        mode=mode, ordering=Ordering.RELAXED, scope=Scope.DEVICE,
    )  # fmt: skip


def _numbered_axis(em: SemanticBuilder, ref: AccumulatorRef, given: Sequence[Any]) -> int | None:
    """Return the axis along which a tile numbers the elements, if there is one."""
    rank = ref.type.rank
    if len(given) != rank:
        em.fail(
            Code.RANK,
            f"`{ref.name}` has {counted(rank, 'axis')},"
            f" but {counted(len(given), 'index')} were given",
            expected=f"{counted(rank, 'index')}, each a scalar, and at most one a tile",
            got=describe(tuple(given)),
        )
    found = [k for k, part in enumerate(given) if isinstance(part, Value) and part.tile.rank]
    if len(found) > 1 or any(given[k].tile.rank > 1 for k in found):
        em.fail(
            Code.TYPE,
            f"`{ref.name}` takes one tile of indices, along one axis",
            expected="scalars, and at most one tile of rank 1",
            got=describe(tuple(given)),
            hint="the tile of indices selects rows, and a scalar is the start along its axis:"
            " acc.add(tile, (rows, 0)); for single elements flatten the tensor, and compute flat"
            " indices",
        )
    return found[0] if found else None


def _accumulated_shape(
    em: SemanticBuilder, ref: AccumulatorRef, value: Value, given: Sequence[Any], sparse: int | None
) -> Shape:
    """Return the shape of the accumulated tile: the view's, with the extent of the indices."""
    rank, shape = ref.type.rank, value.tile.shape
    if len(shape) > rank:
        em.fail(
            Code.RANK,
            f"a tile accumulated into `{ref.name}` has too many axes",
            expected=f"at most {counted(rank, 'axis')}",
            got=describe(value),
        )
    whole = [1] * (rank - len(shape)) + list(shape)
    if sparse is not None:
        numbers = given[sparse].tile.shape[0]
        if whole[sparse] not in (1, numbers):
            em.fail(
                Code.SHAPE,
                f"the tile has {whole[sparse]} elements along axis {sparse}, but there are"
                f" {numbers} indices",
                expected=f"{numbers} elements, or 1, along axis {sparse}",
                got=describe(value),
            )
        whole[sparse] = numbers
    return tuple(whole)


def _shape_of(em: SemanticBuilder, self: Any) -> tuple[int | Value, ...]:
    return shape_of(em, self)


def _dtype_of(em: SemanticBuilder, self: Any) -> AnyDType:
    return cast("AccumulatorRef", self).type.dtype


def _rank_of(em: SemanticBuilder, self: Any) -> int:
    return cast("AccumulatorRef", self).type.rank


def _accept(
    em: SemanticBuilder, what: str, dtype: AnyDType, accepted: tuple[AnyDType, ...]
) -> None:
    if dtype not in accepted:
        em.fail(
            Code.DTYPE,
            f"there is no {what} of {dtype.name}",
            expected=", ".join(t.name for t in accepted),
            got=dtype.name,
        )


RULES: dict[str, Callable[..., Any]] = {
    "PointerTile.offset": offset,
    "PointerTile.offset_tile": offset,
    "PointerTile.broadcast": _broadcast,
    "PointerTile.reshape": _reshape,
    "PointerTile.shape": _pointer_shape,
    "PointerTile.dtype": _pointer_dtype,
    "PointerTile.rank": _pointer_rank,
    "PointerTile.ndim": _pointer_rank,
    "pointer_to_tile": pointer_to_tile,
    "tile_to_pointer": tile_to_pointer,
    "addptr": _addptr,
    "addptr_tile": _addptr,
    "broadcast_ptr": broadcast_ptr,
    "reshape_ptr": reshape_ptr,
    "ptr_to_int": ptr_to_int,
    "int_to_ptr": int_to_ptr,
    "ptr_to_ptr": ptr_to_ptr,
    "load_ptr": load_ptr,
    "load_ptr_tko": load_ptr,
    "store_ptr": store_ptr,
    "store_ptr_tko": store_ptr,
    "gather": gather,
    "scatter": scatter,
    "get_global": get_global,
    "Global.load": _load_global,
    "Global.store": _store_global,
    "Global.shape": _global_fact("shape"),
    "Global.dtype": _global_fact("dtype"),
    "make_tensor_view": make_tensor_view,
    "load_tensor": load_tensor,
    "make_partition_view": make_partition_view,
    "make_partition_view_mut": make_partition_view_mut,
    "make_strided_view": make_strided_view,
    "make_gather_scatter_view": make_gather_scatter_view,
    "load_view_tko": load_view_tko,
    "store_view_tko": store_view_tko,
    "atomic_rmw": atomic_rmw,
    "atomic_rmw_tko": atomic_rmw,
    "atomic_cas": atomic_cas,
    "atomic_cas_tko": atomic_cas,
    **{f"atomic_{mode.value}": _convenience(mode) for mode in AtomicMode},
    "Global.atomic_add": _add_to_global,
    "atomic_red_view": atomic_red_view,
    "atomic_red_view_tko": atomic_red_view,
    "Accumulator.add": _into(AtomicMode.ADD),
    "Accumulator.max": _into(AtomicMode.MAX),
    "Accumulator.min": _into(AtomicMode.MIN),
    "Accumulator.shape": _shape_of,
    "Accumulator.dtype": _dtype_of,
    "Accumulator.rank": _rank_of,
    "Accumulator.ndim": _rank_of,
}
