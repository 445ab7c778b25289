"""Elementary functions that others compose: inverse trigonometric ones, log10 and trunc.

`precise=True` computes f32 in f64 and rounds once, as by the functions of `lang.math`.
"""

from __future__ import annotations

from typing import Any, Literal

from ...base.dtypes import bool_, f32, f64
from ...base.polynomials import ASIN, ASIN_MIDDLE, HALF_PI
from ..control import static_range
from ..elementwise import (
    abs,
    atan2,
    ceil,
    eq_tile,
    erf,
    exp,
    floor,
    log,
    maximum,
    ne_tile,
    sqrt,
    where,
)
from ..enums import pos_inf
from ..marker import composed
from ..tile import N, Number, Tile

# -------------------------------------------------------------------------------------------------
# The type in which floats are computed.


def is_float(x: Any) -> bool:
    """Return whether a tile or a scalar has floats."""
    return bool(x.dtype.is_float)


def widened(x: Any) -> Tile[Any]:
    """Convert f16 and bf16 to f32, in which they are computed; leave other types alone.

    A Python number becomes a scalar.
    """
    wide: Tile[Any] = x.astype(f32 if x.dtype.is_float and x.dtype.bits == 16 else x.dtype)
    return wide


def rounded(wide: Any, like: N) -> N:
    """Round what was computed of `widened(like)` to the type of `like`."""
    given: Any = like
    result: N = wide.astype(given.dtype)
    return result


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


# -------------------------------------------------------------------------------------------------
# Activations.


@composed
def sigmoid(x: N) -> N:
    """Compute the logistic function, 1 / (1 + exp(-x)).

    `tl.sigmoid(x)` is 0 for -inf and 1 for inf.
    """
    return rounded(1.0 / (1.0 + exp(-widened(x))), x)


@composed
def silu(x: N) -> N:
    """Compute x * sigmoid(x), also known as swish: `x / (1 + exp(-x))`."""
    wide = widened(x)
    return rounded(wide / (1.0 + exp(-wide)), x)


@composed
def relu(x: N) -> N:
    """Compute `maximum(x, 0)`, of floats and integers; NaN stays NaN."""
    given: Any = x
    return rounded(maximum(given, 0), x)


@composed
def gelu(x: N, approximate: Literal["none", "tanh"] = "none") -> N:
    """Compute x * P(X <= x) of a standard normal X: `0.5 * x * (1 + erf(x / sqrt(2)))`.

    `tl.gelu(x, "tanh")` is its approximation by
    `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`, as in PyTorch.
    """
    assert approximate in ("none", "tanh"), (
        f"tl.gelu approximates by 'none' or 'tanh', got {approximate!r}"
    )
    wide = widened(x)
    if approximate == "none":
        return rounded(0.5 * wide * (1.0 + erf(wide * 0.7071067811865476)), x)
    # (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)), which does not cancel where u is negative.
    doubled = wide * (1.5957691216057308 + 0.07135481627260025 * (wide * wide))
    return rounded(wide / (1.0 + exp(-doubled)), x)


@composed
def isnan(x: Number) -> Tile[bool_]:
    """Return a mask of the elements that are NaN: `x != x`. No integer is."""
    return ne_tile(x, x)


@composed
def isinf(x: Number) -> Tile[bool_]:
    """Return a mask of the elements of floats that are inf or -inf: `abs(x) == inf`."""
    assert is_float(x), "tl.isinf takes floats: no integer is infinite"
    return eq_tile(abs(x), pos_inf)


@composed
def sign(x: N) -> N:
    """Return -1, 0 or 1 in the type of `x`: `(x > 0) - (x < 0)`; NaN stays NaN, -0.0 becomes 0."""
    given: Any = x
    signs = (given > 0).astype(given.dtype) - (given < 0).astype(given.dtype)
    return rounded(where(isnan(given), given, signs) if is_float(given) else signs, x)
