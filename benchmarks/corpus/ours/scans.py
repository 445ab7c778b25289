"""Scans and sorts."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

from ..case import Call, call


@tw.entry
def _cumsum_rows(out: tl.TensorMut, x: tl.Tensor) -> None:
    assert out.shape[1] >= x.shape[1]
    out.store(tl.cumsum(tl.load_tile_like(x, out).astype(f32), 1).astype(out.dtype))


def cumsum_rows(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """Partial sums along rows."""
    return [call(_cumsum_rows, out.partition_mut(tile), x)]


@tw.entry
def _cumsum_columns(out: tl.TensorMut, x: tl.Tensor, *, BM: tl.Const[int]) -> None:
    _, BN = out.shape
    assert out.shape[0] >= x.shape[0]
    j = tl.block_id(1)
    xs, outs = x.partition((BM, BN)), out.partition_mut((BM, BN))
    before = tl.zeros((1, BN), f32)
    for i in range(xs.num_tiles(0)):
        tile = xs.load((i, j)).astype(f32)
        outs.store((tl.cumsum(tile, 0) + before).astype(out.dtype), (i, 0))
        before = before + tl.reduce_sum(tile, 0, keepdims=True)


def cumsum_columns(out: Any, x: Any, *, columns: int, step: int) -> list[Call]:
    """Partial sums along columns."""
    return [call(_cumsum_columns, out.partition_mut((tw.FULL, columns)), x, BM=step)]


@tw.entry
def _recurrence(out: tl.TensorMut, a: tl.Tensor, x: tl.Tensor) -> None:
    _, BN = out.shape
    assert out.shape[0] >= x.shape[0]
    j = tl.block_id(1)
    decays, xs = a.partition((1, BN)), x.partition((1, BN))
    outs = out.partition_mut((1, BN))
    state = tl.zeros((1, BN), f32)
    for t in range(xs.num_tiles(0)):
        state = decays.load((t, j)).astype(f32) * state + xs.load((t, j)).astype(f32)
        outs.store(state.astype(out.dtype), (t, 0))


def recurrence(out: Any, a: Any, x: Any, *, columns: int) -> list[Call]:
    """h[t] = a[t] * h[t - 1] + x[t], for each column."""
    return [call(_recurrence, out.partition_mut((tw.FULL, columns)), a, x)]


@tw.entry
def _sort_rows(out: tl.TensorMut, x: tl.Tensor) -> None:
    assert out.shape[1] >= x.shape[1]
    out.store(tl.sort(tl.load_tile_like(x, out, padding=tl.pos_inf), 1))


def sort_rows(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """Sort each row."""
    return [call(_sort_rows, out.partition_mut(tile), x)]


@tw.entry
def _topk_gate(
    weights: tl.TensorMut[f32], experts: tl.TensorMut[i32], x: tl.Tensor, *, BN: tl.Const[int]
) -> None:
    BM, K = weights.shape
    assert x.shape[1] <= BN
    tile = x.load_tile((BM, BN), [tl.block_id(0), 0], padding=tl.neg_inf).astype(f32)
    top, where = tl.topk(tile, K, 1)
    weights.store(tl.softmax(top, 1))
    experts.store(where)


def topk_gate(weights: Any, experts: Any, x: Any, *, rows: int) -> list[Call]:
    """The best experts of each token, and their weights."""
    tile = (rows, weights.shape[1])
    outs = weights.partition_mut(tile), experts.partition_mut(tile)
    return [call(_topk_gate, *outs, x, BN=tw.next_power_of_2(x.shape[1]))]
