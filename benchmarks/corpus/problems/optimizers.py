"""Steps of optimizers."""

from __future__ import annotations

from typing import Any

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, wider

SHAPES = [(1 << 24,), (1 << 26,), (50_000_003,)]
FLOATS = ["bfloat16", "float32"]
TILES = settings(tile=[(1024,), (2048,), (512,)])
BLOCKS = settings(BLOCK=(512, 1024, 1024, 2048, 4096), num_warps=(4, 4, 8, 8, 8))


def _make_adamw(shape: Shape, kind: str, device: str) -> Data:
    p, g = (normal(device, kind, *shape) for _ in range(2))
    m, v = normal(device, "float32", *shape), normal(device, "float32", *shape).square_()
    outs = empty(device, kind, *shape), *(empty(device, "float32", *shape) for _ in range(2))
    return Data((p, m, v, g, 1e-3, 0.1, 10.0), outs, ours=TILES, triton=BLOCKS)


def _adamw(
    p: Tensor, m: Tensor, v: Tensor, g: Tensor, rate: float, decay: float, step: float
) -> Any:
    grad = wider(g)
    mean = 0.9 * m + 0.1 * grad
    square = 0.999 * v + 0.001 * grad * grad
    change = (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
    return (wider(p) * (1 - rate * decay) - rate * change).to(p.dtype), mean, square


def _make_nesterov(shape: Shape, kind: str, device: str) -> Data:
    p, g = (normal(device, kind, *shape) for _ in range(2))
    outs = empty(device, kind, *shape), empty(device, "float32", *shape)
    given = p, normal(device, "float32", *shape), g, 0.1
    return Data(given, outs, ours=TILES, triton=BLOCKS)


def _nesterov(p: Tensor, b: Tensor, g: Tensor, rate: float) -> Any:
    grad = wider(g)
    kept = 0.9 * b + grad
    return (wider(p) - rate * (grad + 0.9 * kept)).to(p.dtype), kept


ROWS = [
    Row("adamw", "optimizers", SHAPES, FLOATS, (5003,), _make_adamw, _adamw),
    Row("nesterov", "optimizers", SHAPES, FLOATS, (5003,), _make_nesterov, _nesterov),
]
