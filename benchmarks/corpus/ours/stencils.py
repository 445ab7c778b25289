"""Stencils, pooling and transposes."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

from ..case import Call, call


@tw.entry
def _heat(out: tl.TensorMut, x: tl.Tensor, rate: f32) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    middle = tl.load_tile_like(x, out).astype(f32)
    around = tl.zeros((BM, BN), f32)
    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        tile = x.load_at((i * BM + dy, j * BN + dx), (BM, BN), padding=0)
        around = around + tile.astype(f32)
    out.store((middle + rate * (around - 4.0 * middle)).astype(out.dtype))


def heat_step(out: Any, x: Any, rate: float, *, tile: Any) -> list[Call]:
    """One step of the heat equation; 0 beyond the boundaries."""
    return [call(_heat, out.partition_mut(tile), x, rate)]


@tw.entry
def _max_pool(out: tl.TensorMut, x: tl.Tensor) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    top = tl.full((BM, BN), tl.neg_inf, f32)
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            tile = x.load_at((i * BM + dy, j * BN + dx), (BM, BN), padding=tl.neg_inf)
            top = tl.maximum(top, tile.astype(f32))
    out.store(top.astype(out.dtype))


def max_pool(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """The largest of 3 by 3 neighbours."""
    return [call(_max_pool, out.partition_mut(tile), x)]


@tw.entry
def _transpose_cast(out: tl.TensorMut, x: tl.Tensor) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    out.store(x.load_tile((BN, BM), [j, i]).T.astype(out.dtype))


def transpose_cast(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """Transpose, and convert between f32 and bf16."""
    return [call(_transpose_cast, out.partition_mut(tile), x)]


@tw.entry
def _swap_heads(out: tl.TensorMut, x: tl.Tensor) -> None:
    _, BH, BT, D = out.shape
    b, h, t = tl.get_tile_block_id()
    tile = x.load_tile((1, BT, BH, D), [b, t, h, 0])
    out.store(tile.permute((0, 2, 1, 3)))


def swap_heads(out: Any, x: Any, *, heads: int, tokens: int) -> list[Call]:
    """From (batch, token, head, depth) to (batch, head, token, depth)."""
    return [call(_swap_heads, out.partition_mut((1, heads, tokens, tw.FULL)), x)]
