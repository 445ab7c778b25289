"""Attention of many queries, and of few."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

from ..case import Call, call

MASKED = -1e30
"""The score of a key that does not count: finite, so that differences are numbers."""


def _online(
    score: tl.Tile[f32], value: tl.Tile, peak: tl.Tile[f32], total: tl.Tile[f32],
    acc: tl.Tile[f32],
) -> tuple[tl.Tile[f32], tl.Tile[f32], tl.Tile[f32]]:  # fmt: skip
    higher = tl.maximum(peak, tl.reduce_max(score, 1, keepdims=True))
    p = tl.exp(score - higher)
    fade = tl.exp(peak - higher)
    total = total * fade + tl.reduce_sum(p, 1, keepdims=True)
    return higher, total, tl.mma(p.astype(value.dtype), value, acc * fade)


@tw.entry
def _prefill(
    out: tl.TensorMut, q: tl.Tensor, k: tl.Tensor, v: tl.Tensor, scale: f32, *, BN: tl.Const[int]
) -> None:
    _, BM, D = out.shape
    head, _, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    ks, vs = k.partition((1, BN, D)), v.partition((1, BN, D))
    peak, total = tl.full((BM, 1), MASKED, f32), tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    for j in range(ks.num_tiles(1)):
        key = ks.load((head, j, 0)).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32)) * scale
        columns = (tl.arange(BN) + j * BN)[None, :]
        score = tl.where(columns < k.shape[1], score, MASKED)
        value = vs.load((head, j, 0)).reshape(BN, D)
        peak, total, acc = _online(score, value, peak, total, acc)
    out.store((acc / total).astype(out.dtype).reshape(1, BM, D))


def attention_prefill(
    out: Any, q: Any, k: Any, v: Any, scale: float, *, queries: int, keys: int
) -> list[Call]:
    """All queries see all keys."""
    tile = (1, queries, tw.FULL)
    return [call(_prefill, out.partition_mut(tile), q, k, v, scale, BN=keys)]


@tw.entry
def _causal(
    out: tl.TensorMut, q: tl.Tensor, k: tl.Tensor, v: tl.Tensor, scale: f32,
    *, BN: tl.Const[int], GROUP: tl.Const[int], WINDOW: tl.Const[int],
) -> None:  # fmt: skip
    _, BM, D = out.shape
    head, i, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    ks, vs = k.partition((1, BN, D)), v.partition((1, BN, D))
    rows = (tl.arange(BM) + i * BM)[:, None]
    peak, total = tl.full((BM, 1), MASKED, f32), tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    first = 0
    if WINDOW > 0:
        first = max(0, (i * BM - WINDOW + 1) // BN)
    for j in range(first, min(ks.num_tiles(1), tl.ceil_div((i + 1) * BM, BN))):
        key = ks.load((head // GROUP, j, 0)).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32)) * scale
        columns = (tl.arange(BN) + j * BN)[None, :]
        seen = columns <= rows
        if WINDOW > 0:
            seen = seen & (columns > rows - WINDOW)
        value = vs.load((head // GROUP, j, 0)).reshape(BN, D)
        peak, total, acc = _online(tl.where(seen, score, MASKED), value, peak, total, acc)
    out.store((acc / total).astype(out.dtype).reshape(1, BM, D))


def attention_causal(
    out: Any, q: Any, k: Any, v: Any, scale: float, *, queries: int, keys: int
) -> list[Call]:
    """Queries see keys up to their own; some heads share keys."""
    group = q.shape[0] // k.shape[0]
    args = out.partition_mut((1, queries, tw.FULL)), q, k, v, scale
    return [call(_causal, *args, BN=keys, GROUP=group, WINDOW=0)]


def attention_window(
    out: Any, q: Any, k: Any, v: Any, scale: float, window: int, *, queries: int, keys: int
) -> list[Call]:
    """Queries see the last keys up to their own."""
    group = q.shape[0] // k.shape[0]
    args = out.partition_mut((1, queries, tw.FULL)), q, k, v, scale
    return [call(_causal, *args, BN=keys, GROUP=group, WINDOW=window)]


@tw.entry
def _sinks(
    out: tl.TensorMut, q: tl.Tensor, k: tl.Tensor, v: tl.Tensor, sinks: tl.Tensor[f32], scale: f32,
    *, BN: tl.Const[int], GROUP: tl.Const[int],
) -> None:  # fmt: skip
    _, BM, D = out.shape
    head, i, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    ks, vs = k.partition((1, BN, D)), v.partition((1, BN, D))
    rows = (tl.arange(BM) + i * BM)[:, None]
    # The sink is a key whose value is 0.
    peak = tl.full((BM, 1), sinks.load_tile((1,), [head]).item(), f32)
    total, acc = tl.ones((BM, 1), f32), tl.zeros((BM, D), f32)
    for j in range(min(ks.num_tiles(1), tl.ceil_div((i + 1) * BM, BN))):
        key = ks.load((head // GROUP, j, 0)).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32)) * scale
        seen = (tl.arange(BN) + j * BN)[None, :] <= rows
        value = vs.load((head // GROUP, j, 0)).reshape(BN, D)
        peak, total, acc = _online(tl.where(seen, score, MASKED), value, peak, total, acc)
    out.store((acc / total).astype(out.dtype).reshape(1, BM, D))


def attention_sinks(
    out: Any, q: Any, k: Any, v: Any, sinks: Any, scale: float, *, queries: int, keys: int
) -> list[Call]:
    """Causal, with a learned score per head that takes weight away."""
    group = q.shape[0] // k.shape[0]
    args = out.partition_mut((1, queries, tw.FULL)), q, k, v, sinks, scale
    return [call(_sinks, *args, BN=keys, GROUP=group)]


def attention_decode(out: Any, q: Any, k: Any, v: Any, scale: float, *, keys: int) -> list[Call]:
    """A few queries, which are the heads that share keys, see all keys."""
    return [call(_prefill, out.partition_mut((1, 16, tw.FULL)), q, k, v, scale, BN=keys)]


@tw.entry
def _paged(
    out: tl.TensorMut, q: tl.Tensor, k: tl.Tensor, v: tl.Tensor, table: tl.Tensor[i32],
    lengths: tl.Tensor[i32], scale: f32, *, PAGE: tl.Const[int],
) -> None:  # fmt: skip
    _, _, BM, D = out.shape
    b, head, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    ks, vs = k.partition((1, 1, PAGE, D)), v.partition((1, 1, PAGE, D))
    length = lengths.load_tile((1,), [b]).item()
    peak, total = tl.full((BM, 1), MASKED, f32), tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    for j in range(tl.ceil_div(length, PAGE)):
        page = table.load_tile((1, 1), [b, j]).item()
        key = ks.load((page, head, 0, 0)).reshape(PAGE, D)
        score = tl.mma(query, key.T, tl.zeros((BM, PAGE), f32)) * scale
        columns = (tl.arange(PAGE) + j * PAGE)[None, :]
        score = tl.where(columns < length, score, MASKED)
        value = vs.load((page, head, 0, 0)).reshape(PAGE, D)
        peak, total, acc = _online(score, value, peak, total, acc)
    out.store((acc / total).astype(out.dtype).reshape(1, 1, BM, D))


def attention_paged(
    out: Any, q: Any, k: Any, v: Any, table: Any, lengths: Any, scale: float, *, queries: int
) -> list[Call]:
    """Decoding from a cache in pages that a table lists."""
    args = out.partition_mut((1, 1, queries, tw.FULL)), q, k, v, table, lengths, scale
    return [call(_paged, *args, PAGE=k.shape[2])]
