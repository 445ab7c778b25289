"""Reductions along each axis, and of everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

from ..case import Call, call


@tw.entry
def _sum_rows(out: tl.TensorMut[f32], x: tl.Tensor, *, BN: tl.Const[int]) -> None:
    (BM,) = out.shape
    i = tl.block_id(0)
    xs = x.partition((BM, BN))
    total = tl.zeros((BM,), f32)
    for j in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load((i, j)).astype(f32), 1)
    out.store(total)


def sum_rows(out: Any, x: Any, *, rows: int, step: int) -> list[Call]:
    """The sum of each row."""
    return [call(_sum_rows, out.partition_mut((rows,)), x, BN=step)]


@tw.entry
def _column_moments(
    mean: tl.TensorMut[f32], variance: tl.TensorMut[f32], x: tl.Tensor, *, BM: tl.Const[int]
) -> None:
    (BN,) = mean.shape
    j = tl.block_id(0)
    xs = x.partition((BM, BN))
    total, squares = tl.zeros((BN,), f32), tl.zeros((BN,), f32)
    for i in range(xs.num_tiles(0)):
        tile = xs.load((i, j)).astype(f32)
        total = total + tl.reduce_sum(tile, 0)
        squares = squares + tl.reduce_sum(tile * tile, 0)
    average = total / float(x.shape[0])
    mean.store(average)
    variance.store(squares / float(x.shape[0]) - average * average)


def column_moments(mean: Any, variance: Any, x: Any, *, columns: int, step: int) -> list[Call]:
    """Mean and variance of each column, as a batch norm needs them."""
    outs = mean.partition_mut((columns,)), variance.partition_mut((columns,))
    return [call(_column_moments, *outs, x, BM=step)]


@tw.entry
def _sum_middle(out: tl.TensorMut[f32], x: tl.Tensor, *, BM: tl.Const[int]) -> None:
    _, BN = out.shape
    b, j, _ = tl.get_tile_block_id()
    xs = x.partition((1, BM, BN))
    total = tl.zeros((1, BN), f32)
    for i in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load((b, i, j)).astype(f32), 1)
    out.store(total)


def sum_middle(out: Any, x: Any, *, columns: int, step: int) -> list[Call]:
    """Sums along the middle axis of three."""
    return [call(_sum_middle, out.partition_mut((1, columns)), x, BM=step)]


@tw.entry
def _sum_some(part: tl.TensorMut[f32], x: tl.Tensor, *, BN: tl.Const[int]) -> None:
    block, blocks = tl.block_id(0), tl.num_blocks(0)
    xs = x.partition((BN,))
    total = tl.zeros((BN,), f32)
    for i in range(block, xs.num_tiles(0), blocks):
        total = total + xs.load((i,)).astype(f32)
    part.store(tl.reduce_sum(total, 0, keepdims=True))


@tw.entry
def _sum_parts(out: tl.TensorMut[f32], part: tl.Tensor[f32], *, N: tl.Const[int]) -> None:
    assert part.shape[0] <= N
    out.store(tl.reduce_sum(part.load_tile((N,), [0]), 0, keepdims=True))


def sum_all(out: Any, part: Any, x: Any, *, step: int) -> Iterator[Call]:
    """The sum of everything, in two launches."""
    yield call(_sum_some, part.partition_mut((1,)), x, BN=step)
    size = tw.next_power_of_2(part.shape[0])
    yield call(_sum_parts, out.partition_mut((1,)), part, N=size)


@tw.entry
def _argmax_rows(out: tl.TensorMut[i32], x: tl.Tensor, *, BN: tl.Const[int]) -> None:
    (BM,) = out.shape
    i = tl.block_id(0)
    xs = x.partition((BM, BN), padding=tl.neg_inf)
    best, where = tl.full((BM,), tl.neg_inf, f32), tl.zeros((BM,), i32)
    for j in range(xs.num_tiles(1)):
        tile = xs.load((i, j)).astype(f32)
        top = tl.reduce_max(tile, 1)
        better = top > best
        where = tl.where(better, tl.argmax(tile, 1) + j * BN, where)
        best = tl.maximum(best, top)
    out.store(where)


def argmax_rows(out: Any, x: Any, *, rows: int, step: int) -> list[Call]:
    """Where the largest element of each row is."""
    return [call(_argmax_rows, out.partition_mut((rows,)), x, BN=step)]
