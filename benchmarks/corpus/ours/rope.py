"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

from ..case import Call, call


@tw.entry
def _halves(out: tl.TensorMut, x: tl.Tensor, cos: tl.Tensor, sin: tl.Tensor) -> None:
    BT, _, D = out.shape
    assert x.shape[2] == D
    t = tl.block_id(0)
    c = cos.load_tile((BT, 1, D // 2), [t, 0, 0]).astype(f32)
    s = sin.load_tile((BT, 1, D // 2), [t, 0, 0]).astype(f32)
    first, second = tl.split(tl.load_tile_like(x, out).astype(f32), 2)
    turned = tl.cat((first * c - second * s, second * c + first * s), 2)
    out.store(turned.astype(out.dtype))


def rope_halves(out: Any, x: Any, cos: Any, sin: Any, *, tile: Any) -> list[Call]:
    """Turn the two halves of each head."""
    return [call(_halves, out.partition_mut(tile), x, cos, sin)]


@tw.entry
def _pairs(out: tl.TensorMut, x: tl.Tensor, cos: tl.Tensor, sin: tl.Tensor) -> None:
    BT, BH, D = out.shape
    assert x.shape[2] == D
    t = tl.block_id(0)
    c = cos.load_tile((BT, 1, D // 2), [t, 0, 0]).astype(f32)
    s = sin.load_tile((BT, 1, D // 2), [t, 0, 0]).astype(f32)
    tile = tl.load_tile_like(x, out).astype(f32).reshape(BT, BH, D // 2, 2)
    even, odd = tl.unstack(tile, -1)
    turned = tl.interleave(even * c - odd * s, odd * c + even * s)
    out.store(turned.astype(out.dtype))


def rope_pairs(out: Any, x: Any, cos: Any, sin: Any, *, tile: Any) -> list[Call]:
    """Turn neighbouring elements of each head."""
    return [call(_pairs, out.partition_mut(tile), x, cos, sin)]
