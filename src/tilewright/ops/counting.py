"""Counts of numbers: how often each occurs, and how many lie in each of equal intervals.

All blocks add to accumulators. Where there are few counters, they have several copies, which other
blocks add to and which are summed at the end: so blocks seldom wait for each other.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..base.dtypes import f64, i32, i64
from ..base.shapes import cdiv, next_power_of_2
from ..functions.function import Function
from ..lang import (
    Accumulator,
    AnyTensor,
    Const,
    Tensor,
    TensorMut,
    block_id,
    fixed_bits,
    floor,
    from_fixed,
    full,
    load_tile_like,
    make_gather_scatter_view,
    maximum,
    minimum,
    reduce_max,
    reduce_sum,
    to_fixed,
    where,
)
from ..launch import entry
from .calling import is_op, is_ours, operation, refuse_no_integers, reshaped, wide
from .reductions import amax, amin
from .reductions import sum as sum_of
from .tiles import as_scalar, widened

TILE = 1024
"""Numbers that a block counts."""
MOST_COPIES, MOST_COPIED = 32, 8192
"""Copies of the counters, and all counters of all copies."""


@entry
def count_numbers(counts: Accumulator, x: Tensor, *, COPIES: Const[int]) -> None:
    """Count the numbers of a tile; counters are (copies, numbers)."""
    i = block_id(0)
    tile = x.partition((TILE,)).load((i,))
    is_there = tile.mask()
    places = where(is_there, tile.astype(i32), 0)
    counts.add(where(is_there, 1, 0).astype(i64)[None, :], (i % COPIES, places))


@entry
def sum_weights(sums: Accumulator, x: Tensor, weights: Tensor, *, COPIES: Const[int]) -> None:
    """Add the weight of each number of a tile to its sum."""
    i = block_id(0)
    tile, weight = x.partition((TILE,)).load((i,)), weights.partition((TILE,)).load((i,))
    places = where(tile.mask(), tile.astype(i32), 0)
    sums.add(widened(weight)[None, :], (i % COPIES, places))


@entry
def sum_fixed_weights(
    sums: Accumulator, x: Tensor, weights: Tensor, high: Tensor, low: Tensor, *,
    COPIES: Const[int],
) -> None:  # fmt: skip
    """Add weights as integers, whose sums do not depend on their order."""
    i = block_id(0)
    tile, weight = x.partition((TILE,)).load((i,)), weights.partition((TILE,)).load((i,))
    places = where(tile.mask(), tile.astype(i32), 0)
    bits = bits_of(high, low, x.shape[0])
    sums.add(to_fixed(weight, bits)[None, :], (i % COPIES, places))


def bits_of(high: AnyTensor[Any], low: AnyTensor[Any], count: int) -> Any:
    """Return how many bits behind the point leave room for a sum of numbers between these."""
    most = maximum(high.partition((1,)).load((0,)), -low.partition((1,)).load((0,)))
    return fixed_bits(most.item(), count)


@entry
def convert_sums(y: TensorMut, sums: Tensor, high: Tensor, low: Tensor, count: i64) -> None:
    """Convert sums of integers to floats."""
    tile = load_tile_like(sums, y)
    y.store(from_fixed(tile, bits_of(high, low, count), y.dtype))


@entry
def take_sums(dw: TensorMut, dy: Tensor, x: Tensor, w: Tensor, *, COPIES: Const[int]) -> None:
    """Take the gradient of the sum that each weight was added to."""
    i = block_id(0)
    places = x.partition((TILE,)).load((i,)).astype(i32)
    rows = make_gather_scatter_view(dy, (1, TILE), 1)
    dw.store(rows.load((i % COPIES, places)).reshape(TILE).astype(dw.dtype))


@entry
def add_copies(counts: TensorMut, copies: Tensor, *, COPIES: Const[int]) -> None:
    """Sum the copies of counters."""
    tile = copies.partition((COPIES, counts.shape[0])).load((0, block_id(0)))
    counts.store(reduce_sum(tile, 0))


@entry
def find_largest(largest: Accumulator, x: Tensor) -> None:
    """Find the largest number plus 1; 0 where there is none."""
    tile = x.partition((TILE,)).load((block_id(0),))
    above = where(tile.mask(), tile.astype(i64) + 1, 0)
    largest.max(reduce_max(above, 0, keepdims=True), (0,))


@entry
def count_intervals(
    counts: Accumulator, x: Tensor, low: f64, high: f64, *, BINS: Const[int], COPIES: Const[int]
) -> None:
    """Count the elements of a tile in equal intervals; counters are (copies, intervals)."""
    i = block_id(0)
    loaded = x.partition((TILE,)).load((i,))
    tile = widened(loaded)
    first, last = as_scalar(low, tile.dtype), as_scalar(high, tile.dtype)
    place = floor((tile - first) * (1.0 * BINS) / (last - first))
    inside = loaded.mask() & (tile >= first) & (tile <= last)
    bins = minimum(maximum(where(inside, place, 0.0), 0.0), BINS - 1.0).astype(i32)
    counts.add(full((1, TILE), 1, i64), (i % COPIES, where(inside, bins, -1)), clip=True)


def _blocks(x: Any, *_: Any) -> int:
    return cdiv(x.shape[0], TILE)


def _copies(numbers: int, bins: int) -> int:
    """Return how many copies of counters there are."""
    most = min(MOST_COPIES, MOST_COPIED // max(bins, 1), cdiv(numbers, TILE))
    return next_power_of_2(most + 1) // 2 if most > 1 else 1


@cache
def _counting(bins: int, copies: int) -> Function:
    return Function(
        count_numbers, outputs=lambda x: ((copies, bins), i64), grid=_blocks,
        constants={"COPIES": copies},
    )  # fmt: skip


@cache
def _weighing(bins: int, copies: int) -> Function:
    constants = {"COPIES": copies}
    gradient: Function = Function(
        take_sums, outputs="w", tiles=TILE, constants=constants,
        backward=lambda g, x, w: (lambda: sums(x, g), None, None),
    )  # fmt: skip
    sums: Function = Function(
        sum_weights, outputs=lambda x, weights: ((copies, bins), wide(weights)), grid=_blocks,
        constants=constants, backward=lambda dy, x, weights: (None, gradient(dy, x, weights)),
    )  # fmt: skip
    return sums


@cache
def _intervals(bins: int, copies: int) -> Function:
    return Function(
        count_intervals, outputs=lambda x, low, high: ((copies, bins), i64), grid=_blocks,
        constants={"BINS": bins, "COPIES": copies},
    )  # fmt: skip


@cache
def _totals(copies: int) -> Function:
    return Function(
        add_copies, outputs=lambda copies: copies.shape[1:], tiles=MOST_COPIED // MOST_COPIES,
        constants={"COPIES": copies},
    )  # fmt: skip


@cache
def _fixed_weighing(bins: int, copies: int) -> Function:
    return Function(
        sum_fixed_weights, outputs=lambda x, weights, high, low: ((copies, bins), i64),
        grid=_blocks, constants={"COPIES": copies},
    )  # fmt: skip


@cache
def _converting(dtype: Any) -> Function:
    return Function(
        convert_sums, outputs=lambda sums, high, low, count: (sums.shape, dtype), tiles=1024
    )


_LARGEST = Function(find_largest, outputs=lambda x: ((1,), i64), grid=_blocks)


def _total(counts: Any, copies: int, bins: int) -> Any:
    return reshaped(counts, (bins,)) if copies == 1 else _totals(copies)(counts)


@operation
def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    deterministic: bool = False,
) -> Any:
    """Count how often each number from 0 on occurs, or sum the weights of each.

    The result has max(x) + 1 elements, and `minlength` or more; to know that the host waits for x.
    With `length` it has so many and nothing is waited for: our tensors, which are results of ops,
    and JAX arrays inside of `jax.jit` need it. A number that has no element fails the launch. Sums
    of weights are f32 (f64 of f64), and are added in any order; if `deterministic`, as integers, so
    that they have the same bits each time on each device. Then weights are finite, and have no
    gradients.

    >>> ops.bincount(np.array([0, 2, 2]))
    array([1, 0, 2])
    """
    refuse_no_integers("bincount", "x", x)
    if len(x.shape) != 1 or (weights is not None and tuple(weights.shape) != tuple(x.shape)):
        more = "" if weights is None else f" and weights of {tuple(weights.shape)}"
        raise ValueError(
            f"`bincount` takes numbers of one axis, and as many weights; got {tuple(x.shape)}{more}"
        )
    if minlength < 0:
        raise ValueError(f"`minlength` of `bincount` is 0 or more, got {minlength}")
    wanted = _length_of(x, minlength) if length is None else length
    bins = max(wanted, 1)
    copies = _copies(x.shape[0], bins)
    if weights is None:
        found = _total(_counting(bins, copies)(x), copies, bins)
    elif deterministic and x.shape[0]:
        found = _fixed_sums(x, weights, copies, bins)
    else:
        found = sum_of(_weighing(bins, copies)(x, weights), axis=0)
    return found if wanted else _none_of(found)


def _fixed_sums(x: Any, weights: Any, copies: int, bins: int) -> Any:
    """Return sums of weights, added as integers of a power of two that leaves room for all."""
    return _joined_sums(x, weights, amax(weights), amin(weights), copies, bins)


@operation
def _joined_sums(x: Any, weights: Any, high: Any, low: Any, copies: int, bins: int) -> Any:
    limits = reshaped(high, (1,)), reshaped(low, (1,))
    sums = _total(_fixed_weighing(bins, copies)(x, weights, *limits), copies, bins)
    return _converting(wide(weights))(sums, *limits, x.shape[0])


def _none_of(found: Any) -> Any:
    def cut(x: Any) -> Any:
        return x[:0]

    return found.map(cut) if is_op(found) else cut(found)


def _length_of(x: Any, minlength: int) -> int:
    if is_ours(x):
        raise TypeError(
            "`bincount` of our tensors needs `length`, the number of elements of the result: its"
            " shape must be known before x is"
        )
    found: Any = _LARGEST(x)
    return max(int(found[0]), minlength)


@operation
def histogram(x: Any, bins: int = 100, *, range: tuple[float, float]) -> Any:  # noqa: A002
    """Count the elements in `bins` equal intervals from range[0] to range[1].

    An interval contains its lower limit, and the last one both. Elements outside, and NaN, are not
    counted. The result is i64.

    >>> ops.histogram(np.array([0.5, 1.0, 2.0, 9.0], "f4"), 2, range=(0, 2))
    array([1, 2])
    """
    low, high = (float(limit) for limit in range)
    if bins < 1 or not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            "`histogram` has 1 or more intervals, of a range that has a length; got"
            f" {bins} from {low} to {high}"
        )
    flat = reshaped(x, (math.prod(tuple(x.shape)),))
    copies = _copies(flat.shape[0], bins)
    return _total(_intervals(bins, copies)(flat, low, high), copies, bins)
