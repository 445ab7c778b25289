"""Stencils, pooling and transposes."""

from __future__ import annotations

from ..case import Data, Row, Shape, Tensor, settings
from ..data import empty, normal, torch

SHAPES = [(4096, 4096), (8192, 8192), (7000, 9001)]
FLOATS = ["float32", "bfloat16"]
SMALL = (37, 200)
TILES = settings(tile=[(4, 256), (16, 64), (1, 1024)])
BLOCKS = settings(BM=(4, 8, 16, 1, 32), BN=(256, 128, 64, 1024, 64), num_warps=(4, 4, 4, 4, 8))
SQUARES = settings(tile=[(64, 64), (128, 64), (32, 32)])
SQUARE_BLOCKS = settings(
    BM=(32, 64, 64, 128, 64), BN=(32, 64, 32, 64, 128), num_warps=(4, 4, 4, 8, 8)
)


def _make_heat(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x, 0.2), (empty(device, kind, *shape),), ours=TILES, triton=BLOCKS)


def _heat_step(x: Tensor, rate: float) -> Tensor:
    p = torch.nn.functional.pad(x, (1, 1, 1, 1))
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return x + rate * (around - 4 * x)


def _make_pool(shape: Shape, kind: str, device: str) -> Data:
    x = normal(device, kind, *shape)
    return Data((x,), (empty(device, kind, *shape),), ours=TILES, triton=BLOCKS)


def _max_pool(x: Tensor) -> Tensor:
    return torch.nn.functional.max_pool2d(x[None, None], 3, 1, 1)[0, 0]


def _make_transpose(shape: Shape, kind: str, device: str) -> Data:
    other = {"float32": "bfloat16", "bfloat16": "float32"}[kind]
    x, out = normal(device, kind, *shape), empty(device, other, *shape[::-1])
    return Data((x,), (out,), ours=SQUARES, triton=SQUARE_BLOCKS)


def _transpose_cast(x: Tensor) -> Tensor:
    other = torch.bfloat16 if x.dtype == torch.float32 else torch.float32
    return x.T.to(other, memory_format=torch.contiguous_format)


def _make_swap(shape: Shape, kind: str, device: str) -> Data:
    batch, tokens, heads, depth = shape
    out = empty(device, kind, batch, heads, tokens, depth)
    return Data(
        (normal(device, kind, *shape),), (out,),
        ours=settings(heads=(1, 4, 8), tokens=(32, 16, 8)),
        triton=settings(BT=(16, 32, 64, 128), num_warps=(4, 4, 4, 8)),
    )  # fmt: skip


def _swap_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).contiguous()


ROWS = [
    Row("heat_step", "stencils", SHAPES, FLOATS, SMALL, _make_heat, _heat_step, tolerance=2e-2),
    Row("max_pool", "stencils", SHAPES, FLOATS, SMALL, _make_pool, _max_pool),
    Row(
        "transpose_cast", "stencils", SHAPES, FLOATS, SMALL, _make_transpose, _transpose_cast,
        exact=5e-3,
    ),
    Row(
        "swap_heads", "stencils", [(4, 4096, 32, 64), (8, 4096, 32, 128), (3, 5000, 40, 128)],
        ["bfloat16", "float32"], (2, 37, 3, 16), _make_swap, _swap_heads,
    ),
]  # fmt: skip
