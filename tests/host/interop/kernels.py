"""Kernels that the tests wrap."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright import bool_, f32, i32


@tw.entry
def softmax(y: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    assert y.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, y, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    y.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def sum_and_difference(
    s: tl.TensorMut[f32], d: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]
) -> None:
    a, b = tl.load_tile_like(x, s), tl.load_tile_like(y, s)
    s.store(a + b)
    d.store(a - b)


@tw.entry
def many_numbers(
    z: tl.TensorMut, a: f32, n: i32, flag: bool_, x: tl.Tensor, *, TWICE: tl.Const[bool]
) -> None:
    value = tl.load_tile_like(x, z).astype(f32) * a + float(n)
    value = tl.where(flag, value, 0.0)
    z.store((value + value if TWICE else value).astype(z.dtype))


@tw.entry
def refuse_negative(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z, padding=tl.pos_inf)
    assert tl.reduce_min(tile, 0) >= 0.0, "negative"
    z.store(tile)


def whole_rows(shape):
    return 4, 1 << max(shape[1] - 1, 0).bit_length()
