"""Named arithmetic: functions beyond the operators, and the low-level integer and float ops."""

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
    """Return the elementwise maximum; NaN wins, and +0 is greater than -0."""
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
    """Return the elementwise minimum; NaN wins, and -0 is less than +0."""
    ...


@declared
def max_tile(a: Tile[E], b: Tile[E] | float) -> Tile[E]:
    """Return the elementwise maximum of two tiles; the same as `maximum`."""
    ...


@declared
def min_tile(a: Tile[E], b: Tile[E] | float) -> Tile[E]:
    """Return the elementwise minimum of two tiles; the same as `minimum`."""
    ...


@declared
def clamp(x: N, low: Number, high: Number) -> N:
    """Clamp elements to the range from `low` to `high`."""
    ...


@declared
def abs(x: N) -> N:
    """Return the absolute value; the least integer is unchanged."""
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
    """Return the maximum of scalars or constants. For tiles: `maximum`, `reduce_max`."""
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
    """Return the minimum of scalars or constants. For tiles: `minimum`, `reduce_min`."""
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
    """Divide and round down, as `//` does: an integer by 0 is 0; floats are floor(a / b)."""
    ...


@overload
def ceil_div(a: int, b: int) -> int: ...
@overload
def ceil_div(a: Tile[E], b: Tile[E] | int) -> Tile[E]: ...
@overload
def ceil_div(a: int, b: Tile[E]) -> Tile[E]: ...
@declared
def ceil_div(a: Tile[Any] | int, b: Tile[Any] | int) -> Tile[Any] | int:
    """Divide integers and round up; division by 0 is 0. The result for constants is a constant."""
    ...


# --- integers --------------------------------------------------------------------------------


@declared
def addi(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Add integers, wrapping; `overflow` asserts that they do not wrap."""
    ...


@declared
def subi(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Subtract integers, wrapping; `overflow` asserts that they do not wrap."""
    ...


@declared
def muli(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Multiply integers, wrapping; `overflow` asserts that they do not wrap."""
    ...


@declared
def divi(a: N, b: N | int, *, rounding: Rounding = Rounding.ZERO) -> N:
    """Divide integers, rounding toward zero, NEG_INF or POS_INF; division by 0 is 0."""
    ...


@declared
def remi(a: N, b: N | int) -> N:
    """Return the remainder of `divi`, with the sign of `a`; the remainder by 0 is `a`."""
    ...


@declared
def negi(x: N, *, overflow: Overflow = Overflow.NONE) -> N:
    """Negate integers, wrapping."""
    ...


@declared
def absi(x: N) -> N:
    """Return the absolute value of integers; the least integer is unchanged."""
    ...


@declared
def mulhii(a: N, b: N | int) -> N:
    """Return the high half of the product of both numbers as unsigned integers."""
    ...


@declared
def maxi(a: N, b: N | int) -> N:
    """Return the maximum of two integers."""
    ...


@declared
def mini(a: N, b: N | int) -> N:
    """Return the minimum of two integers."""
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
    """Divide floats; f32 and f64 round in all directions, APPROX and FULL are f32 within 2 ulp."""
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
    """Return the exact remainder with the sign of `a`; `%` has the sign of the divisor."""
    ...


@declared
def negf(x: N) -> N:
    """Negate floats."""
    ...


@declared
def absf(x: N) -> N:
    """Return the absolute value of floats."""
    ...


@declared
def maxf(a: N, b: N | float, *, nan: bool = True, ftz: bool = False) -> N:
    """Return the maximum of two floats; a NaN wins, or loses if `nan` is False."""
    ...


@declared
def minf(a: N, b: N | float, *, nan: bool = True, ftz: bool = False) -> N:
    """Return the minimum of two floats; a NaN wins, or loses if `nan` is False."""
    ...
