"""The kernels that the threads launch."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def add_one(z: tl.TensorMut) -> None:
    z.store(z.load() + tl.full(z.shape, 1, z.dtype))


@tw.entry
def scaled(z: tl.TensorMut, x: tl.Tensor, factor: float) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def added(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))
