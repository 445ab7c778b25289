"""Slices: the elements of a contiguous tensor in a row, read and written one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32
from ..opdef import Effect, declare
from ..types import I1, I32, PtrType, TensorType, TileType, Type
from .rules import Attrs, need, scalar, tensor


def _slice(t: Type) -> TensorType:
    result = tensor(t)
    need(result.rank == 1 and result.strides == (1,), f"{t} is not a slice")
    return result


def _length(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _slice(types[0])
    return (I32,)


def _check(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    scalar(types[1], i32)
    return (I1,)


def _place(types: Sequence[Type]) -> None:
    """An index, then perhaps a guard."""
    scalar(types[0], i32)
    for t in types[1:]:
        scalar(t, bool_)


def _load(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _place(types[1:])
    return (TileType(_slice(types[0]).dtype),)


def _store(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    target = _slice(types[1])
    need(target.mutable, f"{target} is read only")
    need(types[0] == TileType(target.dtype), f"{types[0]} does not fit {target}")
    _place(types[2:])
    return ()


def _pointer(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    target = _slice(types[0])
    need(target.mutable, f"{target} is read only")
    scalar(types[1], i32)
    return (TileType(PtrType(target.dtype)),)


OPS = (
    declare("length", "simt", "slice", _length, "How many elements a slice has."),
    declare("check_index", "simt", "index length", _check,
            "Whether 0 <= index < length; if not, the launch's error record says so.",
            attrs={"slice": "", "hoisted": False}, effects=Effect.CHECK),
    declare("load_slice", "simt", "slice index guard?", _load,
            "The element at index, which is inside; zero if not guard.", effects=Effect.READ),
    declare("store_slice", "simt", "value slice index guard?", _store,
            "Writes the element at index, which is inside; nothing if not guard.",
            effects=Effect.WRITE),
    declare("slice_pointer", "simt", "slice index", _pointer,
            "The address of the element at index; no element is there where it is outside."),
)  # fmt: skip
