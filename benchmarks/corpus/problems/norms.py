"""Norms and softmax, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilewright as tw

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch, wider

SHAPES = [(16384, 2048), (16384, 4096), (8000, 5120)]
WIDE = [(4096, 16384), (2048, 32768), (1024, 50257)]
FLOATS = ["bfloat16", "float32"]
SMALL = (37, 200)
EPS = 1e-5
TILES = settings(tile=[(1, tw.FULL), (2, tw.FULL), (4, tw.FULL)])
WARPS = settings(num_warps=(2, 4, 8, 16))
ROWS_OF_A_PART = 64


def _make_add_rms_norm(shape: Shape, kind: str, device: str) -> Data:
    x, residual = (normal(device, kind, *shape) for _ in range(2))
    outs = empty(device, kind, *shape), empty(device, kind, *shape)
    given = x, residual, normal(device, kind, shape[1]), EPS
    return Data(given, outs, ours=TILES, triton=WARPS)


def _add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float) -> Any:
    total = x + residual
    return torch.nn.functional.rms_norm(total, (x.shape[1],), weight, eps), total


def _make_layer_norm(shape: Shape, kind: str, device: str) -> Data:
    x, (weight, bias) = normal(device, kind, *shape), _two(shape, kind, device)
    return Data((x, weight, bias, EPS), (empty(device, kind, *shape),), ours=TILES, triton=WARPS)


def _two(shape: Shape, kind: str, device: str) -> tuple[Tensor, Tensor]:
    return normal(device, kind, shape[1]), normal(device, kind, shape[1])


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, eps)


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    wide = x.float()
    mean = wide.mean(1, keepdim=True)
    return mean, (wide.var(1, keepdim=True, unbiased=False) + EPS).rsqrt()


def _make_layer_norm_dx(shape: Shape, kind: str, device: str) -> Data:
    dy, x = (normal(device, kind, *shape) for _ in range(2))
    given = dy, x, normal(device, kind, shape[1]), *_statistics(x)
    return Data(given, (empty(device, kind, *shape),), ours=TILES, triton=WARPS)


def _layer_norm_dx(dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> Tensor:
    g = dy.to(mean.dtype) * weight.to(mean.dtype)
    n = (x.to(mean.dtype) - mean) * rstd
    means = (g * n).mean(1, keepdim=True), g.mean(1, keepdim=True)
    return ((g - n * means[0] - means[1]) * rstd).to(x.dtype)


def _make_layer_norm_dw(shape: Shape, kind: str, device: str) -> Data:
    dy, x = (normal(device, kind, *shape) for _ in range(2))
    parts = -(-shape[0] // ROWS_OF_A_PART)
    outs = empty(device, kind, shape[1]), empty(device, kind, shape[1])
    scratch = tuple(empty(device, "float32", parts, shape[1]) for _ in range(2))
    return Data(
        (dy, x, *_statistics(x)), outs, scratch,
        ours=settings(tile=[(4, 256), (8, 256), (16, 128)]),
        triton=settings(BM=(4, 8, 16, 16, 32), BN=(256, 256, 128, 256, 128), num_warps=(4,) * 5),
    )  # fmt: skip


def _layer_norm_dw(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    g, n = dy.to(mean.dtype), (x.to(mean.dtype) - mean) * rstd
    return (g * n).sum(0).to(x.dtype), g.sum(0).to(x.dtype)


def _make_rms_norm_dx(shape: Shape, kind: str, device: str) -> Data:
    dy, x = (normal(device, kind, *shape) for _ in range(2))
    rstd = ((x.float() ** 2).mean(1, keepdim=True) + EPS).rsqrt()
    given = dy, x, normal(device, kind, shape[1]), rstd
    return Data(given, (empty(device, kind, *shape),), ours=TILES, triton=WARPS)


def _rms_norm_dx(dy: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> Tensor:
    g, n = dy.to(rstd.dtype) * weight.to(rstd.dtype), x.to(rstd.dtype) * rstd
    return ((g - n * (g * n).mean(1, keepdim=True)) * rstd).to(x.dtype)


def _make_group_norm(shape: Shape, kind: str, device: str) -> Data:
    images, groups, each, pixels = shape
    x = normal(device, kind, images * groups, each, pixels)
    given = x, *(normal(device, kind, groups, each) for _ in range(2)), EPS
    return Data(given, (empty(device, kind, *x.shape),), triton=WARPS)


def _group_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    groups, each = weight.shape
    images = x.reshape(-1, groups * each, x.shape[2])
    norm = torch.nn.functional.group_norm
    return norm(images, groups, weight.reshape(-1), bias.reshape(-1), eps).reshape(x.shape)


def _make_softmax(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape, scale=3.0)
    return Data(
        (x,), (empty(device, kind, *shape),), ours=settings(tile=[(1, tw.FULL)]),
        triton=settings(num_warps=(4, 8, 16, 32)),
    )  # fmt: skip


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, 1)


def _make_softmax_backward(shape: Shape, kind: str, device: str) -> Data:
    dy, y = normal(device, kind, *shape), _softmax(normal(device, kind, *shape))
    return Data((dy, y), (empty(device, kind, *shape),), ours=TILES, triton=WARPS)


def _softmax_backward(dy: Tensor, y: Tensor) -> Tensor:
    return y * (dy - (y * dy).sum(1, keepdim=True))


def _make_rms_norm_int8(shape: Shape, kind: str, device: str) -> Data:
    given = normal(device, kind, *shape), normal(device, kind, shape[1]), EPS
    outs = empty(device, "int8", *shape), empty(device, "float32", shape[0], 1)
    return Data(given, outs, ours=TILES, triton=WARPS)


def _rms_norm_int8(x: Tensor, weight: Tensor, eps: float) -> Any:
    norm = torch.nn.functional.rms_norm
    y = norm(wider(x), (x.shape[1],), wider(weight), eps)
    scale = y.abs().amax(1, keepdim=True) / 127.0
    return (y / scale).round().to(torch.int8), scale.float()


def _check_int8(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """Each number is the nearest or, at a tie, the next; scales are those of f32."""
    x, weight, eps = inputs
    expected, scale = _rms_norm_int8(x.float(), weight.float(), eps)
    steps = float((found[0].int() - expected.int()).abs().max())
    off = float(((found[1] - scale) / scale).abs().max())
    return 1e9 if steps > 1 else off


def _make_dropout_layer_norm(shape: Shape, kind: str, device: str) -> Data:
    x, (weight, bias) = normal(device, kind, *shape), _two(shape, kind, device)
    given = x + 3, weight.fill_(1), bias.fill_(0), 0.25
    return Data(given, (empty(device, kind, *shape),), ours=TILES, triton=WARPS)


def _dropout_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, p: float) -> Tensor:
    functional = torch.nn.functional
    dropped = functional.dropout(x, p)
    return functional.layer_norm(dropped, (x.shape[1],), weight, bias, EPS)


def _check_dropped(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """Rows have mean 0 and variance 1, and what was dropped is the least of a row."""
    y, p = found[0].float(), inputs[3]
    moments = float(y.mean(1).abs().max()), float((y.var(1, unbiased=False) - 1).abs().max())
    # The inputs are 3 on average, so that what is 0 instead lies below nearly all of them.
    share = float((y < -1).float().mean())
    return 1e9 if abs(share - p) > 0.05 else max(moments) / 30


ROWS = [
    Row(
        "add_rms_norm", "norms", SHAPES, FLOATS, SMALL, _make_add_rms_norm, _add_rms_norm,
    ),
    Row("layer_norm", "norms", SHAPES, FLOATS, SMALL, _make_layer_norm, _layer_norm),
    Row("layer_norm_dx", "norms", SHAPES, FLOATS, SMALL, _make_layer_norm_dx, _layer_norm_dx),
    Row("layer_norm_dw", "norms", SHAPES, FLOATS, SMALL, _make_layer_norm_dw, _layer_norm_dw),
    Row("rms_norm_dx", "norms", SHAPES, FLOATS, SMALL, _make_rms_norm_dx, _rms_norm_dx),
    Row(
        "group_norm", "norms", [(32, 32, 8, 1024), (64, 32, 16, 1024), (64, 32, 8, 784)], FLOATS,
        (2, 3, 4, 50), _make_group_norm, _group_norm,
    ),
    Row("softmax_wide", "norms", WIDE, FLOATS, SMALL, _make_softmax, _softmax),
    Row(
        "softmax_backward", "norms", SHAPES, FLOATS, SMALL, _make_softmax_backward,
        _softmax_backward,
    ),
    Row(
        "rms_norm_int8", "norms", SHAPES, FLOATS, SMALL, _make_rms_norm_int8, _rms_norm_int8,
        check=_check_int8,
    ),
    Row(
        "dropout_layer_norm", "norms", SHAPES, FLOATS, SMALL, _make_dropout_layer_norm,
        _dropout_layer_norm, check=_check_dropped, exact=1e-3,
    ),
]  # fmt: skip
