"""Arithmetic by name: what the operators do not say, and the low-level ops of both kinds."""

from __future__ import annotations

from typing import Any, overload

from .enums import Overflow, Rounding
from .marker import declared
from .tile import E, N, Number, Tile

# --- on integers and floats alike ------------------------------------------------------------


@overload
def maximum(a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def maximum(a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def maximum(a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def maximum(a: int, b: int) -> int: ...
@overload
def maximum(a: float, b: float) -> float: ...
@declared
def maximum(a: Number, b: Number) -> Number:
    """Take the greater, element by element; NaN wins, and +0 is greater than -0."""
    ...


@overload
def minimum(a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def minimum(a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def minimum(a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def minimum(a: int, b: int) -> int: ...
@overload
def minimum(a: float, b: float) -> float: ...
@declared
def minimum(a: Number, b: Number) -> Number:
    """Take the lesser, element by element; NaN wins, and -0 is less than +0."""
    ...


@declared
def max_tile(a: Tile[E], b: Tile[E] | float) -> Tile[E]:
    """Take the greater of two tiles, element by element; the same as `maximum`."""
    ...


@declared
def min_tile(a: Tile[E], b: Tile[E] | float) -> Tile[E]:
    """Take the lesser of two tiles, element by element; the same as `minimum`."""
    ...


@declared
def clamp(x: N, low: Number, high: Number) -> N:
    """Limit to the range from `low` to `high`."""
    ...


@declared
def abs(x: N) -> N:
    """Take the absolute value; the least integer stays as it is."""
    ...


@overload
def max(a: int, *rest: int) -> int: ...
@overload
def max(a: float, *rest: float) -> float: ...
@overload
def max(a: Tile[E], *rest: Tile[E] | float) -> Tile[E]: ...
@overload
def max(a: float, b: Tile[E], /, *rest: Tile[E] | float) -> Tile[E]: ...
@declared
def max(a: Number, *rest: Number) -> Number:
    """Take the greatest of scalars; of constants it is one. Tiles have `maximum`, `reduce_max`."""
    ...


@overload
def min(a: int, *rest: int) -> int: ...
@overload
def min(a: float, *rest: float) -> float: ...
@overload
def min(a: Tile[E], *rest: Tile[E] | float) -> Tile[E]: ...
@overload
def min(a: float, b: Tile[E], /, *rest: Tile[E] | float) -> Tile[E]: ...
@declared
def min(a: Number, *rest: Number) -> Number:
    """Take the least of scalars; of constants it is one. Tiles have `minimum`, `reduce_min`."""
    ...


@overload
def true_div(a: Tile[E], b: Tile[E] | float, *, precise: bool = False) -> Tile[E]: ...
@overload
def true_div(a: float, b: Tile[E], *, precise: bool = False) -> Tile[E]: ...
@overload
def true_div(a: Tile[Any], b: Tile[Any], *, precise: bool = False) -> Tile[Any]: ...
@overload
def true_div(a: float, b: float, *, precise: bool = False) -> float: ...
@declared
def true_div(a: Number, b: Number, *, precise: bool = False) -> Number:
    """Divide floats, as `/` does: f32 within 2 ulp, correctly rounded if `precise`.

    The other floats, and f32 on CPUs, are correctly rounded in any case.
    """
    ...


@overload
def floor_div(a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def floor_div(a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def floor_div(a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def floor_div(a: int, b: int) -> int: ...
@overload
def floor_div(a: float, b: float) -> float: ...
@declared
def floor_div(a: Number, b: Number) -> Number:
    """Divide and round down, as `//` does: integers by 0 give 0; of floats floor(a / b)."""
    ...


@overload
def ceil_div(a: int, b: int) -> int: ...
@overload
def ceil_div(a: Tile[E], b: Tile[E] | int) -> Tile[E]: ...
@overload
def ceil_div(a: int, b: Tile[E]) -> Tile[E]: ...
@declared
def ceil_div(a: Tile[Any] | int, b: Tile[Any] | int) -> Tile[Any] | int:
    """Divide integers and round up; by 0 it gives 0. Of constants it is a constant."""
    ...


# --- integers --------------------------------------------------------------------------------


@declared
def addi(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Add integers, wrapping; `overflow` promises that they do not."""
    ...


@declared
def subi(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Subtract integers, wrapping; `overflow` promises that they do not."""
    ...


@declared
def muli(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Multiply integers, wrapping; `overflow` promises that they do not."""
    ...


@declared
def divi(a: N, b: N | int, *, rounding: Rounding = Rounding.ZERO) -> N:
    """Divide integers, rounding toward zero, NEG_INF or POS_INF; by 0 it gives 0."""
    ...


@declared
def remi(a: N, b: N | int) -> N:
    """Take the remainder of `divi`, with the sign of `a`; by 0 it is `a`."""
    ...


@declared
def negi(x: N, *, overflow: Overflow = Overflow.NONE) -> N:
    """Negate integers, wrapping."""
    ...


@declared
def absi(x: N) -> N:
    """Take the absolute value of integers; the least one stays as it is."""
    ...


@declared
def mulhii(a: N, b: N | int) -> N:
    """Take the high half of the product, both numbers read as unsigned."""
    ...


@declared
def maxi(a: N, b: N | int) -> N:
    """Take the greater of two integers."""
    ...


@declared
def mini(a: N, b: N | int) -> N:
    """Take the lesser of two integers."""
    ...


# --- floats ----------------------------------------------------------------------------------


@declared
def addf(a: N, b: N | float, *, rounding: Rounding = Rounding.NEAREST_EVEN, ftz: bool = False) -> N:
    """Add floats; f32 and f64 also round toward zero and either infinity."""
    ...


@declared
def subf(a: N, b: N | float, *, rounding: Rounding = Rounding.NEAREST_EVEN, ftz: bool = False) -> N:
    """Subtract floats; f32 and f64 also round toward zero and either infinity."""
    ...


@declared
def mulf(a: N, b: N | float, *, rounding: Rounding = Rounding.NEAREST_EVEN, ftz: bool = False) -> N:
    """Multiply floats; f32 and f64 also round toward zero and either infinity."""
    ...


@declared
def divf(a: N, b: N | float, *, rounding: Rounding = Rounding.NEAREST_EVEN, ftz: bool = False) -> N:
    """Divide floats; f32 and f64 round in all directions, APPROX and FULL give f32 in 2 ulp."""
    ...


@declared
def fma(
    a: N,
    b: N | float,
    c: N | float,
    *,
    rounding: Rounding = Rounding.NEAREST_EVEN,
    ftz: bool = False,
) -> N:
    """Compute a * b + c, rounded once, to nearest even."""
    ...


@declared
def remf(a: N, b: N | float) -> N:
    """Take the exact remainder with the sign of `a`; `%` has the sign of the divisor."""
    ...


@declared
def negf(x: N) -> N:
    """Negate floats."""
    ...


@declared
def absf(x: N) -> N:
    """Take the absolute value of floats."""
    ...


@declared
def maxf(a: N, b: N | float, *, nan: bool = True, ftz: bool = False) -> N:
    """Take the greater of two floats; a NaN wins, or loses if `nan` is False."""
    ...


@declared
def minf(a: N, b: N | float, *, nan: bool = True, ftz: bool = False) -> N:
    """Take the lesser of two floats; a NaN wins, or loses if `nan` is False."""
    ...
