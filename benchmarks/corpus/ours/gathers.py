"""Gathers, scatter-adds and histograms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt

from ..case import Call, Fill, call


@tw.entry
def _embedding(out: tl.TensorMut, table: tl.Tensor, rows: tl.Tensor[i32]) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(table, (BM, BN), 0)
    out.store(view.load([rows.load_tile((BM,), [i]), j * BN]))


def embedding(out: Any, table: Any, rows: Any, *, tile: Any) -> list[Call]:
    """Rows of a table."""
    return [call(_embedding, out.partition_mut(tile), table, rows)]


@tw.entry
def _embedding_backward(
    grad: tl.Accumulator[f32, tl.Dyn, tl.Dyn], dy: tl.Tensor, rows: tl.Tensor[i32],
    *, BM: tl.Const[int], BN: tl.Const[int],
) -> None:  # fmt: skip
    i, j, _ = tl.get_tile_block_id()
    where = rows.load_tile((BM,), [i], padding=-1)
    grad.add(dy.load_tile((BM, BN), [i, j]).astype(f32), (where, j * BN), clip=True)


def embedding_backward(grad: Any, dy: Any, rows: Any, *, tile: Any) -> Iterator[Call | Fill]:
    """Add rows of gradients to the rows of a table."""
    yield Fill(grad, 0.0)
    blocks = tw.cdiv(dy.shape[0], tile[0]), tw.cdiv(dy.shape[1], tile[1])
    constants = {"BM": tile[0], "BN": tile[1]}
    yield Call(_embedding_backward, (grad.borrow_mut(), dy, rows), constants, blocks)


@tw.entry
def _combine(
    out: tl.TensorMut, x: tl.Tensor, rows: tl.Tensor[i32], weights: tl.Tensor[f32],
    *, K: tl.Const[int],
) -> None:  # fmt: skip
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(x, (BM, BN), 0)
    total = tl.zeros((BM, BN), f32)
    for k in tl.static_range(K):
        number = rows.load_tile((BM, 1), [i, k]).reshape(BM)
        weight = weights.load_tile((BM, 1), [i, k])
        total = total + weight * view.load([number, j * BN]).astype(f32)
    out.store(total.astype(out.dtype))


def combine_experts(out: Any, x: Any, rows: Any, weights: Any, *, tile: Any) -> list[Call]:
    """The weighted sum of the rows that experts made for each token."""
    return [call(_combine, out.partition_mut(tile), x, rows, weights, K=rows.shape[1])]


BINS = 256


@simt.kernel(block=BINS)
def _histogram(counts: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    t = simt.thread_idx()
    with tw.unsafe():
        bins = simt.shared(i32, BINS)
        bins[t] = 0
        simt.sync_threads()
        for i in range(simt.index_1d(), len(x), simt.grid_dim() * BINS):
            tl.atomic_add(bins.at(x[i] & (BINS - 1)), 1, ordering="relaxed", scope="tile_block")
        simt.sync_threads()
        tl.atomic_add(counts.elements.at(t), bins[t], ordering="relaxed")


def histogram(counts: Any, x: Any, *, blocks: int) -> Iterator[Call | Fill]:
    """How often each number occurs: each block counts in its own memory, as in the example."""
    yield Fill(counts, 0)
    yield Call(_histogram, (counts.borrow_mut(), x), threads=blocks)


@tw.entry
def _take_columns(out: tl.TensorMut, x: tl.Tensor, columns: tl.Tensor[i32]) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(x, (BM, BN), 1)
    out.store(view.load([i * BM, columns.load_tile((BN,), [j])]))


def take_columns(out: Any, x: Any, columns: Any, *, tile: Any) -> list[Call]:
    """Columns of a matrix by their numbers."""
    return [call(_take_columns, out.partition_mut(tile), x, columns)]
