"""Rotary position embeddings."""

from __future__ import annotations

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch, wider

SHAPES = [(8192, 32, 64), (16384, 32, 128), (5000, 40, 128)]
FLOATS = ["bfloat16", "float32"]
SMALL = (5, 6, 32)


def _make(shape: Shape, kind: str, device: str) -> Data:
    depth = shape[2]
    angles = normal(device, "float32", shape[0], 1, depth // 2)
    given = normal(device, kind, *shape), angles.cos(), angles.sin()
    return Data(
        given, (empty(device, kind, *shape),),
        ours=settings(tile=[(1, 16, depth), (2, 8, depth), (1, 32, depth)]),
        triton=settings(BH=(8, 16, 32, 32), num_warps=(4, 4, 4, 8)),
    )  # fmt: skip


def _halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = wider(x).chunk(2, dim=2)
    turned = first * cos - second * sin, second * cos + first * sin
    return torch.cat(turned, 2).to(x.dtype)


def _pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = wider(x)[..., ::2], wider(x)[..., 1::2]
    turned = even * cos - odd * sin, odd * cos + even * sin
    return torch.stack(turned, -1).reshape(x.shape).to(x.dtype)


ROWS = [
    Row("rope_halves", "rope", SHAPES, FLOATS, SMALL, _make, _halves),
    Row("rope_pairs", "rope", SHAPES, FLOATS, SMALL, _make, _pairs),
]
