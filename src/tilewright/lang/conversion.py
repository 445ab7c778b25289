"""Conversions between element types. `astype` is all most kernels need."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import f4e2m1fn, f4e2m1fnx2
from .enums import Overflow, Rounding
from .marker import declared
from .tile import E, Number, Tile


@declared
def astype(x: Number, dtype: type[E]) -> Tile[E]:
    """Convert the elements; the same as `x.astype(dtype)`.

    Floats round to nearest even; float to integer goes toward zero and saturates, NaN gives 0;
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
    """Convert floats to integers, toward zero, saturating; NaN gives 0."""
    ...


@declared
def itof(x: Number, dtype: type[E], *, rounding: Rounding = Rounding.NEAREST_EVEN) -> Tile[E]:
    """Convert integers or booleans to floats, rounded to nearest even."""
    ...


@declared
def exti(x: Number, dtype: type[E]) -> Tile[E]:
    """Widen integers by the sign of their own type; booleans give 0 or 1."""
    ...


@declared
def trunci(x: Number, dtype: type[E], *, overflow: Overflow = Overflow.NONE) -> Tile[E]:
    """Narrow integers to their low bits; `overflow` promises that nothing is lost."""
    ...


@declared
def bitcast(x: Number, dtype: type[E]) -> Tile[E]:
    """Read the same bits as another type of the same width."""
    ...


@declared
def pack(x: Tile[Any]) -> Tile[f4e2m1fnx2]:
    """Join neighbouring f4 along the last axis into bytes, the first in the low half."""
    ...


@declared
def unpack(x: Tile[Any]) -> Tile[f4e2m1fn]:
    """Open bytes of two f4 into twice as many elements along the last axis, low half first."""
    ...
