"""Conversions between element types. Most kernels need only `astype`."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import f4e2m1fn, f4e2m1fnx2
from .enums import Overflow, Rounding
from .marker import declared
from .tile import E, Number, Tile


@declared
def astype(x: Number, dtype: type[E]) -> Tile[E]:
    """Convert the elements; the same as `x.astype(dtype)`.

    Floats round to nearest even; float to integer rounds toward zero and saturates, NaN becomes 0;
    integers keep their low bits; anything but 0 is True.
    """
    ...


@declared
def convert_tile(tile: Number, dtype: type[E]) -> Tile[E]:
    """Convert the elements of a tile; the same as `tile.astype(dtype)`."""
    ...


@declared
def convert_scalar(value: Number, dtype: type[E]) -> E:
    """Convert a scalar, as `astype` does."""
    ...


@declared
def ftof(x: Number, dtype: type[E], *, rounding: Rounding = Rounding.NEAREST_EVEN) -> Tile[E]:
    """Convert floats to another float type, rounded once, to nearest even."""
    ...


@declared
def ftoi(x: Number, dtype: type[E], *, rounding: Rounding = Rounding.ZERO) -> Tile[E]:
    """Convert floats to integers, toward zero, saturating; NaN becomes 0."""
    ...


@declared
def itof(x: Number, dtype: type[E], *, rounding: Rounding = Rounding.NEAREST_EVEN) -> Tile[E]:
    """Convert integers or booleans to floats, rounded to nearest even."""
    ...


@declared
def exti(x: Number, dtype: type[E]) -> Tile[E]:
    """Widen integers, with sign extension for signed types; booleans become 0 or 1."""
    ...


@declared
def trunci(x: Number, dtype: type[E], *, overflow: Overflow = Overflow.NONE) -> Tile[E]:
    """Narrow integers to their low bits; `overflow` asserts that no bits are lost."""
    ...


@declared
def bitcast(x: Number, dtype: type[E]) -> Tile[E]:
    """Reinterpret the bits as another type of the same width."""
    ...


@declared
def pack(x: Tile[Any]) -> Tile[f4e2m1fnx2]:
    """Pack adjacent f4 along the last axis into bytes, the first in the low half."""
    ...


@declared
def unpack(x: Tile[Any]) -> Tile[f4e2m1fn]:
    """Unpack bytes of two f4 into twice as many elements along the last axis, low half first."""
    ...
