"""Norms and softmax, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i8, u64

from ..case import Call, call


@tw.entry
def _add_rms_norm(
    out: tl.TensorMut, total: tl.TensorMut, x: tl.Tensor, residual: tl.Tensor, weight: tl.Tensor,
    eps: f32,
) -> None:  # fmt: skip
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out).astype(f32) + tl.load_tile_like(residual, out).astype(f32)
    total.store(tile.astype(total.dtype))
    square = tl.reduce_sum(tile * tile, 1, keepdims=True) / float(x.shape[1])
    scale = weight.load_tile((out.shape[1],), [0]).astype(f32)
    out.store((tile * tl.rsqrt(square + eps) * scale[None, :]).astype(out.dtype))


def add_rms_norm(
    out: Any, total: Any, x: Any, residual: Any, weight: Any, eps: float, *, tile: Any
) -> list[Call]:
    """Add a residual, keep the sum, and normalize it."""
    outs = out.partition_mut(tile), total.partition_mut(tile)
    return [call(_add_rms_norm, *outs, x, residual, weight, eps)]


@tw.entry
def _layer_norm(
    out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor, eps: f32
) -> None:
    assert out.shape[1] >= x.shape[1]
    _, BN = out.shape
    n = float(x.shape[1])
    tile = tl.load_tile_like(x, out).astype(f32)
    mean = tl.reduce_sum(tile, 1, keepdims=True) / n
    centred = tl.where(tl.arange(BN)[None, :] < x.shape[1], tile - mean, 0.0)
    variance = tl.reduce_sum(centred * centred, 1, keepdims=True) / n
    scale = weight.load_tile((BN,), [0]).astype(f32)[None, :]
    shift = bias.load_tile((BN,), [0]).astype(f32)[None, :]
    out.store((centred * tl.rsqrt(variance + eps) * scale + shift).astype(out.dtype))


def layer_norm(out: Any, x: Any, weight: Any, bias: Any, eps: float, *, tile: Any) -> list[Call]:
    """Normalize rows."""
    return [call(_layer_norm, out.partition_mut(tile), x, weight, bias, eps)]


@tw.entry
def _layer_norm_dx(
    dx: tl.TensorMut, dy: tl.Tensor, x: tl.Tensor, weight: tl.Tensor, mean: tl.Tensor,
    rstd: tl.Tensor,
) -> None:  # fmt: skip
    assert dx.shape[1] >= x.shape[1]
    BM, BN = dx.shape
    i = tl.block_id(0)
    n = float(x.shape[1])
    m, r = mean.load_tile((BM, 1), [i, 0]), rstd.load_tile((BM, 1), [i, 0])
    w = weight.load_tile((BN,), [0]).astype(f32)[None, :]
    g = tl.load_tile_like(dy, dx).astype(f32) * w
    normal = (tl.load_tile_like(x, dx).astype(f32) - m) * r
    a = tl.reduce_sum(g * normal, 1, keepdims=True) / n
    b = tl.reduce_sum(g, 1, keepdims=True) / n
    dx.store(((g - normal * a - b) * r).astype(dx.dtype))


def layer_norm_dx(
    dx: Any, dy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, tile: Any
) -> list[Call]:
    """Gradient of the input of a layer norm."""
    return [call(_layer_norm_dx, dx.partition_mut(tile), dy, x, weight, mean, rstd)]


@tw.entry
def _layer_norm_parts(
    dw: tl.TensorMut[f32], db: tl.TensorMut[f32], dy: tl.Tensor, x: tl.Tensor, mean: tl.Tensor,
    rstd: tl.Tensor, *, ROWS: tl.Const[int], BM: tl.Const[int],
) -> None:  # fmt: skip
    _, BN = dw.shape
    part, j, _ = tl.get_tile_block_id()
    dys, xs = dy.partition((BM, BN)), x.partition((BM, BN))
    means, rstds = mean.partition((BM, 1)), rstd.partition((BM, 1))
    w, b = tl.zeros((BN,), f32), tl.zeros((BN,), f32)
    first = part * (ROWS // BM)
    for i in range(first, min(first + ROWS // BM, xs.num_tiles(0))):
        g = dys.load((i, j)).astype(f32)
        normal = (xs.load((i, j)).astype(f32) - means.load((i, 0))) * rstds.load((i, 0))
        w = w + tl.reduce_sum(g * normal, 0)
        b = b + tl.reduce_sum(g, 0)
    dw.store(w.reshape(1, BN))
    db.store(b.reshape(1, BN))


@tw.entry
def _sum_of_parts(
    dw: tl.TensorMut, db: tl.TensorMut, dws: tl.Tensor[f32], dbs: tl.Tensor[f32]
) -> None:
    (BN,) = dw.shape
    j = tl.block_id(0)
    w, b = tl.zeros((BN,), f32), tl.zeros((BN,), f32)
    some = dws.partition((16, BN))
    others = dbs.partition((16, BN))
    for i in range(some.num_tiles(0)):
        w = w + tl.reduce_sum(some.load((i, j)), 0)
        b = b + tl.reduce_sum(others.load((i, j)), 0)
    dw.store(w.astype(dw.dtype))
    db.store(b.astype(db.dtype))


def layer_norm_dw(
    dw: Any, db: Any, dws: Any, dbs: Any, dy: Any, x: Any, mean: Any, rstd: Any, *, tile: Any
) -> Iterator[Call]:
    """Gradients of weight and bias: sums of some rows each, then the sums of those."""
    rows = tw.next_power_of_2(tw.cdiv(x.shape[0], dws.shape[0]))
    parts = dws.partition_mut((1, tile[1])), dbs.partition_mut((1, tile[1]))
    yield call(_layer_norm_parts, *parts, dy, x, mean, rstd, ROWS=rows, BM=tile[0])
    yield call(_sum_of_parts, dw.partition_mut((64,)), db.partition_mut((64,)), dws, dbs)


@tw.entry
def _rms_norm_dx(
    dx: tl.TensorMut, dy: tl.Tensor, x: tl.Tensor, weight: tl.Tensor, rstd: tl.Tensor
) -> None:
    assert dx.shape[1] >= x.shape[1]
    BM, BN = dx.shape
    r = rstd.load_tile((BM, 1), [tl.block_id(0), 0])
    w = weight.load_tile((BN,), [0]).astype(f32)[None, :]
    g = tl.load_tile_like(dy, dx).astype(f32) * w
    normal = tl.load_tile_like(x, dx).astype(f32) * r
    a = tl.reduce_sum(g * normal, 1, keepdims=True) / float(x.shape[1])
    dx.store(((g - normal * a) * r).astype(dx.dtype))


def rms_norm_dx(dx: Any, dy: Any, x: Any, weight: Any, rstd: Any, *, tile: Any) -> list[Call]:
    """Gradient of the input of an RMS norm."""
    return [call(_rms_norm_dx, dx.partition_mut(tile), dy, x, weight, rstd)]


@tw.entry
def _group_norm(
    out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor, eps: f32,
    *, GROUPS: tl.Const[int],
) -> None:  # fmt: skip
    _, C, P = out.shape
    assert x.shape[2] <= P
    group = tl.block_id(0) % GROUPS
    n = float(x.shape[1] * x.shape[2])
    tile = tl.load_tile_like(x, out).astype(f32).reshape(C, P)
    mean = tl.reduce_sum(tl.reduce_sum(tile, 1), 0) / n
    centred = tl.where(tl.arange(P)[None, :] < x.shape[2], tile - mean, 0.0)
    variance = tl.reduce_sum(tl.reduce_sum(centred * centred, 1), 0) / n
    scale = weight.load_tile((1, C), [group, 0]).astype(f32).reshape(C, 1)
    shift = bias.load_tile((1, C), [group, 0]).astype(f32).reshape(C, 1)
    result = centred * tl.rsqrt(variance + eps) * scale + shift
    out.store(result.astype(out.dtype).reshape(1, C, P))


def group_norm(out: Any, x: Any, weight: Any, bias: Any, eps: float) -> list[Call]:
    """Normalize groups of channels of images."""
    groups = weight.shape[0]
    tile = (1, tw.FULL, tw.FULL)
    return [call(_group_norm, out.partition_mut(tile), x, weight, bias, eps, GROUPS=groups)]


@tw.entry
def _softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf).astype(f32)
    out.store(tl.softmax(tile, 1).astype(out.dtype))


def softmax_wide(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """Softmax of long rows."""
    return [call(_softmax, out.partition_mut(tile), x)]


@tw.entry
def _softmax_backward(dx: tl.TensorMut, dy: tl.Tensor, y: tl.Tensor) -> None:
    assert dx.shape[1] >= y.shape[1]
    p, d = tl.load_tile_like(y, dx).astype(f32), tl.load_tile_like(dy, dx).astype(f32)
    dx.store((p * (d - tl.reduce_sum(p * d, 1, keepdims=True))).astype(dx.dtype))


def softmax_backward(dx: Any, dy: Any, y: Any, *, tile: Any) -> list[Call]:
    """Gradient of a softmax."""
    return [call(_softmax_backward, dx.partition_mut(tile), dy, y)]


@tw.entry
def _rms_norm_int8(
    out: tl.TensorMut[i8], scales: tl.TensorMut[f32], x: tl.Tensor, weight: tl.Tensor, eps: f32
) -> None:
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out).astype(f32)
    square = tl.reduce_sum(tile * tile, 1, keepdims=True) / float(x.shape[1])
    w = weight.load_tile((out.shape[1],), [0]).astype(f32)[None, :]
    y = tile * tl.rsqrt(square + eps) * w
    scale = tl.reduce_max(tl.abs(y), 1, keepdims=True) / 127.0
    out.store(tl.round(y / scale).astype(i8))
    scales.store(scale)


def rms_norm_int8(
    out: Any, scales: Any, x: Any, weight: Any, eps: float, *, tile: Any
) -> list[Call]:
    """RMS norm, then 8-bit integers with one scale for each row."""
    outs = out.partition_mut(tile), scales.partition_mut((tile[0], 1))
    return [call(_rms_norm_int8, *outs, x, weight, eps)]


@tw.entry
def _dropout_layer_norm(
    out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor, seed: u64, p: f32
) -> None:
    assert out.shape[1] >= x.shape[1]
    BM, BN = out.shape
    n = float(x.shape[1])
    rows, columns = tl.arange(BM) + tl.block_id(0) * BM, tl.arange(BN)
    kept = tl.rand(seed, rows[:, None] * x.shape[1] + columns[None, :]) >= p
    tile = tl.where(kept, tl.load_tile_like(x, out).astype(f32) / (1.0 - p), 0.0)
    mean = tl.reduce_sum(tile, 1, keepdims=True) / n
    centred = tl.where(columns[None, :] < x.shape[1], tile - mean, 0.0)
    variance = tl.reduce_sum(centred * centred, 1, keepdims=True) / n
    scale = weight.load_tile((BN,), [0]).astype(f32)[None, :]
    shift = bias.load_tile((BN,), [0]).astype(f32)[None, :]
    out.store((centred * tl.rsqrt(variance + 1e-5) * scale + shift).astype(out.dtype))


def dropout_layer_norm(
    out: Any, x: Any, weight: Any, bias: Any, p: float, *, tile: Any
) -> list[Call]:
    """Dropout, then a layer norm."""
    return [call(_dropout_layer_norm, out.partition_mut(tile), x, weight, bias, 42, p)]
