"""Elementary functions that others compose: inverse trigonometric ones, log10 and trunc.

`precise=True` computes f32 in f64 and rounds once, as by the functions of `lang.math`.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import f64
from ...base.polynomials import ASIN, ASIN_MIDDLE, HALF_PI
from ..control import static_range
from ..elementwise import abs, atan2, ceil, floor, log, sqrt, where
from ..marker import composed
from ..tile import N, Tile
from .activation import isinf
from .rounding import is_float, rounded, widened

LOG10_E = {"f32": (0.4342944920063019, -1.0103050052231683e-08),
           "f64": (0.4342944819032518, 1.098319650216765e-17)}  # fmt: skip
"""The decimal logarithm of e as a sum of two floats."""


@composed
def asin(x: N, *, precise: bool = False) -> N:
    """Compute the inverse sine, from -pi/2 to pi/2: `sin(asin(x)) == x`; NaN beyond -1 and 1."""
    wide = _wide(x, precise, "asin")
    high, low = HALF_PI[wide.dtype.__name__]
    rest = _asin_or_half_acos(wide)
    outer = high - (2.0 * rest - low)
    return rounded(where(abs(wide) > ASIN_MIDDLE, where(wide < 0.0, -outer, outer), rest), x)


@composed
def acos(x: N, *, precise: bool = False) -> N:
    """Compute the inverse cosine, from 0 to pi: `cos(acos(x)) == x`; NaN beyond -1 and 1."""
    wide = _wide(x, precise, "acos")
    high, low = HALF_PI[wide.dtype.__name__]
    rest = _asin_or_half_acos(wide)
    below = high - (rest - low)
    not_above = where(wide < -ASIN_MIDDLE, 2.0 * below, below)
    return rounded(where(wide > ASIN_MIDDLE, 2.0 * rest, not_above), x)


@composed
def atan(x: N, *, precise: bool = False) -> N:
    """Compute the inverse tangent, from -pi/2 to pi/2: `atan2(x, 1)`."""
    given: Any = x
    return rounded(atan2(given, 1.0, precise=precise), x)


@composed
def log10(x: N, *, precise: bool = False) -> N:
    """Compute the logarithm to base 10: `log(x) / log(10)`."""
    wide = _wide(x, precise, "log10")
    high, low = LOG10_E[wide.dtype.__name__]
    natural = log(wide)
    # The two products of an infinite logarithm may have different signs: their sum would be NaN.
    scaled = natural * high + natural * low
    return rounded(where(isinf(natural), natural, scaled), x)


@composed
def trunc(x: N) -> N:
    """Round toward zero to an integer: `trunc(-1.5) == -1.0`. The result is a float."""
    given: Any = x
    assert is_float(x), f"tl.trunc takes floats, got {given.dtype}: integers have no fraction"
    return rounded(where(given < 0.0, ceil(given), floor(given)), x)


def _wide(x: Any, precise: bool, name: str) -> Tile[Any]:
    """Return floats in the type in which a function computes them."""
    assert is_float(x), f"tl.{name} takes floats, got {x.dtype}: use x.astype(...)"
    return x.astype(f64) if precise and x.dtype.bits == 32 else widened(x)


def _asin_or_half_acos(x: Tile[Any]) -> Tile[Any]:
    """Compute asin(x) in the middle, beyond it asin(sqrt((1 - |x|) / 2)), which is as small.

    That is half of acos(|x|), for 1 - cos(t) = 2 * sin(t / 2)**2.
    """
    outer = abs(x) > ASIN_MIDDLE
    square = where(outer, 0.5 - 0.5 * abs(x), x * x)
    root = where(outer, sqrt(square, precise=True), x)
    coefficients = ASIN[x.dtype.__name__]
    total: Any = coefficients[-1]
    for k in static_range(2, len(coefficients) + 1):
        total = total * square + coefficients[-k]
    result: Tile[Any] = root + root * square * total
    return result
