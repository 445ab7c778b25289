"""Attention in one pass over the keys, with gradients: causal, windows, grouped heads, sinks.

Scores are never stored: the backward pass computes them again, from the logarithms of their sums.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

from ..base.dtypes import f64, i32, u64
from ..base.shapes import FULL, next_power_of_2
from ..functions.describing import element_type
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
from .attention_weights import (
    Mask,
    Tiles,
    deltas_of,
    kept,
    masked,
    of_keys,
    of_mask,
    of_queries,
    scores,
    slopes_of,
    weights_of_sinks,
)
from .calling import first, float_operation, refuse_other_types, reshaped, wide
from .elementwise import converted
from .embedding import chance_of, seed_of
from .reductions import sum as sum_of
from .second_order import by_formula
from .tiles import as_scalar, rounded, sum_type, widened

QUERIES, KEYS, LEAST = 64, 64, 16
"""Tiles of queries and of keys, and the least of both."""


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
    out: TensorMut, lse: TensorMut, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor,
    scale: f64, heads: i32, seeds: Tensor, p: f64, seed: u64, *,
    KEYS: Const[int], DEPTH: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute attention of a tile of queries of one head, (heads, tokens, depth)."""
    head, i = block_id(0), block_id(1)
    tile, width = out.shape[1], out.shape[2]
    kind = sum_type(q.dtype)
    factor = as_scalar(scale, kind)
    query = q.partition((1, tile, DEPTH)).load((head, i, 0)).reshape(tile, DEPTH)
    keys, values = k.partition((1, KEYS, DEPTH)), v.partition((1, KEYS, width))
    rows = (arange(tile) + i * tile)[:, None]
    peak, total = full((tile, 1), neg_inf, kind), zeros((tile, 1), kind)
    if HOW.sinks:
        sink = widened(sinks.partition((1,)).load((head % sinks.shape[0],)))
        peak, total = sink.reshape(1, 1).broadcast(tile, 1), full((tile, 1), 1.0, kind)
    drawn, size = seed_of(seed, seeds, HOW.dropout == "array"), (q.shape[1], k.shape[1])
    acc = zeros((tile, width), kind)
    start, stop = _key_range(i, tile, KEYS, keys, HOW)
    for j in range(start, stop):
        key = keys.load((head // HOW.group, j, 0)).reshape(KEYS, DEPTH)
        columns = (arange(KEYS) + j * KEYS)[None, :]
        score = scores(query, key, factor, rows, columns, k.shape[1], HOW)
        score = masked(score, mask, head, heads, i, j, HOW)
        higher = maximum(peak, reduce_max(score, 1, keepdims=True))
        shift = where(higher == neg_inf, 0.0, higher)
        powers, fade = exp(score - shift), exp(peak - shift)
        total = total * fade + reduce_sum(powers, 1, keepdims=True)
        if HOW.dropout is not None:
            powers = powers * kept(head, rows, columns, size, p, drawn, kind)
        value = values.load((head // HOW.group, j, 0)).reshape(KEYS, width)
        acc = mma(powers.astype(value.dtype), value, acc * fade)
        peak = higher
    seen = total > 0.0
    out.store(rounded(where(seen, acc / total, 0.0), out).reshape(1, tile, width))
    lse.store(where(seen, peak + log(total), 0.0).reshape(1, tile))


@entry
def attend_queries(
    dq: TensorMut, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, dy: Tensor, lse: Tensor,
    delta: Tensor, scale: f64, heads: i32, seeds: Tensor, p: f64, seed: u64, *,
    KEYS: Const[int], WIDTH: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute the gradient of a tile of queries."""
    head, i = block_id(0), block_id(1)
    tile, depth = dq.shape[1], dq.shape[2]
    factor = as_scalar(scale, sum_type(q.dtype))
    query = load_tile_like(q, dq).reshape(tile, depth)
    grad = dy.partition((1, tile, WIDTH)).load((head, i, 0)).reshape(tile, WIDTH)
    keys, values = k.partition((1, KEYS, depth)), v.partition((1, KEYS, WIDTH))
    rows = (arange(tile) + i * tile)[:, None]
    top = lse.partition((1, tile)).load((head, i)).reshape(tile, 1)
    apart = delta.partition((1, tile)).load((head, i)).reshape(tile, 1)
    drawn, size = seed_of(seed, seeds, HOW.dropout == "array"), (q.shape[1], k.shape[1])
    acc = zeros((tile, depth), factor.dtype)
    start, stop = _key_range(i, tile, KEYS, keys, HOW)
    for j in range(start, stop):
        key = keys.load((head // HOW.group, j, 0)).reshape(KEYS, depth)
        columns = (arange(KEYS) + j * KEYS)[None, :]
        score = scores(query, key, factor, rows, columns, k.shape[1], HOW)
        share = exp(masked(score, mask, head, heads, i, j, HOW) - top)
        value = values.load((head // HOW.group, j, 0)).reshape(KEYS, WIDTH)
        slope = mma(grad, value.T, zeros(share.shape, factor.dtype))
        if HOW.dropout is not None:
            slope = slope * kept(head, rows, columns, size, p, drawn, factor.dtype)
        slope = share * (slope - apart)
        acc = mma(slope.astype(key.dtype), key, acc)
    dq.store(rounded(acc * factor, dq).reshape(1, tile, depth))


@entry
def attend_keys(
    dk: TensorMut, dv: TensorMut, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, dy: Tensor,
    lse: Tensor, delta: Tensor, scale: f64, heads: i32, seeds: Tensor, p: f64, seed: u64, *,
    QUERIES: Const[int], HOW: Const[Mask],
) -> None:  # fmt: skip
    """Compute the gradients of a tile of keys and values, from all query heads of its group."""
    head, j = block_id(0), block_id(1)
    tile, depth, width = dk.shape[1], dk.shape[2], dv.shape[2]
    factor = as_scalar(scale, sum_type(q.dtype))
    key = load_tile_like(k, dk).reshape(tile, depth)
    value = load_tile_like(v, dv).reshape(tile, width)
    queries, grads = q.partition((1, QUERIES, depth)), dy.partition((1, QUERIES, width))
    tops, aparts = lse.partition((1, QUERIES)), delta.partition((1, QUERIES))
    columns = (arange(tile) + j * tile)[None, :]
    acc_k, acc_v = zeros((tile, depth), factor.dtype), zeros((tile, width), factor.dtype)
    drawn, size = seed_of(seed, seeds, HOW.dropout == "array"), (q.shape[1], k.shape[1])
    start = j * tile // QUERIES if HOW.causal else 0
    for member in range(HOW.group):
        h = head * HOW.group + member
        for i in range(start, queries.num_tiles(1)):
            query = queries.load((h, i, 0)).reshape(QUERIES, depth)
            grad = grads.load((h, i, 0)).reshape(QUERIES, width)
            rows = (arange(QUERIES) + i * QUERIES)[:, None]
            score = scores(query, key, factor, rows, columns, k.shape[1], HOW)
            score = masked(score, mask, h, heads, i, j, HOW)
            top = tops.load((h, i)).reshape(QUERIES, 1)
            share = where(rows < q.shape[1], exp(score - top), 0.0)
            slope, weights = mma(grad, value.T, zeros(share.shape, factor.dtype)), share
            if HOW.dropout is not None:
                factors = kept(h, rows, columns, size, p, drawn, factor.dtype)
                slope, weights = slope * factors, share * factors
            acc_v = mma(weights.astype(grad.dtype).T, grad, acc_v)
            slope = share * (slope - aparts.load((h, i)).reshape(QUERIES, 1))
            acc_k = mma(slope.astype(query.dtype).T, query, acc_k)
    dk.store(rounded(acc_k * factor, dk).reshape(1, tile, depth))
    dv.store(rounded(acc_v, dv).reshape(1, tile, width))


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
def _attention(queries: int, keys: int, depth: int, width: int, how: Mask) -> Function:
    """Compute attention by tiles; `depth` of keys and `width` of values are powers of two."""
    cut, row, tiles = (1, queries, FULL), (1, queries), Tiles(queries, keys, depth)

    def deltas_again(out: Any, dy: Any, lse: Any, sinks: Any) -> Any:
        return deltas_of(out, dy, lse, sinks, how)

    def queries_again(
        q: Any, k: Any, v: Any, mask: Any, dy: Any, lse: Any, delta: Any, scale: float, heads: int,
        seeds: Any, p: float, seed: int,
    ) -> Any:  # fmt: skip
        given = q, k, v, mask, dy, lse, delta, scale, heads, seeds, p, seed
        return of_queries(slopes_of(tiles, how, *given).scores, q, k, scale, how)

    def keys_again(
        q: Any, k: Any, v: Any, mask: Any, dy: Any, lse: Any, delta: Any, scale: float, heads: int,
        seeds: Any, p: float, seed: int,
    ) -> Any:  # fmt: skip
        given = q, k, v, mask, dy, lse, delta, scale, heads, seeds, p, seed
        found = slopes_of(tiles, how, *given)
        return of_keys(found.scores, q, k, scale, how), of_keys(found.weights, dy, v, 1.0, how)

    deltas = Function(
        attend_deltas, outputs="lse", tiles=row, constants={"DEPTH": width, "HOW": how},
        backward=by_formula(attend_deltas, deltas_again),
    )  # fmt: skip
    grad_queries = Function(
        attend_queries, outputs="q", tiles=cut,
        constants={"KEYS": keys, "WIDTH": width, "HOW": how},
        backward=by_formula(attend_queries, queries_again),
    )  # fmt: skip
    grad_keys = Function(
        attend_keys, outputs={"dk": "k", "dv": "v"}, tiles=(1, keys, FULL),
        constants={"QUERIES": queries, "HOW": how},
        backward=by_formula(attend_keys, keys_again),
    )  # fmt: skip

    def backward(
        dy: Any, d_lse: Any = None, *, q: Any, k: Any, v: Any, sinks: Any, mask: Any, scale: float,
        heads: int, seeds: Any, p: float, seed: int, out: Any, lse: Any,
    ) -> Any:  # fmt: skip
        delta, d_rows = deltas(out, dy, lse, sinks)
        pull = delta if d_lse is None else delta - d_lse
        given = q, k, v, mask, dy, lse, pull, scale, heads, seeds, p, seed
        dq = grad_queries(*given)
        dk, dv = grad_keys(*given)

        def by_sinks() -> Any:
            by_row = d_rows if d_lse is None else d_rows + weights_of_sinks(sinks, lse) * d_lse
            by_head = reshaped(by_row, (q.shape[0] // heads, heads, q.shape[1]))
            return converted(sum_of(by_head, axis=(0, 2)), sinks)

        def by_mask() -> Any:
            gradient = of_mask(slopes_of(tiles, how, *given).scores, mask, heads, how)
            return gradient if gradient is None else gradient()

        is_added = how.repeated is not None and not element_type(mask.dtype).is_bool
        return dq, dk, dv, by_sinks if how.sinks else None, by_mask if is_added else None, None

    def attended(q: Any, k: Any, v: Any, *others: Any) -> Any:
        return (*q.shape[:2], v.shape[2]), q.dtype

    def statistics(q: Any, *others: Any) -> Any:
        return q.shape[:2], wide(q)

    return Function(
        attend, outputs={"out": attended, "lse": statistics}, tiles={"out": cut, "lse": row},
        constants={"KEYS": keys, "DEPTH": depth, "HOW": how},
        backward=cast("Any", backward),
    )  # fmt: skip


@float_operation
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: int | None = None,
    sinks: Any = None,
    dropout_p: float = 0.0,
    seed: Any = None,
) -> Any:
    """Compute softmax(query @ key.T * scale) @ value for each head.

    Arrays are (..., heads, tokens, depth); keys may have another number of tokens, and with
    `enable_gqa` fewer heads, of which each serves a group of adjacent query heads; values may have
    another depth. `scale` is 1 / sqrt(depth) unless it is given. If `is_causal`, query i sees the
    keys 0 to i; with a window, it sees keys less than `window` positions away. `attn_mask`, which
    broadcasts to (..., heads, queries, keys), is True for keys that are seen, or is added to the
    scores. `sinks` has a logit for each head, which takes part in the softmax
    and has no value. A query that sees no key gives 0. With `dropout_p`, weights of values are set
    to 0 with this probability, and the others divided by 1 - dropout_p; the same seed drops the
    same ones.

    >>> x = np.ones((1, 3, 2), "f4")
    >>> ops.scaled_dot_product_attention(x, x, 2 * x, is_causal=True)[0, 0]
    array([2., 2.], dtype=float32)
    """
    shape, others = tuple(query.shape), tuple(key.shape)
    _refuse_shapes(shape, others, tuple(value.shape), enable_gqa)
    refuse_other_types("scaled_dot_product_attention", query, key=key, value=value)
    heads = shape[-3]
    if sinks is not None and tuple(sinks.shape) != (heads,):
        raise ValueError(f"`sinks` has a logit for each of {heads} heads, got {sinks.shape}")
    if window is not None and window < 1:
        raise ValueError(f"`window` is 1 or more keys, got {window}")
    group = int(heads // others[-3]) if others[-3] else 1
    tokens, depth = shape[-2:]
    mask, repeated = _mask_of(attn_mask, (*shape[:-1], others[-2]))
    chance = chance_of("scaled_dot_product_attention", dropout_p, seed)
    dropout = None if not chance.p else "number" if chance.seeds is None else "array"
    how = Mask(is_causal, window, group, sinks is not None, repeated, dropout)
    width = value.shape[-1]
    function = _attention(
        _tile(tokens, QUERIES), _tile(others[-2], KEYS), *map(next_power_of_2, (depth, width)), how
    )
    q = reshaped(query, (math.prod(shape[:-2]), tokens, depth))
    k, v = (reshaped(x, (math.prod(others[:-2]), *x.shape[-2:])) for x in (key, value))
    factor = max(depth, 1) ** -0.5 if scale is None else float(scale)
    sunk = q if sinks is None else sinks
    other = q if mask is None else mask
    seeds = q if chance.seeds is None else chance.seeds
    found = first(function(q, k, v, sunk, other, factor, heads, seeds, chance.p, chance.seed))
    return reshaped(found, (*shape[:-1], width))


def _mask_of(mask: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[bool, ...] | None]:
    """Return a mask of scores as (batch, heads, queries, keys), and which axes it repeats."""
    if mask is None:
        return None, None
    given = tuple(mask.shape)
    extents = (*(1,) * (len(shape) - len(given)), *given)
    batch = extents[:-3]
    fits = len(extents) == len(shape) and batch in ((1,) * len(batch), shape[:-3])
    if not fits or any(a not in (1, n) for a, n in zip(extents, shape, strict=True)):
        raise ValueError(
            f"`attn_mask` has the extents of the scores, {shape}, or 1 where all share it; got"
            f" {given}"
        )
    dtype = element_type(mask.dtype)
    if not (dtype.is_bool or dtype.is_float):
        raise TypeError(f"`attn_mask` is of bools, or of floats that are added; got {dtype}")
    found = reshaped(mask, (math.prod(batch), *extents[-3:]))
    return found, tuple(n == 1 for n in found.shape)


def _refuse_shapes(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], grouped: bool
) -> None:
    fits = len(query) == len(key) >= 3 and key[:-1] == value[:-1]
    fits = fits and query[-1] == key[-1] and query[:-3] == key[:-3]
    if fits and query[-3] != key[-3]:
        fits = grouped and key[-3] > 0 and query[-3] % key[-3] == 0
    if not fits:
        raise ValueError(
            "`scaled_dot_product_attention` takes (..., heads, tokens, depth): queries and keys of"
            " one depth, as many keys as values, and as many heads (with enable_gqa, a divisor);"
            f" got {query}, {key} and {value}"
        )
