"""Matrix multiply-accumulate. `a @ b` is the plain product, in the accumulator's type.

Elements and their accumulators: f16: f32 or f16; bf16, tf32, f32: f32; f64: f64; f8e4m3fn and
f8e5m2: f32 or f16; i8 and u8, each by its own sign: i32. `a @ b` takes the first one. Tiles have
rank 2, or rank 3 with a leading batch axis that both share.
"""

from __future__ import annotations

from typing import Any

from .marker import declared
from .tile import E, Tile


@declared
def mma(a: Tile[Any], b: Tile[Any], acc: Tile[E]) -> Tile[E]:
    """Return `acc + a @ b`, for floats or 8-bit integers, in the accumulator's type.

    Products and sums have the accumulator's precision or better; f16 rounds once at the end.
    """
    ...


@declared
def mmaf(a: Tile[Any], b: Tile[Any], acc: Tile[E], *, fast_acc: bool = False) -> Tile[E]:
    """Return `acc + a @ b` for floats; `fast_acc` allows a shorter accumulator for 8-bit floats."""
    ...


@declared
def mmai(a: Tile[Any], b: Tile[Any], acc: Tile[E]) -> Tile[E]:
    """Return `acc + a @ b` for 8-bit integers, signed or not, wrapping in i32."""
    ...


@declared
def mmaf_scaled(
    a: Tile[Any], b: Tile[Any], acc: Tile[E], a_scale: Tile[Any], b_scale: Tile[Any]
) -> Tile[E]:
    """Return `acc + (a * a_scale) @ (b * b_scale)`: one scale for a run of elements along K.

    f8 with f8e8m0fnu scales, 32 elements each; f4e2m1fn with f8e8m0fnu, 16 or 32, or with
    f8e4m3fn, 16. A scale tile has the shape of its operand with K divided by the run.
    """
    ...
