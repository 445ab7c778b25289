"""The kernels that the tests of ownership launch."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl


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
