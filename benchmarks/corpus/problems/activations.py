"""Activations and other work on single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch, wider

SHAPES = [(4096, 4096), (8192, 8192), (5000, 11008)]
FLAT = [(1 << 24,), (1 << 26,), (50_000_003,)]
FLOATS = ["bfloat16", "float32"]
TILES = settings(tile=[(1, 1024), (4, 1024), (1, 4096)])
FLAT_TILES = settings(tile=[(1024,), (2048,), (4096,)])
BLOCKS = settings(BLOCK=(1024, 1024, 2048, 4096, 8192), num_warps=(4, 8, 8, 8, 8))


def _elementwise(inputs: int, outs: int) -> Callable[[Shape, str, str], Data]:
    """Make inputs and outputs of one shape."""

    def make(shape: Shape, kind: str, device: str) -> Data:
        given = tuple(normal(device, kind, *shape) for _ in range(inputs))
        made = tuple(empty(device, kind, *shape) for _ in range(outs))
        return Data(given, made, ours=TILES, triton=BLOCKS)

    return make


def _make_bias_gelu(shape: Shape, kind: str, device: str) -> Data:
    x, bias = normal(device, kind, *shape), normal(device, kind, shape[1])
    return Data((x, bias), (empty(device, kind, *shape),), ours=TILES, triton=BLOCKS)


def _bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return torch.nn.functional.gelu(x + bias, approximate="tanh")


def _swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return torch.nn.functional.silu(gate) * up


def _swiglu_backward(dout: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    d, g, u = wider(dout), wider(gate), wider(up)
    s = torch.sigmoid(g)
    dgate, dup = d * u * (s * (1 + g * (1 - s))), d * g * s
    return dgate.to(gate.dtype), dup.to(up.dtype)


def _make_packed(shape: Shape, kind: str, device: str) -> Data:
    rows, n = shape
    x, out = normal(device, kind, rows, 2 * n), empty(device, kind, rows, n)
    return Data((x,), (out,), ours=TILES, triton=BLOCKS)


def _geglu_packed(x: Tensor) -> Tensor:
    gate, up = x.chunk(2, dim=1)
    return torch.nn.functional.gelu(gate, approximate="tanh") * up


def _make_softcap(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape, scale=30.0)
    return Data((x, 30.0), (empty(device, kind, *shape),), ours=TILES, triton=BLOCKS)


def _softcap(x: Tensor, cap: float) -> Tensor:
    return cap * torch.tanh(x / cap)


def _make_dropout_add(shape: Shape, kind: str, device: str) -> Data:
    x, residual = (normal(device, kind, *shape) for _ in range(2))
    out = empty(device, kind, *shape)
    return Data((x, residual, 0.25), (out,), ours=FLAT_TILES, triton=BLOCKS)


def _dropout_add(x: Tensor, residual: Tensor, p: float) -> Tensor:
    return torch.nn.functional.dropout(x, p) + residual


def _check_dropout(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """Each element is kept or dropped, and about as many are dropped as should be."""
    x, residual, p = inputs
    out, x, residual = found[0].float(), x.float(), residual.float()
    kept = x / (1 - p) + residual
    off = torch.minimum((out - kept).abs(), (out - residual).abs())
    share = float(((out - residual).abs() < (out - kept).abs()).float().mean())
    # The share of n elements has a standard deviation of sqrt(p * (1 - p) / n).
    strayed = abs(share - p) > 8 * (p * (1 - p) / x.numel()) ** 0.5 + 0.01
    return 1e9 if strayed else float((off / (1 + kept.abs())).max())


def _make_normal(shape: Shape, kind: str, device: str) -> Data:
    out = empty(device, kind, *shape)
    moved = float(out.numel() * out.element_size())
    return Data((out,), (out,), moved=moved, ours=FLAT_TILES, triton=BLOCKS)


def _normal(x: Tensor) -> Tensor:
    return torch.randn_like(x)


def _check_normal(found: Sequence[Tensor], _inputs: Sequence[Any]) -> float:
    """The first two moments are those of standard normal numbers, and the fourth is 3."""
    x = found[0].float()
    error = 12 / x.numel() ** 0.5
    moments = (x.mean(), 0.0), ((x * x).mean(), 1.0), ((x**4).mean() / 4, 0.75)
    off = max(abs(float(moment) - right) for moment, right in moments)
    return 0.0 if off < 2 * error + 0.01 else 1e9


ROWS = [
    Row(
        "bias_gelu", "activations", SHAPES, FLOATS, (33, 130), _make_bias_gelu, _bias_gelu,
    ),
    Row("swiglu", "activations", SHAPES, FLOATS, (33, 130), _elementwise(2, 1), _swiglu),
    Row(
        "swiglu_backward", "activations", SHAPES, FLOATS, (33, 130), _elementwise(3, 2),
        _swiglu_backward,
    ),
    Row("geglu_packed", "activations", SHAPES, FLOATS, (33, 130), _make_packed, _geglu_packed),
    Row("softcap", "activations", SHAPES, FLOATS, (33, 130), _make_softcap, _softcap),
    Row(
        "dropout_add", "activations", FLAT, FLOATS, (5003,), _make_dropout_add, _dropout_add,
        check=_check_dropout,
    ),
    Row(
        "normal_numbers", "activations", FLAT, ["float32", "bfloat16"], (5003,), _make_normal,
        _normal, check=_check_normal,
    ),
]  # fmt: skip
