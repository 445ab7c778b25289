"""Reductions and scans that several steps make: softmax, mean, variance, products, histograms.

`axis` may count from the end; None reduces all axes, a tuple several. f16 and bf16 are computed in
f32 and rounded once. Elements that a load has padded count as any others.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import i8, i32
from ..elementwise import exp, log, where
from ..layout import arange, reshape, zeros
from ..marker import composed
from ..matmul import mmai
from ..reduction import reduce_max, reduce_sum, scan
from ..tile import Axis, E, Tile
from .arrangement import powers
from .elementary import is_float, isinf, rounded, widened


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


@composed
def cumprod(x: Tile[E], axis: int = 0, reverse: bool = False) -> Tile[E]:
    """Return all partial products along an axis; `reverse` starts at the end.

    `tl.cumprod(x)[i]` is the product of `x[0]` to `x[i]`. Integers wrap; see `tl.cumsum`.
    """
    wide = widened(x)
    return rounded(scan(wide, axis, 1, lambda a, b: a * b, reverse), x)


MOST_BINS = 1 << 16


@composed
def histogram(x: Tile[Any], bins: int) -> Tile[i32]:
    """Count integers: `tl.histogram(x, 256)[b]` is how many elements of `x` are b.

    Elements below 0 or above `bins - 1` are not counted. `bins` is a power of two, as every extent
    of a tile. A number is a row and a column of a table of counts; the table is the sum, over parts
    of the tile, of products of a matrix that has a 1 for the row of each element and one that has a
    1 for its column. On GPUs, tiles of more than 2048 elements compile slowly.
    """
    assert bins in powers(MOST_BINS), (
        f"tl.histogram takes 1, 2, 4, ... up to {MOST_BINS} bins, got {bins}"
    )
    assert x.dtype.is_int, f"tl.histogram takes integers, got a tile of {x.dtype}"
    width = min(x.size, max(64, bins // 64))  # long products compile slowly on GPUs
    parts = reshape(x if x.dtype.bits >= 32 else x.astype(i32), (x.size // width, width))
    bits = (bins.bit_length() - 1) // 2
    columns = 1 << bits
    rows = bins // columns
    in_row = arange(rows, dtype=parts.dtype)[None, :, None] == (parts >> bits)[:, None, :]
    column = arange(columns, dtype=parts.dtype)[None, None, :]
    in_column = (parts & (columns - 1))[:, :, None] == column
    tables = zeros((x.size // width, rows, columns), i32)
    tables = mmai(in_row.astype(i8), in_column.astype(i8), tables)
    return reshape(reduce_sum(tables, 0), (bins,))
