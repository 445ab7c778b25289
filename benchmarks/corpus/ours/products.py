"""Matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

from ..case import Call, call


@tw.entry
def _bias_gelu(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, bias: tl.Tensor, *, BK: tl.Const[int]
) -> None:
    assert x.shape[1] == w.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((BM, BK)), w.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ws.load((k, j)), acc)
    acc = acc + bias.load_tile((BN,), [j]).astype(f32)[None, :]
    z.store(tl.gelu(acc, "tanh").astype(z.dtype))


def gemm_bias_gelu(z: Any, x: Any, w: Any, bias: Any, *, tile: Any, step: int) -> list[Call]:
    """gelu(x @ w + bias)."""
    return [call(_bias_gelu, z.partition_mut(tile), x, w, bias, BK=step)]


@tw.entry
def _linear_residual(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, residual: tl.Tensor, alpha: f32,
    *, BK: tl.Const[int],
) -> None:  # fmt: skip
    assert x.shape[1] == w.shape[1]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((BM, BK)), w.partition((BN, BK))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ws.load((j, k)).T, acc)
    acc = alpha * acc + tl.load_tile_like(residual, z).astype(f32)
    z.store(acc.astype(z.dtype))


def gemm_residual(
    z: Any, x: Any, w: Any, residual: Any, alpha: float, *, tile: Any, step: int
) -> list[Call]:
    """alpha * x @ w.T + residual."""
    return [call(_linear_residual, z.partition_mut(tile), x, w, residual, alpha, BK=step)]


@tw.entry
def _weight_gradient(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int]) -> None:
    assert x.shape[0] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BK, BM)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(0)):
        acc = tl.mma(xs.load((k, i)).T, ys.load((k, j)), acc)
    z.store(acc.astype(z.dtype))


def gemm_weight_gradient(z: Any, x: Any, y: Any, *, tile: Any, step: int) -> list[Call]:
    """x.T @ y."""
    return [call(_weight_gradient, z.partition_mut(tile), x, y, BK=step)]


@tw.entry
def _gated(
    z: tl.TensorMut, x: tl.Tensor, gate: tl.Tensor, up: tl.Tensor, *, BK: tl.Const[int]
) -> None:
    assert x.shape[1] == gate.shape[0]
    assert gate.shape == up.shape
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, gates, ups = x.partition((BM, BK)), gate.partition((BK, BN)), up.partition((BK, BN))
    g, u = tl.zeros((BM, BN), f32), tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        tile = xs.load((i, k))
        g = tl.mma(tile, gates.load((k, j)), g)
        u = tl.mma(tile, ups.load((k, j)), u)
    z.store((tl.silu(g) * u).astype(z.dtype))


def gemm_swiglu(z: Any, x: Any, gate: Any, up: Any, *, tile: Any, step: int) -> list[Call]:
    """silu(x @ gate) * (x @ up)."""
    return [call(_gated, z.partition_mut(tile), x, gate, up, BK=step)]


@tw.entry
def _batched(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int]) -> None:
    assert x.shape[2] == y.shape[1]
    _, BM, BN = z.shape
    b, i, j = tl.get_tile_block_id()
    xs, ys = x.partition((1, BM, BK)), y.partition((1, BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(2)):
        left = xs.load((b, i, k)).reshape(BM, BK)
        acc = tl.mma(left, ys.load((b, k, j)).reshape(BK, BN), acc)
    z.store(acc.astype(z.dtype).reshape(1, BM, BN))


def gemm_batched(z: Any, x: Any, y: Any, *, tile: Any, step: int) -> list[Call]:
    """Many small products."""
    return [call(_batched, z.partition_mut((1, *tile)), x, y, BK=step)]


@tw.entry
def _grouped(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, experts: tl.Tensor[i32], *, BK: tl.Const[int],
    ROWS: tl.Const[int],
) -> None:  # fmt: skip
    assert x.shape[1] == w.shape[1]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    expert = experts.load_tile((1,), [i * BM // ROWS]).item()
    xs, ws = x.partition((BM, BK)), w.partition((1, BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ws.load((expert, k, j)).reshape(BK, BN), acc)
    z.store(acc.astype(z.dtype))


def gemm_grouped(z: Any, x: Any, w: Any, experts: Any, *, tile: Any, step: int) -> list[Call]:
    """Rows sorted by expert, times the matrix of their expert; 128 rows have one."""
    return [call(_grouped, z.partition_mut(tile), x, w, experts, BK=step, ROWS=128)]


@tw.entry
def _split(parts: tl.TensorMut[f32], x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int]) -> None:
    assert x.shape[1] == y.shape[0]
    _, BM, BN = parts.shape
    s, i, j = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    steps, splits = xs.num_tiles(1), tl.num_blocks(0)
    acc = tl.zeros((BM, BN), f32)
    for k in range(s * steps // splits, (s + 1) * steps // splits):
        acc = tl.mma(xs.load((i, k)), ys.load((k, j)), acc)
    parts.store(acc.reshape(1, BM, BN))


@tw.entry
def _sum_of_splits(z: tl.TensorMut, parts: tl.Tensor[f32]) -> None:
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    tiles = parts.partition((1, BM, BN))
    acc = tl.zeros((BM, BN), f32)
    for s in range(tiles.num_tiles(0)):
        acc = acc + tiles.load((s, i, j)).reshape(BM, BN)
    z.store(acc.astype(z.dtype))


def gemm_split_k(z: Any, parts: Any, x: Any, y: Any, *, tile: Any, step: int) -> Iterator[Call]:
    """A product with a long inner axis, in parts."""
    yield call(_split, parts.partition_mut((1, *tile)), x, y, BK=step)
    yield call(_sum_of_splits, z.partition_mut((16, 64)), parts)


@tw.entry
def _gathered(
    z: tl.TensorMut, x: tl.Tensor, rows: tl.Tensor[i32], w: tl.Tensor, *, BK: tl.Const[int]
) -> None:
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    numbers = rows.load_tile((BM,), [i])
    view = tl.make_gather_scatter_view(x, (BM, BK), 0, padding=0)
    ws = w.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(ws.num_tiles(0)):
        acc = tl.mma(view.load([numbers, k * BK]), ws.load((k, j)), acc)
    z.store(acc.astype(z.dtype))


def gemm_gathered(z: Any, x: Any, rows: Any, w: Any, *, tile: Any, step: int) -> list[Call]:
    """x[rows] @ w."""
    return [call(_gathered, z.partition_mut(tile), x, rows, w, BK=step)]
