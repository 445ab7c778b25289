"""Reductions composed of several ops: softmax, logsumexp, mean and variance.

`axis` may count from the end; None reduces all axes, a tuple several. f16 and bf16 are computed in
f32 and rounded once. Elements that a load has padded count as any others.
"""

from __future__ import annotations

from ..elementwise import exp, log, where
from ..marker import composed
from ..reduction import reduce_max, reduce_sum
from ..tile import Axis, E, Tile
from .activation import isinf
from .rounding import is_float, rounded, widened


@composed
def softmax(x: Tile[E], axis: Axis = -1) -> Tile[E]:
    """Compute exp(x) / sum(exp(x)) along an axis, shifted by the maximum so that nothing overflows.

    Pad with `tl.neg_inf`, which becomes 0: `tl.softmax(tl.load_tile_like(x, out, tl.neg_inf))`.
    """
    wide = widened(x)
    powers = exp(wide - reduce_max(wide, axis, keepdims=True))
    return rounded(powers / reduce_sum(powers, axis, keepdims=True), x)


@composed
def logsumexp(x: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Compute log(sum(exp(x))) along an axis, shifted by the maximum so that nothing overflows.

    `tl.logsumexp(x, 1)` of a row of -inf is -inf, and of one with inf it is inf.
    """
    wide = widened(x)
    largest = reduce_max(wide, axis, keepdims=True)
    shift = where(isinf(largest), 0.0, largest)
    total = reduce_sum(exp(wide - shift), axis, keepdims=True)
    return rounded(reduce_sum(log(total) + shift, axis, keepdims), x)


@composed
def mean(x: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Compute the mean of floats along an axis: `sum(x) / n`."""
    assert is_float(x), f"tl.mean takes floats, got a tile of {x.dtype}: use x.astype(...)"
    total = reduce_sum(widened(x), axis, keepdims)
    return rounded(total / (x.size // total.size), x)


@composed
def var(x: Tile[E], axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Tile[E]:
    """Compute the variance of floats along an axis: `sum((x - mean(x))**2) / (n - ddof)`.

    `tl.var(x, 1, ddof=1)` is the unbiased estimate, which PyTorch computes by default.
    """
    assert is_float(x), f"tl.var takes floats, got a tile of {x.dtype}: use x.astype(...)"
    wide = widened(x)
    apart = wide - mean(wide, axis, keepdims=True)
    total = reduce_sum(apart * apart, axis, keepdims)
    return rounded(total / (x.size // total.size - ddof), x)
