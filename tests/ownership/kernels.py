"""The kernels that the tests of ownership launch."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt


@tw.entry
def neg(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def two(a: tl.TensorMut, b: tl.TensorMut) -> None:
    a.store(tl.full(a.shape, 1, a.dtype))
    b.store(tl.full(b.shape, 2, b.dtype))


@simt.kernel
def whole(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = -x[i]
