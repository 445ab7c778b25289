"""Elementwise functions: arithmetic, math, comparisons, bits, conversions."""

from __future__ import annotations

from typing import Any, overload

from ..base.dtypes import bool_, f4e2m1fn, f4e2m1fnx2
from .enums import Overflow, Predicate, Rounding
from .marker import declared
from .tile import E, N, Number, Tile

# -------------------------------------------------------------------------------------------------
# Named arithmetic: functions beyond the operators, and the low-level integer and float ops.

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


# -------------------------------------------------------------------------------------------------
# Elementary functions of floats, element by element.
#
# The error of f32 is at most 2 ulp; f16 and bf16 are computed in f32 and rounded once. With
# `precise=True` f32 is computed in f64 and rounded once, which is the correctly rounded result but
# in the rarest of cases; the other types already are as precise as they get.


@declared
def ceil(x: N) -> N:
    """Round up to an integer."""
    ...


@declared
def floor(x: N) -> N:
    """Round down to an integer."""
    ...


@declared
def round(x: N) -> N:
    """Round to the nearest integer, ties to even, as NumPy does.

    The result is a float. `round(x)` is the same in kernels.
    """
    ...


@declared
def sin(x: N, *, precise: bool = False) -> N:
    """Compute the sine of radians."""
    ...


@declared
def cos(x: N, *, precise: bool = False) -> N:
    """Compute the cosine of radians."""
    ...


@declared
def tan(x: N, *, precise: bool = False) -> N:
    """Compute the tangent of radians."""
    ...


@declared
def sinh(x: N, *, precise: bool = False) -> N:
    """Compute the hyperbolic sine."""
    ...


@declared
def cosh(x: N, *, precise: bool = False) -> N:
    """Compute the hyperbolic cosine."""
    ...


@declared
def tanh(x: N, *, precise: bool = False) -> N:
    """Compute the hyperbolic tangent."""
    ...


@declared
def exp(x: N, *, precise: bool = False) -> N:
    """Compute e to the power `x`."""
    ...


@declared
def expm1(x: N, *, precise: bool = False) -> N:
    """Compute e to the power `x`, minus 1, accurate for small `x`."""
    ...


@declared
def log(x: N, *, precise: bool = False) -> N:
    """Compute the natural logarithm."""
    ...


@declared
def log1p(x: N, *, precise: bool = False) -> N:
    """Compute the natural logarithm of 1 + `x`, accurate for small `x`."""
    ...


@declared
def log2(x: N, *, precise: bool = False) -> N:
    """Compute the logarithm to base 2."""
    ...


@declared
def exp2(x: N, *, precise: bool = False, ftz: bool = False) -> N:
    """Compute 2 to the power `x`; `ftz` allows subnormals of f32 to be flushed."""
    ...


@declared
def sqrt(x: N, *, precise: bool = False, rounding: Rounding | None = None, ftz: bool = False) -> N:
    """Compute the square root; precise f32 and all other floats are correctly rounded.

    `rounding` selects a direction, for f32 and f64.
    """
    ...


@declared
def rsqrt(x: N, *, precise: bool = False, ftz: bool = False) -> N:
    """Compute 1 / sqrt(x)."""
    ...


@declared
def cbrt(x: N, *, precise: bool = False) -> N:
    """Compute the cube root, also of negative numbers."""
    ...


@declared
def erf(x: N, *, precise: bool = False) -> N:
    """Compute the error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to `x`."""
    ...


@overload
def pow(a: Tile[E], b: Tile[E] | float, *, precise: bool = False) -> Tile[E]: ...
@overload
def pow(a: float, b: Tile[E], *, precise: bool = False) -> Tile[E]: ...
@overload
def pow(a: Tile[Any], b: Tile[Any], *, precise: bool = False) -> Tile[Any]: ...
@overload
def pow(a: float, b: float, *, precise: bool = False) -> float: ...
@declared
def pow(a: Number, b: Number, *, precise: bool = False) -> Number:
    """Raise floats to a power; `**` also takes integers with a constant exponent."""
    ...


