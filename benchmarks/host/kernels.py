"""Kernels with next to no work in them, by their number of tensors; and one with a lot."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32, i32


@tw.entry
def write1(z: tl.TensorMut[f32]) -> None:
    """z = 1."""
    z.store(tl.full(z.shape, 1.0))


@tw.entry
def sum2(z: tl.TensorMut, a: tl.Tensor) -> None:
    """z = a."""
    z.store(tl.load_tile_like(a, z))


@tw.entry
def sum3(z: tl.TensorMut, a: tl.Tensor, b: tl.Tensor) -> None:
    """z = a + b."""
    z.store(tl.load_tile_like(a, z) + tl.load_tile_like(b, z))


@tw.entry
def sum4(z: tl.TensorMut, a: tl.Tensor, b: tl.Tensor, c: tl.Tensor) -> None:
    """The sum of all tensors but the first is written to it."""
    z.store(tl.load_tile_like(a, z) + tl.load_tile_like(b, z) + tl.load_tile_like(c, z))


@tw.entry
def sum8(
    z: tl.TensorMut, a: tl.Tensor, b: tl.Tensor, c: tl.Tensor,
    d: tl.Tensor, e: tl.Tensor, f: tl.Tensor, g: tl.Tensor,
) -> None:  # fmt: skip
    """As `sum4`."""
    total = tl.load_tile_like(a, z) + tl.load_tile_like(b, z) + tl.load_tile_like(c, z)
    total = total + tl.load_tile_like(d, z) + tl.load_tile_like(e, z) + tl.load_tile_like(f, z)
    z.store(total + tl.load_tile_like(g, z))


@tw.entry
def sum16(
    z: tl.TensorMut, a: tl.Tensor, b: tl.Tensor, c: tl.Tensor,
    d: tl.Tensor, e: tl.Tensor, f: tl.Tensor, g: tl.Tensor,
    h: tl.Tensor, i: tl.Tensor, j: tl.Tensor, k: tl.Tensor,
    m: tl.Tensor, n: tl.Tensor, o: tl.Tensor, p: tl.Tensor,
) -> None:  # fmt: skip
    """As `sum4`."""
    total = tl.load_tile_like(a, z) + tl.load_tile_like(b, z) + tl.load_tile_like(c, z)
    total = total + tl.load_tile_like(d, z) + tl.load_tile_like(e, z) + tl.load_tile_like(f, z)
    total = total + tl.load_tile_like(g, z) + tl.load_tile_like(h, z) + tl.load_tile_like(i, z)
    total = total + tl.load_tile_like(j, z) + tl.load_tile_like(k, z) + tl.load_tile_like(m, z)
    z.store(total + tl.load_tile_like(n, z) + tl.load_tile_like(o, z) + tl.load_tile_like(p, z))


SUMS: dict[int, Any] = {1: write1, 2: sum2, 3: sum3, 4: sum4, 8: sum8, 16: sum16}
"""By the number of tensors."""


@tw.entry
def scaled(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    """z = x * factor."""
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def multiplied(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, FACTOR: tl.Const[int] = 1) -> None:
    """z = x * FACTOR, which is compiled in."""
    z.store(tl.load_tile_like(x, z) * FACTOR)


@tw.entry
def picked(z: tl.TensorMut[f32], x: tl.Tensor[f32], where: tl.Tensor[i32]) -> None:
    """A tile of x by an index that only the running kernel knows: it is checked there."""
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@tw.entry
def scale(y: tl.TensorMut[f16], x: tl.Tensor[f16, tl.Dyn], g: tl.Tensor[f16, tl.Dyn]) -> None:
    """y = x * g."""
    y.store(tl.load_tile_like(x, y) * tl.load_tile_like(g, y))


@tw.entry
def busy(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    """Some work for each element: as one block, it keeps one core busy for a while."""
    tile = tl.load_tile_like(x, z)
    for _ in range(64):
        tile = tl.exp(-tl.abs(tile))
    z.store(tile)
