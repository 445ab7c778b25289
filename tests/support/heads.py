"""Heads of attention in another order: a kernel that cannot race, and one that does.

The second one has raw pointers, and two numbers of its store swapped. The rows it writes then
reach into the next head, where another block writes too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

Array = np.ndarray[Any, Any]


@tw.entry
def permute_heads(
    out: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn, tl.Dyn],
    order: tl.Tensor[i32, tl.Dyn],
) -> None:
    """out[b, h] = x[b, order[h]]; where a tile goes is not for the kernel to say."""
    b, h, m = tl.block_id(0), tl.block_id(1), tl.block_id(2)
    source = order.load_tile((1,), [h]).item()
    out.store(x.load_tile(out.shape, [b, source, m, 0]))


@tw.entry(unsafe=True)
def permute_heads_racing(
    out: tl.Ptr[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn, tl.Dyn],
    order: tl.Tensor[i32, tl.Dyn],
    *,
    BM: tl.Const[int],
    D: tl.Const[int],
) -> None:
    """out[b, order[h]] = x[b, h], but for the swapped numbers of the head and of the rows."""
    b, h, m = tl.block_id(0), tl.block_id(1), tl.block_id(2)
    target = order.load_tile((1,), [h]).item()
    tile = x.load_tile((1, 1, BM, D), [b, h, m, 0]).reshape(BM, D)
    first = (b * x.shape[1] + m) * x.shape[2] + target * BM  # m and target are swapped here
    rows = (tl.arange(BM) + first)[:, None]
    tl.store_ptr(out + (rows * D + tl.arange(D)[None, :]), tile)


class Sizes(NamedTuple):
    """Batches, heads, rows and columns of each, and the rows of a tile."""

    batches: int
    heads: int
    rows: int
    columns: int
    tile: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.batches, self.heads, self.rows, self.columns

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.batches, self.heads, self.rows // self.tile


SMALL = Sizes(1, 8, 128, 64, 32)
MIDDLE = Sizes(2, 16, 256, 128, 64)
LARGE = Sizes(4, 32, 512, 128, 64)


def inputs(sizes: Sizes, rng: np.random.Generator) -> tuple[Array, Array]:
    """Tokens and an order of the heads."""
    x = rng.standard_normal(sizes.shape).astype(np.float32)
    return x, rng.permutation(sizes.heads).astype(np.int32)


def safe(sizes: Sizes, x: Any, order: Any) -> Array:
    """What the safe kernel gives, on a poisoned output."""
    z = tw.full(sizes.shape, -77, f32).sync()
    permute_heads(z.partition_mut((1, 1, sizes.tile, sizes.columns)), x, order).sync()
    return z.to_numpy()


def racing(sizes: Sizes, x: Any, order: Any) -> Array:
    """What the racing kernel gives."""
    z = tw.full(sizes.shape, -77, f32).sync()
    with tw.unsafe():
        launch = permute_heads_racing(z.device_pointer(), x, order, BM=sizes.tile, D=sizes.columns)
        launch.grid(sizes.grid).sync()
    return z.to_numpy()
