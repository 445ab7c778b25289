"""Addresses of elements: what is computed once for a tile, and in how many bits."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright import f32
from tilewright.analysis.ranges import Interval
from tilewright.backend.tileir.bytecode.program import Val, program_text
from tilewright.backend.tileir.bytecode.types import I32, TileValueType
from tilewright.backend.tileir.lower.addresses import _may_be_apart


@tw.entry
def shifted(z: tl.TensorMut, x: tl.Tensor, row: tw.i32, column: tw.i32) -> None:
    z.store(x.load_at((row, column), z.shape, padding=-1))


def text(x):
    z = tw.meta((16, 64), f32)
    return program_text(lowered(cuda_ir(shifted, z.partition_mut((16, 64)), x, 0, 0)).program)


def test_elements_of_a_small_tensor_have_32_bit_numbers():
    found = text(tw.meta((16, 64), f32))
    assert "tile<16x64xi64>" not in found
    assert "signedness=unsigned" in found, "one comparison for both ends"


def test_elements_of_a_large_tensor_have_64_bit_numbers():
    assert "tile<16x64xi64>" in text(tw.meta((1 << 20, 1 << 20), f32))


ANYWHERE, INSIDE = Interval(-(1 << 31), (1 << 31) - 1), Interval(0, 100)


@pytest.mark.parametrize(
    ("place", "length", "stride", "apart"),
    [
        (INSIDE, 64, None, True),
        (ANYWHERE, 64, None, False),
        (ANYWHERE, 1, None, True),
        (ANYWHERE, 64, 1, True),
        (ANYWHERE, 64, -1, True),
        (ANYWHERE, 64, 1 << 24, True),
        (ANYWHERE, 64, 1 << 25, False),
    ],
)
def test_a_tile_before_the_tensor_has_no_offsets_of_more_than_31_bits(place, length, stride, apart):
    by = Val(TileValueType(I32)) if stride is None else stride
    assert _may_be_apart(place, length, by) is apart


@pytest.mark.parametrize("shape", [(1, 1), (15, 63), (16, 64), (17, 65), (31, 127)])
def test_windows_mean_the_same(shape, simulated_gpu, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    for row, column in ((0, 0), (-3, 5), (4, -60), (-16, 0), (shape[0], 0), (1 << 30, -1)):
        expected = np.full((16, 64), -1, np.float32)
        for i, j in np.ndindex(16, 64):
            if 0 <= row + i < shape[0] and 0 <= column + j < shape[1]:
                expected[i, j] = x[row + i, column + j]
        with tw.device("cuda"):
            z = tw.full((16, 64), float("nan"), f32).sync()
            shifted(z.partition_mut((16, 64)), x, row, column).sync()
            assert np.array_equal(z.to_numpy(), expected)
