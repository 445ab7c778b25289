"""Kernels of the examples with several processes: products, activations, norms, updates."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import Tensor, f32

TILE = (32, 32)


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 32,
) -> None:
    """z = x @ y, tile by tile."""
    assert x.shape[1] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


@tw.entry
def relu(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Negative numbers become 0."""
    out.store(tl.maximum(tl.load_tile_like(x, out), 0.0))


@tw.entry
def relu_gradient(out: tl.TensorMut[f32], x: tl.Tensor[f32], gradient: tl.Tensor[f32]) -> None:
    """The gradient passes where x is positive."""
    passes = tl.load_tile_like(x, out) > 0.0
    out.store(tl.where(passes, tl.load_tile_like(gradient, out), 0.0))


@tw.entry
def combined(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], a: f32, b: f32) -> None:
    """a * x + b * y, element by element: differences, updates and residual connections."""
    out.store(a * tl.load_tile_like(x, out) + b * tl.load_tile_like(y, out))


@tw.entry
def softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32], scale: f32) -> None:
    """Softmax of each row of scale * x; a block has whole rows."""
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf) * scale
    shifted = tl.exp(tile - tl.reduce_max(tile, 1)[:, None])
    out.store(shifted / tl.reduce_sum(shifted, 1)[:, None])


@tw.entry
def rms_norm(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """Each row divided by its root mean square; a block has whole rows."""
    tile = tl.load_tile_like(x, out)
    mean_square = tl.reduce_sum(tile * tile, 1) / float(x.shape[1])
    out.store(tile * tl.rsqrt(mean_square + 1e-6)[:, None])


def product(x: Tensor[Any], y: Tensor[Any]) -> Tensor[f32]:
    """Start x @ y; the result is in flight."""
    return gemm(tw.empty((x.shape[0], y.shape[1])).partition(TILE), x, y).out().start()


def sum_of(x: Tensor[Any], y: Tensor[Any], a: float = 1.0, b: float = 1.0) -> Tensor[f32]:
    """Start a * x + b * y."""
    return combined(tw.empty(x.shape).partition(TILE), x, y, a, b).out().start()


def by_rows(kernel: Any, x: Tensor[Any], *numbers: float) -> Tensor[f32]:
    """Start a kernel whose blocks have whole rows."""
    out = tw.empty(x.shape).partition((16, tw.FULL))
    result: Tensor[f32] = kernel(out, x, *numbers).out().start()
    return result
