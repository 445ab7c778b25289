"""Convolutions."""

from __future__ import annotations

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch
from .products import HALVES

FLOATS = ["bfloat16", "float32"]


def _make_conv1d(shape: Shape, kind: str, device: str) -> Data:
    channels = shape[2]
    given = (
        normal(device, kind, *shape), normal(device, kind, 4, channels),
        normal(device, kind, channels),
    )  # fmt: skip
    return Data(
        given, (empty(device, kind, *shape),), ours=settings(tile=[(16, 128), (32, 64), (8, 256)]),
        triton=settings(BT=(8, 16, 32, 16), BC=(256, 128, 64, 256), num_warps=(4, 4, 4, 8)),
    )  # fmt: skip


def _conv1d(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
    functional = torch.nn.functional
    padded = functional.pad(x.mT, (w.shape[0] - 1, 0))
    made = functional.conv1d(padded, w.T[:, None, :], bias, groups=x.shape[2])
    return functional.silu(made).mT.contiguous()


def _make_conv2d(shape: Shape, kind: str, device: str) -> Data:
    batch, height, width, channels, filters = shape
    x = normal(device, kind, batch, height, width, channels)
    w = normal(device, kind, 3, 3, channels, filters, scale=(9 * channels) ** -0.5)
    out = empty(device, kind, batch, height, width, filters)
    return Data(
        (x, w), (out,), flops=2.0 * out.numel() * 9 * channels,
        ours=settings(tile=[(8, 16, 128), (8, 8, 128), (4, 32, 64)], step=(64, 64, 64)),
        triton=settings(
            BM=(128, 128, 128, 64, 128), BN=(128, 128, 64, 128, 256), BK=(64, 32, 64, 64, 64),
            num_warps=(8, 4, 4, 4, 8), num_stages=(3, 4, 3, 3, 3),
        ),
    )  # fmt: skip


def _conv2d(x: Tensor, w: Tensor) -> Tensor:
    made = torch.nn.functional.conv2d(
        x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=w.shape[0] // 2
    )
    return made.permute(0, 2, 3, 1)


def _make_depthwise(shape: Shape, kind: str, device: str) -> Data:
    x, w = normal(device, kind, *shape), normal(device, kind, 3, 3, shape[3])
    return Data(
        (x, w), (empty(device, kind, *shape),),
        ours=settings(tile=[(1, 16, 128), (4, 8, 64), (1, 32, 64)]),
        triton=settings(BW=(8, 16, 32, 16), BC=(128, 128, 64, 64), num_warps=(4, 4, 4, 4)),
    )  # fmt: skip


def _depthwise(x: Tensor, w: Tensor) -> Tensor:
    channels = x.shape[3]
    weights = w.permute(2, 0, 1)[:, None]
    convolve = torch.nn.functional.conv2d
    made = convolve(x.permute(0, 3, 1, 2), weights, padding=1, groups=channels)
    return made.permute(0, 2, 3, 1)


ROWS = [
    Row(
        "conv1d_causal", "convolution", [(8, 4096, 2048), (16, 4096, 4096), (5, 5000, 5120)],
        FLOATS, (2, 37, 150), _make_conv1d, _conv1d,
    ),
    Row(
        "conv2d", "convolution",
        [(32, 32, 32, 256, 256), (32, 64, 64, 256, 256), (40, 28, 28, 384, 320)], HALVES,
        (2, 9, 13, 40, 70), _make_conv2d, _conv2d,
    ),
    Row(
        "conv2d_depthwise", "convolution",
        [(32, 56, 56, 256), (64, 64, 64, 512), (50, 28, 30, 960)], FLOATS, (2, 9, 13, 70),
        _make_depthwise, _depthwise,
    ),
]  # fmt: skip
