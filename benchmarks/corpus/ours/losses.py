"""Losses over rows of classes."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

from ..case import Call, call


@tw.entry
def _cross_entropy(
    loss: tl.TensorMut[f32], lse: tl.TensorMut[f32], x: tl.Tensor, target: tl.Tensor[i32],
    *, BN: tl.Const[int],
) -> None:  # fmt: skip
    assert loss.shape[0] == 1
    i = tl.block_id(0)
    wanted = target.load_tile((1,), [i]).reshape(())
    right = x.load_at((i, wanted), (1, 1)).astype(f32)
    columns = x.partition((1, BN), padding=tl.neg_inf)
    peak, total = tl.full((1, 1), tl.neg_inf, f32), tl.zeros((1, 1), f32)
    for j in range(columns.num_tiles(1)):
        tile = columns.load((i, j)).astype(f32)
        higher = tl.maximum(peak, tl.reduce_max(tile, 1, keepdims=True))
        fade = tl.exp(peak - higher)
        total = total * fade + tl.reduce_sum(tl.exp(tile - higher), 1, keepdims=True)
        peak = higher
    result = peak + tl.log(total)
    lse.store(result.reshape(1))
    loss.store((result - right).reshape(1))


def cross_entropy(loss: Any, lse: Any, x: Any, target: Any, *, step: int) -> list[Call]:
    """The loss of each row, in one pass; as in Triton, what is right is loaded by itself."""
    outs = loss.partition_mut((1,)), lse.partition_mut((1,))
    return [call(_cross_entropy, *outs, x, target, BN=step)]


@tw.entry
def _cross_entropy_backward(
    dx: tl.TensorMut, x: tl.Tensor, target: tl.Tensor[i32], lse: tl.Tensor[f32], scale: f32
) -> None:
    BM, BN = dx.shape
    i, j, _ = tl.get_tile_block_id()
    wanted = target.load_tile((BM,), [i])[:, None]
    sums = lse.load_tile((BM,), [i])[:, None]
    p = tl.exp(tl.load_tile_like(x, dx).astype(f32) - sums)
    here = (tl.arange(BN) + j * BN)[None, :] == wanted
    dx.store(((p - tl.where(here, 1.0, 0.0)) * scale).astype(dx.dtype))


def cross_entropy_backward(
    dx: Any, x: Any, target: Any, lse: Any, scale: float, *, tile: Any
) -> list[Call]:
    """The gradient of the logits."""
    return [call(_cross_entropy_backward, dx.partition_mut(tile), x, target, lse, scale)]


@tw.entry
def _kl_div(loss: tl.TensorMut[f32], x: tl.Tensor, target: tl.Tensor, *, BN: tl.Const[int]) -> None:
    (BM,) = loss.shape
    i = tl.block_id(0)
    xs, ys = x.partition((BM, BN)), target.partition((BM, BN))
    total = tl.zeros((BM,), f32)
    for j in range(xs.num_tiles(1)):
        log_p, log_q = xs.load((i, j)).astype(f32), ys.load((i, j)).astype(f32)
        total = total + tl.reduce_sum(tl.exp(log_q) * (log_q - log_p), 1)
    loss.store(total)


def kl_divergence(loss: Any, x: Any, target: Any, *, rows: int, step: int) -> list[Call]:
    """The divergence of each row, from logarithms."""
    assert x.shape == target.shape
    return [call(_kl_div, loss.partition_mut((rows,)), x, target, BN=step)]


@tw.entry
def _log_softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf).astype(f32)
    out.store((tile - tl.logsumexp(tile, 1, keepdims=True)).astype(out.dtype))


def log_softmax(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """Logarithms of a softmax of rows."""
    return [call(_log_softmax, out.partition_mut(tile), x)]
