"""Convolutions."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

from ..case import Call, call


@tw.entry
def _conv1d(
    out: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, bias: tl.Tensor, *, WIDTH: tl.Const[int]
) -> None:
    _, BT, BC = out.shape
    b, t, c = tl.get_tile_block_id()
    total = tl.zeros((BT, BC), f32) + bias.load_tile((BC,), [c]).astype(f32)[None, :]
    for k in tl.static_range(WIDTH):
        start = t * BT + k - (WIDTH - 1)
        tile = x.load_at((b, start, c * BC), (1, BT, BC), padding=0).reshape(BT, BC)
        total = total + tile.astype(f32) * w.load_tile((1, BC), [k, c]).astype(f32)
    out.store(tl.silu(total).astype(out.dtype).reshape(1, BT, BC))


def conv1d_causal(out: Any, x: Any, w: Any, bias: Any, *, tile: Any) -> list[Call]:
    """Each channel by itself, over the last few steps, then silu."""
    return [call(_conv1d, out.partition_mut((1, *tile)), x, w, bias, WIDTH=w.shape[0])]


@tw.entry
def _conv2d(
    out: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, *, BK: tl.Const[int], SIZE: tl.Const[int]
) -> None:
    _, BH, BW, BF = out.shape
    b, h, column = tl.get_tile_block_id()
    f = tl.block_id(3)
    acc = tl.zeros((BH * BW, BF), f32)
    for dy in range(SIZE):
        for dx in range(SIZE):
            for c in range(tl.ceil_div(x.shape[3], BK)):
                at = (b, h * BH + dy - SIZE // 2, column * BW + dx - SIZE // 2, c * BK)
                tile = x.load_at(at, (1, BH, BW, BK), padding=0).reshape(BH * BW, BK)
                weight = w.load_tile((1, 1, BK, BF), [dy, dx, c, f]).reshape(BK, BF)
                acc = tl.mma(tile, weight, acc)
    out.store(acc.astype(out.dtype).reshape(1, BH, BW, BF))


def conv2d(out: Any, x: Any, w: Any, *, tile: Any, step: int) -> list[Call]:
    """A convolution of images whose channels are last, as products of matrices."""
    return [call(_conv2d, out.partition_mut((1, *tile)), x, w, BK=step, SIZE=w.shape[0])]


@tw.entry
def _depthwise(out: tl.TensorMut, x: tl.Tensor, w: tl.Tensor) -> None:
    _, BH, BW, BC = out.shape
    b, h, column = tl.get_tile_block_id()
    c = tl.block_id(3)
    total = tl.zeros((1, BH, BW, BC), f32)
    for dy in tl.static_range(3):
        for dx in tl.static_range(3):
            at = (b, h * BH + dy - 1, column * BW + dx - 1, c * BC)
            tile = x.load_at(at, (1, BH, BW, BC), padding=0).astype(f32)
            weight = w.load_tile((1, 1, BC), [dy, dx, c]).astype(f32)
            total = total + tile * weight.reshape(1, 1, 1, BC)
    out.store(total.astype(out.dtype))


def conv2d_depthwise(out: Any, x: Any, w: Any, *, tile: Any) -> list[Call]:
    """Each channel of an image by itself, 3 by 3."""
    return [call(_depthwise, out.partition_mut((1, *tile)), x, w)]
