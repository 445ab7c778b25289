"""Activation functions and classification of floats, element by element.

f16 and bf16 are computed in f32 and rounded once, as by the functions of `lang.elementwise`.
"""

from __future__ import annotations

from typing import Any, Literal

from ...base.dtypes import bool_
from ..elementwise import abs, eq_tile, erf, exp, maximum, ne_tile, where
from ..enums import pos_inf
from ..marker import composed
from ..tile import N, Number, Tile
from .rounding import is_float, rounded, widened


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
