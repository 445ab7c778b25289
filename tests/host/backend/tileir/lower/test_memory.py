"""Tiles at the edges of tensors on CUDA, where extents are known while compiling and where not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output
from tilewright.backend.tileir.bytecode.types import F32, TF32
from tilewright.backend.tileir.lower.emitter import number_bits
from tilewright.backend.tileir.lower.memory import _as_index
from tilewright.base.dtypes import f32, i32


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


@tw.entry(unsafe=True)
def in_a_branch(out: tl.TensorMut[f32], p: tl.Ptr[f32], n: i32, which: i32) -> None:
    x = tl.make_tensor_view(p, (n,))
    first = tl.zeros((8,), f32)
    if which > 0:
        first = x.load_tile((8,), 0)
    out.store(first + x.load_tile((8,), tl.block_id(0)))


@pytest.mark.parametrize("which", [0, 1])
def test_views_of_memory_are_there_behind_the_branch_that_uses_them_first(which, simulated_gpu):
    x = np.arange(24, dtype=np.float32)
    z = Output((24,), f32)
    memory = tw.from_numpy(x).sync()
    with tw.unsafe():
        op = in_a_branch(z.cut(8), memory.device_pointer(), 24, which)
    op.sync()
    assert z.result().tolist() == (x + which * np.tile(x[:8], 3)).tolist()


@pytest.mark.parametrize(
    ("extent", "index"),
    [(0, 0), (7, 7), ((1 << 31) - 1, (1 << 31) - 1), (1 << 31, -(1 << 31)), ((1 << 32) + 5, 5)],
)
def test_extents_wrap_as_indices(extent, index):
    assert _as_index(SimpleNamespace(index=lambda n: n), extent) == index


@pytest.mark.parametrize("number", [1.5, -0.25, 1024.0])
def test_constants_of_short_floats_have_no_bits_to_spare(number):
    """tf32 is an f32 without its 13 low bits, which are zeros of such numbers."""
    assert number_bits(number, TF32) << 13 == number_bits(number, F32)
