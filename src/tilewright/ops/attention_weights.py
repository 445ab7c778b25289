"""Scores and weights of attention: which keys a query sees, and weights that are stored.

Attention itself stores none. The derivatives of its gradients do, and the gradient of a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..base.dtypes import f64, i32, i64, u32, u64
from ..functions.describing import element_type
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, arange, block_id, exp, mma, neg_inf, rand, where, zeros
from ..launch import entry
from .calling import reshaped, wide
from .elementwise import conversion, converted, exp_of
from .embedding import seed_of
from .matmul import product
from .reductions import sum as sum_of
from .tiles import as_scalar, sum_type


class Mask(NamedTuple):
    """Which keys a query sees, and how heads share them."""

    causal: bool
    window: int | None
    """How many keys before its own position, and itself; None: all."""
    group: int
    """Query heads for each head of keys."""
    sinks: bool
    repeated: tuple[bool, ...] | None
    """Of a mask (batch, heads, queries, keys): which axes have one element for all; None: there is
    no mask."""
    dropout: str | None = None
    """What the seed is by which weights of values are dropped, `number` or `array`; None: all of
    them are kept."""


def scores(query: Any, key: Any, scale: Any, rows: Any, columns: Any, count: Any, how: Any) -> Any:
    """Return the scores of a tile of queries and keys; -inf where a key is not seen."""
    shape = (query.shape[0], key.shape[0])
    found = mma(query, key.T, zeros(shape, scale.dtype)) * scale
    seen = columns < count
    if how.causal:
        seen = seen & (columns <= rows)
    if how.window is not None:
        seen = seen & (rows - columns < how.window)
        if not how.causal:
            seen = seen & (columns - rows < how.window)
    return where(seen, found, neg_inf)


def masked(score: Any, mask: Any, head: Any, heads: Any, i: Any, j: Any, how: Any) -> Any:
    """Return scores after a mask, of what is seen or of what is added."""
    if how.repeated is None:
        return score
    one_batch, one_head, one_row, one_column = how.repeated
    rows, columns = 1 if one_row else score.shape[0], 1 if one_column else score.shape[1]
    at = 0 if one_batch else head // heads, 0 if one_head else head % heads
    tiles = mask.partition((1, 1, rows, columns))
    tile = tiles.load((*at, 0 if one_row else i, 0 if one_column else j)).reshape(rows, columns)
    if mask.dtype.is_bool:
        return where(tile, score, neg_inf)
    return score + tile.astype(score.dtype)


def kept(head: Any, rows: Any, columns: Any, size: Any, p: Any, seed: Any, kind: Any) -> Any:
    """Return 0 for weights that are dropped, by the numbers of their places, else 1 / (1 - p).

    `size` has the queries and the keys of a head.
    """
    row = rows.astype(i64) + i64(head) * i64(size[0])
    number = (row * i64(size[1]) + columns.astype(i64)).astype(u32)
    share = as_scalar(p, kind)
    return where(rand(seed, number).astype(kind) >= share, 1.0 / (1.0 - share), 0.0)


# --- weights that are stored -------------------------------------------------------------------


@entry
def attention_weights(
    weights: TensorMut, q: Tensor, k: Tensor, mask: Tensor, lse: Tensor, scale: f64, heads: i32, *,
    DEPTH: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute exp(scores - lse), (heads, queries, keys)."""
    head, i, j = block_id(0), block_id(1), block_id(2)
    tile, width = weights.shape[1], weights.shape[2]
    query = q.partition((1, tile, DEPTH)).load((head, i, 0)).reshape(tile, DEPTH)
    key = k.partition((1, width, DEPTH)).load((head // HOW.group, j, 0)).reshape(width, DEPTH)
    rows, columns = (arange(tile) + i * tile)[:, None], (arange(width) + j * width)[None, :]
    factor = as_scalar(scale, sum_type(q.dtype))
    score = scores(query, key, factor, rows, columns, k.shape[1], HOW)
    score = masked(score, mask, head, heads, i, j, HOW)
    top = lse.partition((1, tile)).load((head, i)).reshape(tile, 1)
    weights.store(exp(score - top).reshape(1, tile, width))


@entry
def kept_weights(
    factors: TensorMut, weights: Tensor, seeds: Tensor, p: f64, seed: u64, *, HOW: Const[Mask]
) -> None:
    """Compute what dropout multiplies weights with; of these only the shape is read."""
    head, tile, width = block_id(0), factors.shape[1], factors.shape[2]
    rows = (arange(tile) + block_id(1) * tile)[:, None]
    columns = (arange(width) + block_id(2) * width)[None, :]
    drawn = seed_of(seed, seeds, HOW.dropout == "array")
    size = weights.shape[1], weights.shape[2]
    found = kept(head, rows, columns, size, p, drawn, factors.dtype)
    factors.store(found.reshape(1, tile, width))


class Tiles(NamedTuple):
    """Tiles of queries and keys, and the depth of both, a power of two."""

    queries: int
    keys: int
    depth: int


@cache
def _weights(tiles: Tiles, how: Mask) -> Function:
    """Return the function of q, k, mask, lse, scale and heads that stores weights."""

    def backward(g: Any, q: Any, k: Any, mask: Any, scale: float, heads: int, weights: Any) -> Any:
        slopes = g * weights

        def by_queries() -> Any:
            return of_queries(slopes, q, k, scale, how)

        def by_keys() -> Any:
            return of_keys(slopes, q, k, scale, how)

        def by_sums() -> Any:
            total: Any = sum_of(slopes, axis=2)
            return -total

        return by_queries, by_keys, of_mask(slopes, mask, heads, how), by_sums

    return Function(
        attention_weights,
        outputs=lambda q, k, mask, lse, scale, heads: ((*q.shape[:2], k.shape[1]), wide(q)),
        tiles=(1, tiles.queries, tiles.keys),
        constants={"DEPTH": tiles.depth, "HOW": how},
        backward=backward,
    )


@cache
def _factors(tiles: Tiles, how: Mask) -> Function:
    return Function(
        kept_weights, outputs="weights", tiles=(1, tiles.queries, tiles.keys),
        constants={"HOW": how}, backward=lambda d_factors: (None, None),
    )  # fmt: skip


def _joined(x: Any, group: int) -> Any:
    """Return the rows of the heads of a group as rows of one head."""
    heads, rows, columns = x.shape
    return reshaped(x, (heads // group, group * rows, columns))


def of_queries(slopes: Any, q: Any, k: Any, scale: float, how: Mask) -> Any:
    """Return the gradient of queries, of those of the scores."""
    found = product(_joined(converted(slopes, k), how.group), k)
    return reshaped(found, tuple(q.shape)) * scale


def of_keys(slopes: Any, q: Any, k: Any, scale: float, how: Mask) -> Any:
    """Return the gradient of keys, of those of the scores; also that of values, of weights."""
    rows = _joined(converted(slopes, q), how.group)
    return product(rows, _joined(q, how.group), turn_a=True) * scale


def of_mask(slopes: Any, mask: Any, heads: int, how: Mask) -> Callable[[], Any] | None:
    """Return what computes the gradient of a mask that is added; None: it has none."""
    repeated = how.repeated
    if repeated is None or element_type(mask.dtype).is_bool:
        return None

    def gradient() -> Any:
        extents = slopes.shape[0] // heads, heads, *slopes.shape[1:]
        axes = tuple([axis for axis, once in enumerate(repeated) if once])
        by_place = reshaped(slopes, extents)
        found = sum_of(by_place, axis=axes, keepdims=True) if axes else by_place
        return converted(found, mask)

    return gradient


class Slopes(NamedTuple):
    """What the gradients of attention are made of, stored: both are (heads, queries, keys)."""

    scores: Any
    """The gradient of scores."""
    weights: Any
    """Of values, after dropout."""


def slopes_of(
    tiles: Tiles, how: Mask, q: Any, k: Any, v: Any, mask: Any, dy: Any, lse: Any, delta: Any,
    scale: float, heads: int, seeds: Any, p: float, seed: int,
) -> Slopes:  # fmt: skip
    """Return what gradients are made of, by operations that have derivatives."""
    weights = _weights(tiles, how)(q, k, mask, lse, scale, heads)
    found = product(_joined(dy, how.group), v, turn_b=True)
    slopes = converted(reshaped(found, tuple(weights.shape)), weights)
    used = weights
    if how.dropout is not None:
        factors = _factors(tiles, how)(weights, seeds, p, seed)
        slopes, used = slopes * factors, weights * factors
    return Slopes(weights * (slopes - reshaped(delta, (*delta.shape, 1))), used)


def deltas_of(out: Any, dy: Any, lse: Any, sinks: Any, how: Mask) -> tuple[Any, Any]:
    """Return sum(out * dy) of each row, and what each row adds to the gradient of its sink."""
    widen = conversion(wide(out))
    delta: Any = sum_of(widen(out) * widen(dy), axis=2)
    if not how.sinks:
        return delta, delta * 0
    return delta, -weights_of_sinks(sinks, lse) * delta


def weights_of_sinks(sinks: Any, lse: Any) -> Any:
    """Return exp(sinks - lse), (heads, queries)."""
    heads = sinks.shape[0]
    rows = reshaped(lse, (lse.shape[0] // heads, heads, lse.shape[1]))
    powers = exp_of(reshaped(conversion(wide(sinks))(sinks), (1, heads, 1)) - rows)
    return reshaped(powers, tuple(lse.shape))
