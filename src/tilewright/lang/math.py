"""Elementary functions of floats, element by element.

The error of f32 is at most 2 ulp; f16 and bf16 are computed in f32 and rounded once. With
`precise=True` f32 is computed in f64 and rounded once, which is the correctly rounded result but
in the rarest of cases; the other types already are as precise as they get.
"""

from __future__ import annotations

from typing import Any, overload

from .enums import Rounding
from .marker import declared
from .tile import E, N, Number, Tile


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
