"""Rules of the atomics family: read-modify-write through pointers and views, in unsafe code.

Into accumulators it is safe: all blocks may combine into them, and none reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ...base.dtypes import AnyDType, bf16, f16, f32, f64, i32, i64, u32, u64
from ...base.errors import Code
from ...base.shapes import Shape
from ...ir.attrs import AtomicMode, Ordering, Scope
from ...ir.core import Value
from ..access import checked_index, counted, make_view, stored_value
from ..describe import describe
from ..device_global import elements_of
from ..elements import pointer_of
from ..emit import Emitter
from ..offsets import checked_offsets, free_offsets
from ..operands import parts, word
from ..pointers import ATOMIC_ORDERS, as_pointers, mask_for, memory_order, pointee, value_for
from ..promote import is_weak
from ..rows import checked_rows
from ..shared import update_element
from ..values import AccumulatorRef, ElementRef, PartitionRef, SharedRef, SliceRef
from .memory import shape_of, writable

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
    em: Emitter,
    pointers: Any,
    value: Any,
    mode: Any,
    mask: Any = None,
    *,
    ordering: Any = "acq_rel",
    scope: Any = "device",
) -> Value:
    """Combine into memory; the old values."""
    kind = word(em, mode, AtomicMode, "mode")
    return _combine(em, kind, pointers, value, mask, ordering, scope)


class _Kind(NamedTuple):
    """An atomic operation: its ops, how it is called, and the elements it takes."""

    op: str
    in_shared: str
    said: str
    elements: tuple[AnyDType, ...]


def _update(
    em: Emitter,
    kind: _Kind,
    x: Any,
    values: Mapping[str, Any],
    mask: Any,
    ordering: Any,
    scope: Any,
    **attrs: Any,
) -> Value:
    """Change what pointers, or an element of memory, stand for; the old values."""
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
    em: Emitter, mode: AtomicMode, x: Any, value: Any, mask: Any, ordering: Any, scope: Any
) -> Value:
    kind = _Kind("atomic_rmw", "atomic_shared", f"atomic {mode.value}", ELEMENTS[mode])
    return _update(em, kind, x, {"value": value}, mask, ordering, scope, mode=mode)


def _convenience(mode: AtomicMode) -> Callable[..., Value]:
    def rule(
        em: Emitter,
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
    em: Emitter, self: Any, value: Any, *, ordering: Any = "acq_rel", scope: Any = "device"
) -> Value:
    return _combine(em, AtomicMode.ADD, elements_of(em, self), value, None, ordering, scope)


def atomic_cas(
    em: Emitter,
    pointers: Any,
    compare: Any,
    value: Any,
    mask: Any = None,
    *,
    ordering: Any = "acq_rel",
    scope: Any = "device",
) -> Value:
    """Replace where memory equals `compare`; the old values."""
    kind = _Kind("atomic_cas", "cas_shared", "atomic compare-and-swap", _ANY)
    values = {"compare": compare, "value": value}
    return _update(em, kind, pointers, values, mask, ordering, scope)


def _of_slice(em: Emitter, ref: SliceRef, element: ElementRef, mask: Any) -> tuple[Value, Value]:
    """An element of a slice as a pointer, and a mask that is off where there is none."""
    pointer, there = pointer_of(em, ref, element.index[0])
    given = mask_for(em, mask, ())
    return pointer, there if given is None else em.emit("andi", there, given)


def atomic_red_view(
    em: Emitter, view: Any, index: Any, tile: Any, mode: Any = "add", *, scope: Any = "device"
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


# --- accumulators: safe, for nobody reads them -------------------------------------------------


def _into(mode: AtomicMode) -> Callable[..., None]:
    def rule(em: Emitter, self: Any, tile: Any, places: Any, *, clip: Any = False) -> None:
        _accumulate(em, mode, self, tile, places, em.static_bool(clip, "clip"))

    return rule


def _accumulate(
    em: Emitter, mode: AtomicMode, ref: AccumulatorRef, tile: Any, places: Any, clip: bool
) -> None:
    """Combine a tile into the elements at places, of which any block may have the same."""
    dtype = ref.type.dtype
    _accept(em, f"accumulation by {mode.value}", dtype, ELEMENTS[mode])
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


def _numbered_axis(em: Emitter, ref: AccumulatorRef, given: Sequence[Any]) -> int | None:
    """The axis along which a tile numbers the elements, if there is one."""
    rank = ref.type.rank
    if len(given) != rank:
        em.fail(
            Code.RANK,
            f"`{ref.name}` has {counted(rank, 'axis')}, the places {counted(len(given), 'number')}",
            expected=f"{counted(rank, 'place')}, each a scalar, one of them perhaps a tile",
            got=describe(tuple(given)),
        )
    found = [k for k, part in enumerate(given) if isinstance(part, Value) and part.tile.rank]
    if len(found) > 1 or any(given[k].tile.rank > 1 for k in found):
        em.fail(
            Code.TYPE,
            f"elements of `{ref.name}` are numbered along one axis",
            expected="scalars, and at most one tile of rank 1",
            got=describe(tuple(given)),
            hint="give the tensor one axis, t.reshape(n), and number its elements",
        )
    return found[0] if found else None


def _accumulated_shape(
    em: Emitter, ref: AccumulatorRef, value: Value, given: Sequence[Any], sparse: int | None
) -> Shape:
    """The shape of what is accumulated: that of the tile, as long as the numbers are many."""
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
                f"the tile has {whole[sparse]} elements along axis {sparse}, the numbers are"
                f" {numbers}",
                expected=f"{numbers} elements, or 1, along axis {sparse}",
                got=describe(value),
            )
        whole[sparse] = numbers
    return tuple(whole)


def _shape_of(em: Emitter, self: Any) -> tuple[int | Value, ...]:
    return shape_of(em, self)


def _dtype_of(em: Emitter, self: Any) -> AnyDType:
    return cast("AccumulatorRef", self).type.dtype


def _rank_of(em: Emitter, self: Any) -> int:
    return cast("AccumulatorRef", self).type.rank


def _accept(em: Emitter, what: str, dtype: AnyDType, accepted: tuple[AnyDType, ...]) -> None:
    if dtype not in accepted:
        em.fail(
            Code.DTYPE,
            f"there is no {what} of {dtype.name}",
            expected=", ".join(t.name for t in accepted),
            got=dtype.name,
        )


RULES: dict[str, Callable[..., Any]] = {
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
PROPERTIES: frozenset[str] = frozenset(
    f"Accumulator.{name}" for name in ("shape", "dtype", "rank", "ndim")
)