@overload
def atan2(a: Tile[E], b: Tile[E] | float, *, precise: bool = False) -> Tile[E]: ...
@overload
def atan2(a: float, b: Tile[E], *, precise: bool = False) -> Tile[E]: ...
@overload
def atan2(a: Tile[Any], b: Tile[Any], *, precise: bool = False) -> Tile[Any]: ...
@overload
def atan2(a: float, b: float, *, precise: bool = False) -> float: ...
@declared
def atan2(a: Number, b: Number, *, precise: bool = False) -> Number:
    """Compute the angle of the point (b, a): `a` is the numerator."""
    ...


# -------------------------------------------------------------------------------------------------
# Named comparisons, and selection between two values.


@declared
def cmpi(a: Tile[Any] | int, b: Tile[Any] | int, predicate: Predicate) -> Tile[bool_]:
    """Compare integers by their signedness, or booleans for equality."""
    ...


@declared
def cmpf(a: Number, b: Number, predicate: Predicate, *, unordered: bool = False) -> Tile[bool_]:
    """Compare floats; if one is NaN the result is `unordered`."""
    ...


@declared
def eq_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements for equality, as `==` does."""
    ...


@declared
def ne_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements for inequality, as `!=` does: NaN is unequal to everything."""
    ...


@declared
def gt_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `>` does."""
    ...


@declared
def ge_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `>=` does."""
    ...


@declared
def lt_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `<` does."""
    ...


@declared
def le_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `<=` does."""
    ...


@overload
def where(cond: Tile[bool_] | bool, a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def where(cond: Tile[bool_] | bool, a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def where(cond: Tile[bool_] | bool, a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def where(cond: Tile[bool_] | bool, a: float, b: float) -> Tile[Any]: ...
@declared
def where(cond: Tile[bool_] | bool, a: Number, b: Number) -> Tile[Any]:
    """Select `a` where `cond` holds and `b` elsewhere; all three broadcast."""
    ...


@overload
def select(cond: Tile[bool_] | bool, a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def select(cond: Tile[bool_] | bool, a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def select(cond: Tile[bool_] | bool, a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def select(cond: Tile[bool_] | bool, a: float, b: float) -> Tile[Any]: ...
@declared
def select(cond: Tile[bool_] | bool, a: Number, b: Number) -> Tile[Any]:
    """Select `a` where `cond` holds and `b` elsewhere; the same as `where`."""
    ...


# -------------------------------------------------------------------------------------------------
# Named bitwise and logical operations; the operators do the same.


@declared
def andi(a: N, b: N | int) -> N:
    """Return the bitwise and; of booleans, the logical and."""
    ...


@declared
def ori(a: N, b: N | int) -> N:
    """Return the bitwise or; of booleans, the logical or."""
    ...


@declared
def xori(a: N, b: N | int) -> N:
    """Return the bitwise exclusive or; of booleans, inequality."""
    ...


@declared
def noti(x: N) -> N:
    """Invert all bits; of booleans, the logical not."""
    ...


@declared
def shli(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Shift left by `b`, read as unsigned; a shift by the width or more is 0."""
    ...


@declared
def shri(a: N, b: N | int) -> N:
    """Shift right by `b`, read as unsigned; signed numbers keep their sign."""
    ...


# -------------------------------------------------------------------------------------------------
# Conversions between element types. Most kernels need only `astype`.


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
def unwidened(x: Tile[Any]) -> Tile[Any]:
    """Return the tile that `x` was converted from without loss; `x` itself if it was not."""
    ...


@declared
def pack(x: Tile[Any]) -> Tile[f4e2m1fnx2]:
    """Pack adjacent f4 along the last axis into bytes, the first in the low half."""
    ...


@declared
def unpack(x: Tile[Any]) -> Tile[f4e2m1fn]:
    """Unpack bytes of two f4 into twice as many elements along the last axis, low half first."""
    ...
