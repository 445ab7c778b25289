"""Attention in one pass over the keys, with gradients: causal, windows, grouped heads, sinks.

Scores are never stored: the backward pass computes them again, from the logarithms of their sums.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from ..base.dtypes import f64
from ..base.shapes import FULL, next_power_of_2
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    ceil_div,
    exp,
    full,
    load_tile_like,
    log,
    maximum,
    minimum,
    mma,
    neg_inf,
    reduce_max,
    reduce_sum,
    where,
    zeros,
)
from ..launch import entry
from .calling import first, operation, reshaped, wide
from .reductions import sum as sum_of
from .tiles import as_scalar, rounded, sum_type, widened

QUERIES, KEYS, LEAST = 64, 64, 16
"""Tiles of queries and of keys, and the least of both."""


class Mask(NamedTuple):
    """Which keys a query sees, and how heads share them."""

    causal: bool
    window: int | None
    """How many keys before its own position, and itself; None: all."""
    group: int
    """Query heads for each head of keys."""
    sinks: bool


def _scores(query: Any, key: Any, scale: Any, rows: Any, columns: Any, count: Any, how: Any) -> Any:
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


def _key_range(i: int, tile: int, keys: int, parts: Any, how: Any) -> tuple[int, int]:
    """Return the first tile of keys that a tile of queries sees, and the one behind the last."""
    start: int = 0
    stop: int = parts.num_tiles(1)
    if how.causal:
        stop = minimum(stop, ceil_div((i + 1) * tile, keys))
    if how.window is not None:
        start = maximum(i * tile - int(how.window) + 1, 0) // keys
        if not how.causal:
            stop = minimum(stop, ceil_div((i + 1) * tile + int(how.window), keys))
    return start, stop


@entry
def attend(
    out: TensorMut, lse: TensorMut, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, scale: f64, *,
    KEYS: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute attention of a tile of queries of one head, (heads, tokens, depth)."""
    head, i = block_id(0), block_id(1)
    tile, depth = out.shape[1], out.shape[2]
    kind = sum_type(q.dtype)
    factor = as_scalar(scale, kind)
    query = load_tile_like(q, out).reshape(tile, depth)
    keys, values = k.partition((1, KEYS, depth)), v.partition((1, KEYS, depth))
    rows = (arange(tile) + i * tile)[:, None]
    peak, total = full((tile, 1), neg_inf, kind), zeros((tile, 1), kind)
    if HOW.sinks:
        sink = widened(sinks.partition((1,)).load((head % sinks.shape[0],)))
        peak, total = sink.reshape(1, 1).broadcast(tile, 1), full((tile, 1), 1.0, kind)
    acc = zeros((tile, depth), kind)
    start, stop = _key_range(i, tile, KEYS, keys, HOW)
    for j in range(start, stop):
        key = keys.load((head // HOW.group, j, 0)).reshape(KEYS, depth)
        columns = (arange(KEYS) + j * KEYS)[None, :]
        score = _scores(query, key, factor, rows, columns, k.shape[1], HOW)
        higher = maximum(peak, reduce_max(score, 1, keepdims=True))
        shift = where(higher == neg_inf, 0.0, higher)
        powers, fade = exp(score - shift), exp(peak - shift)
        total = total * fade + reduce_sum(powers, 1, keepdims=True)
        value = values.load((head // HOW.group, j, 0)).reshape(KEYS, depth)
        acc = mma(powers.astype(value.dtype), value, acc * fade)
        peak = higher
    seen = total > 0.0
    out.store(rounded(where(seen, acc / total, 0.0), out).reshape(1, tile, depth))
    lse.store(where(seen, peak + log(total), 0.0).reshape(1, tile))


@entry
def attend_queries(
    dq: TensorMut, q: Tensor, k: Tensor, v: Tensor, dy: Tensor, lse: Tensor, delta: Tensor,
    scale: f64, *, KEYS: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute the gradient of a tile of queries."""
    head, i = block_id(0), block_id(1)
    tile, depth = dq.shape[1], dq.shape[2]
    factor = as_scalar(scale, sum_type(q.dtype))
    query = load_tile_like(q, dq).reshape(tile, depth)
    grad = load_tile_like(dy, dq).reshape(tile, depth)
    keys, values = k.partition((1, KEYS, depth)), v.partition((1, KEYS, depth))
    rows = (arange(tile) + i * tile)[:, None]
    top = lse.partition((1, tile)).load((head, i)).reshape(tile, 1)
    apart = delta.partition((1, tile)).load((head, i)).reshape(tile, 1)
    acc = zeros((tile, depth), factor.dtype)
    start, stop = _key_range(i, tile, KEYS, keys, HOW)
    for j in range(start, stop):
        key = keys.load((head // HOW.group, j, 0)).reshape(KEYS, depth)
        columns = (arange(KEYS) + j * KEYS)[None, :]
        share = exp(_scores(query, key, factor, rows, columns, k.shape[1], HOW) - top)
        value = values.load((head // HOW.group, j, 0)).reshape(KEYS, depth)
        slope = share * (mma(grad, value.T, zeros(share.shape, factor.dtype)) - apart)
        acc = mma(slope.astype(key.dtype), key, acc)
    dq.store(rounded(acc * factor, dq).reshape(1, tile, depth))


@entry
def attend_keys(
    dk: TensorMut, dv: TensorMut, q: Tensor, k: Tensor, v: Tensor, dy: Tensor, lse: Tensor,
    delta: Tensor, scale: f64, *, QUERIES: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute the gradients of a tile of keys and values, from all query heads of its group."""
    head, j = block_id(0), block_id(1)
    tile, depth = dk.shape[1], dk.shape[2]
    factor = as_scalar(scale, sum_type(q.dtype))
    key = load_tile_like(k, dk).reshape(tile, depth)
    value = load_tile_like(v, dk).reshape(tile, depth)
    queries, grads = q.partition((1, QUERIES, depth)), dy.partition((1, QUERIES, depth))
    tops, aparts = lse.partition((1, QUERIES)), delta.partition((1, QUERIES))
    columns = (arange(tile) + j * tile)[None, :]
    acc_k, acc_v = zeros((tile, depth), factor.dtype), zeros((tile, depth), factor.dtype)
    start = j * tile // QUERIES if HOW.causal else 0
    for member in range(HOW.group):
        h = head * HOW.group + member
        for i in range(start, queries.num_tiles(1)):
            query = queries.load((h, i, 0)).reshape(QUERIES, depth)
            grad = grads.load((h, i, 0)).reshape(QUERIES, depth)
            rows = (arange(QUERIES) + i * QUERIES)[:, None]
            score = _scores(query, key, factor, rows, columns, k.shape[1], HOW)
            top = tops.load((h, i)).reshape(QUERIES, 1)
            share = where(rows < q.shape[1], exp(score - top), 0.0)
            acc_v = mma(share.astype(grad.dtype).T, grad, acc_v)
            slope = mma(grad, value.T, zeros(share.shape, factor.dtype))
            slope = share * (slope - aparts.load((h, i)).reshape(QUERIES, 1))
            acc_k = mma(slope.astype(query.dtype).T, query, acc_k)
    dk.store(rounded(acc_k * factor, dk).reshape(1, tile, depth))
    dv.store(rounded(acc_v, dv).reshape(1, tile, depth))


@entry
def attend_deltas(
    delta: TensorMut, d_sink: TensorMut, out: Tensor, dy: Tensor, lse: Tensor, sinks: Tensor, *,
    DEPTH: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute sum(out * dy) of each row, and what each row adds to the gradient of its sink."""
    head, i, tile = block_id(0), block_id(1), delta.shape[1]
    outs, grads = out.partition((1, tile, DEPTH)), dy.partition((1, tile, DEPTH))
    products = widened(outs.load((head, i, 0))) * widened(grads.load((head, i, 0)))
    sums = reduce_sum(products, 2)
    delta.store(sums)
    if HOW.sinks:
        sink = widened(sinks.partition((1,)).load((head % sinks.shape[0],))).reshape(1, 1)
        d_sink.store(-exp(sink - load_tile_like(lse, d_sink)) * sums)
    else:
        d_sink.store(zeros(d_sink.shape, d_sink.dtype))


def _tile(tokens: int, most: int) -> int:
    return max(LEAST, min(most, next_power_of_2(tokens)))


@cache
def _attention(queries: int, keys: int, depth: int, how: Mask) -> Function:
    """Compute attention by tiles of queries and keys, of a depth that is a power of two."""
    cut, row = (1, queries, FULL), (1, queries)
    deltas = Function(
        attend_deltas, outputs="lse", tiles=row, constants={"DEPTH": depth, "HOW": how}
    )
    of_queries = Function(
        attend_queries, outputs="q", tiles=cut, constants={"KEYS": keys, "HOW": how}
    )
    of_keys = Function(
        attend_keys, outputs={"dk": "k", "dv": "v"}, tiles=(1, keys, FULL),
        constants={"QUERIES": queries, "HOW": how},
    )  # fmt: skip

    def backward(
        dy: Any, d_lse: Any, q: Any, k: Any, v: Any, sinks: Any, scale: float, out: Any, lse: Any
    ) -> Any:
        delta, d_rows = deltas(out, dy, lse, sinks)
        dq = of_queries(q, k, v, dy, lse, delta, scale)
        dk, dv = of_keys(q, k, v, dy, lse, delta, scale)
        if not how.sinks:
            return dq, dk, dv, None
        heads = sinks.shape[0]
        by_head = reshaped(d_rows, (q.shape[0] // heads, heads, q.shape[1]))
        return dq, dk, dv, _like(sum_of(by_head, axis=(0, 2)), sinks)

    def statistics(q: Any, k: Any, v: Any, sinks: Any, scale: float) -> Any:
        return q.shape[:2], wide(q)

    return Function(
        attend, outputs={"out": "q", "lse": statistics}, tiles={"out": cut, "lse": row},
        constants={"KEYS": keys, "HOW": how}, backward=backward,
    )  # fmt: skip


@entry
def convert_elements(y: TensorMut, x: Tensor, like: Tensor) -> None:
    """Convert elements to the type of another array."""
    y.store(load_tile_like(x, y).astype(y.dtype))


_CONVERT = Function(convert_elements, outputs="like", tiles=1024)


def _like(x: Any, like: Any) -> Any:
    return _CONVERT(x, like)


@operation
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: int | None = None,
    sinks: Any = None,
) -> Any:
    """Compute softmax(query @ key.T * scale) @ value for each head.

    Arrays are (..., heads, tokens, depth); keys may have another number of tokens, and with
    `enable_gqa` fewer heads, of which each serves a group of adjacent query heads. `scale` is 1 /
    sqrt(depth) unless it is given. If `is_causal`, query i sees the keys 0 to i; with a window, it
    sees keys less than `window` positions away. `sinks` has a logit for each head, which takes part
    in the softmax and has no value.

    >>> x = np.ones((1, 3, 2), "f4")
    >>> ops.scaled_dot_product_attention(x, x, 2 * x, is_causal=True)[0, 0]
    array([2., 2.], dtype=float32)
    """
    shape, others = tuple(query.shape), tuple(key.shape)
    _refuse_shapes(shape, others, tuple(value.shape), enable_gqa)
    heads = shape[-3]
    if sinks is not None and tuple(sinks.shape) != (heads,):
        raise ValueError(f"`sinks` has a logit for each of {heads} heads, got {sinks.shape}")
    if window is not None and window < 1:
        raise ValueError(f"`window` is 1 or more keys, got {window}")
    group = heads // others[-3] if others[-3] else 1
    how = Mask(is_causal, window, group, sinks is not None)
    tokens, depth = shape[-2:]
    function = _attention(
        _tile(tokens, QUERIES), _tile(others[-2], KEYS), next_power_of_2(depth), how
    )
    q = reshaped(query, (math.prod(shape[:-2]), tokens, depth))
    k, v = (reshaped(x, (math.prod(others[:-2]), *others[-2:])) for x in (key, value))
    factor = depth**-0.5 if scale is None else float(scale)
    return reshaped(first(function(q, k, v, q if sinks is None else sinks, factor)), shape)


def _refuse_shapes(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], grouped: bool
) -> None:
    fits = len(query) == len(key) >= 3 and key == value
    fits = fits and query[-1] == key[-1] and query[:-3] == key[:-3]
    if fits and query[-3] != key[-3]:
        fits = grouped and key[-3] > 0 and query[-3] % key[-3] == 0
    if not fits:
        raise ValueError(
            "attention takes (..., heads, tokens, depth): queries, keys and values of one depth,"
            " keys and values of one shape, and as many heads (with enable_gqa, a divisor); got"
            f" {query}, {key} and {value}"
        )
