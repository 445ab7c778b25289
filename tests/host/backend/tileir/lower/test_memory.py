"""Tiles at the edges of tensors on CUDA, where extents are known while compiling and where not."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output
from tilewright.base.dtypes import f32


@tw.entry
def of_known_extents(out: tl.TensorMut[f32], x: tl.Tensor[f32, Literal[37], Literal[21]]) -> None:
    tile = x.load_tile((8, 16), [tl.block_id(0), tl.block_id(1)], padding=tl.neg_inf)
    out.store(tile - tl.reduce_max(tile, 1, keepdims=True))


@tw.entry
def of_any_extents(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    tile = x.load_tile((8, 16), [tl.block_id(0), tl.block_id(1)], padding=tl.neg_inf)
    out.store(tile - tl.reduce_max(tile, 1, keepdims=True))


@pytest.mark.parametrize("kernel", [of_known_extents, of_any_extents])
def test_tiles_at_the_edges_are_padded(kernel, simulated_gpu, rng):
    x = rng.integers(-9, 9, (37, 21)).astype(np.float32)
    z = Output((40, 32), f32)
    kernel(z.cut(8, 16), x).sync()
    whole = np.full((40, 32), -np.inf, np.float32)
    whole[:37, :21] = x
    tiles = whole.reshape(5, 8, 2, 16)
    with np.errstate(invalid="ignore"):
        expected = tiles - tiles.max(3, keepdims=True)
    np.testing.assert_array_equal(z.result(), expected.reshape(40, 32))
