"""Rules of the atomics family: read-modify-write through pointers and views, in unsafe code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...base.dtypes import AnyDType, bf16, f16, f32, f64, i32, i64, u32, u64
from ...base.errors import Code
from ...ir.attrs import AtomicMode, Ordering, Scope
from ...ir.core import Value
from ..access import checked_index, stored_value
from ..device_global import elements_of
from ..elements import pointer_of
from ..emit import Emitter
from ..operands import word
from ..pointers import ATOMIC_ORDERS, as_pointers, mask_for, memory_order, pointee, value_for
from ..shared import update_element
from ..values import ElementRef, SharedRef, SliceRef
from .memory import writable

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
}
PROPERTIES: frozenset[str] = frozenset()
