"""Raw pointers: gather, scatter and address arithmetic, in unsafe entries only."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i64
from ..attrs import Ordering, Scope
from ..opdef import Effect, declare
from ..types import PtrType, TileType, Type
from .rules import Attrs, need, number, pointer, tile

MEMORY = {"ordering": Ordering.WEAK, "scope": Scope.DEVICE, "latency": None}


def fits(pointers: Type, value: Type) -> TileType:
    """Refuse a value that is not what the pointers point to; give its type."""
    expected = tile(pointers).with_elem(pointer(pointers).to)
    need(value == expected, f"expected {expected}, got {value}")
    return expected


def mask(pointers: Type, t: Type) -> None:
    """Refuse a mask that does not fit."""
    need(t == tile(pointers).with_elem(bool_), f"mask {t} does not fit {pointers}")


def _offset(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    by = number(types[1])
    need(by.dtype.is_int and by.shape == tile(types[0]).shape, f"offset {by} of {types[0]}")
    return (types[0],)


def _load(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = tile(types[0]).with_elem(pointer(types[0]).to)
    for t in types[1:]:
        need(t in (result, result.with_elem(bool_)), f"{t} does not fit {types[0]}")
    return (result,)


def _store(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    fits(types[0], types[1])
    for t in types[2:]:
        mask(types[0], t)
    return ()


def _to_int(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    return (tile(types[0]).with_elem(i64),)


def _to_ptr(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(number(types[0]).dtype is i64, f"expected i64, got {types[0]}")
    return (tile(types[0]).with_elem(PtrType(attrs["to"])),)


def _recast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    return (tile(types[0]).with_elem(PtrType(attrs["to"])),)


OPS = (
    declare("offset", "core", "pointer by", _offset, "Moves each pointer by `by` elements."),
    declare("load_ptr", "core", "source mask? padding?", _load,
            "Reads where mask; elsewhere padding, or zero.", attrs=MEMORY, effects=Effect.READ),
    declare("store_ptr", "core", "target value mask?", _store, "Writes where mask.",
            attrs=MEMORY, effects=Effect.WRITE),
    declare("ptr_to_int", "core", "arg", _to_int, "Addresses as i64."),
    declare("int_to_ptr", "core", "arg", _to_ptr, "i64 addresses as pointers.",
            attrs={"to": None}),
    declare("ptr_to_ptr", "core", "arg", _recast, "Pointers to another element type.",
            attrs={"to": None}),
)  # fmt: skip
