"""Addresses of elements: what is computed once for a tile, and in how many bits."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright import f32, i32
from tilewright.analysis.ranges import Interval
from tilewright.backend.tileir.bytecode.program import Val, program_text
from tilewright.backend.tileir.bytecode.types import I32, TileValueType
from tilewright.backend.tileir.lower import addresses
from tilewright.backend.tileir.lower.addresses import _may_be_apart


@tw.entry
def shifted(z: tl.TensorMut, x: tl.Tensor, row: tw.i32, column: tw.i32) -> None:
    z.store(x.load_at((row, column), z.shape, padding=-1))


@tw.entry
def shifted_static(
    z: tl.TensorMut, x: tl.Tensor[f32, Literal[15], Literal[63]], row: tw.i32, column: tw.i32
) -> None:
    z.store(x.load_at((row, column), z.shape, padding=-1))


@tw.entry
def shifted_in_block(z: tl.TensorMut, x: tl.TensorMut, row: tw.i32, column: tw.i32) -> None:
    z.store(x.load_at((row, column), z.shape, padding=-1))


@tw.entry
def gathered(
    z: tl.TensorMut, x: tl.Tensor, rows: tl.Tensor, column: tw.i32, *, WIDE: tl.Const[bool]
) -> None:
    """`WIDE` is only a name, for code that is compiled with 64-bit offsets."""
    count, width = z.shape
    at = rows.load_tile((count,), [0])
    view = tl.make_gather_scatter_view(x, (count, width), 0, padding=-1)
    z.store(view.load([at, column]))


@tw.entry
def added(total: tl.Accumulator[f32, tl.Dyn, tl.Dyn], x: tl.Tensor, rows: tl.Tensor[i32]) -> None:
    tile = x.load_tile((8, 64), [0, 0])
    total.add(tile, (rows.load_tile((8,), [0]), 0), clip=True)


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


PLACES = ((0, 0), (-3, 5), (4, -60), (-16, 0), (1 << 30, -1))


def window(x, row, column, shape=(16, 64)):
    """The tile of x that begins at a row and a column; -1 outside of x."""
    found = np.full(shape, -1, np.float32)
    for i, j in np.ndindex(*shape):
        if 0 <= row + i < x.shape[0] and 0 <= column + j < x.shape[1]:
            found[i, j] = x[row + i, column + j]
    return found


@pytest.mark.parametrize("shape", [(1, 1), (15, 63), (16, 64), (17, 65), (31, 127)])
def test_windows_mean_the_same(shape, simulated_gpu, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    for row, column in (*PLACES, (shape[0], 0)):
        with tw.device("cuda"):
            z = tw.full((16, 64), float("nan"), f32).sync()
            shifted(z.partition_mut((16, 64)), x, row, column).sync()
            assert np.array_equal(z.to_numpy(), window(x, row, column))


def test_windows_of_a_tensor_whose_extents_are_constants(simulated_gpu, rng):
    x = rng.standard_normal((15, 63)).astype(np.float32)
    for row, column in PLACES:
        with tw.device("cuda"):
            z = tw.full((16, 64), float("nan"), f32).sync()
            shifted_static(z.partition_mut((16, 64)), x, row, column).sync()
            assert np.array_equal(z.to_numpy(), window(x, row, column))


def test_windows_of_a_block_end_with_it(simulated_gpu, rng):
    x = rng.standard_normal((7, 61)).astype(np.float32)
    for row, column in ((0, 0), (-2, 1), (1, -3), (3, 31)):
        with tw.device("cuda"):
            z = tw.full((8, 64), float("nan"), f32).sync()
            held = tw.from_numpy(x).sync()
            launch = shifted_in_block(
                z.partition_mut((4, 32)), held.partition_mut((4, 32)), row, column
            )
            launch.sync()
            for i, j in np.ndindex(2, 2):
                own = x[4 * i : 4 * i + 4, 32 * j : 32 * j + 32]
                found = z.to_numpy()[4 * i : 4 * i + 4, 32 * j : 32 * j + 32]
                assert np.array_equal(found, window(own, row, column, (4, 32)))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("count", [1, 8])
def test_gathered_rows_begin_at_any_column(count, wide, simulated_gpu, rng, monkeypatch):
    if wide:
        monkeypatch.setattr(addresses, "_is_near", lambda em, op, view: False)
    x = rng.standard_normal((19, 77)).astype(np.float32)
    rows = rng.integers(-2, 21, count).astype(np.int32)
    for column in (0, 5, 64):
        expected = np.concatenate([window(x, row, column, (1, 64)) for row in rows])
        with tw.device("cuda"):
            z = tw.full((count, 64), float("nan"), f32).sync()
            gathered(z.partition_mut((count, 64)), x, rows, column, WIDE=wide).sync()
            assert np.array_equal(z.to_numpy(), expected)


def test_adjacent_threads_add_adjacent_elements():
    """In one dimension, at addresses that look unrelated: one element of a row for each thread."""
    args = (tw.meta((99, 64), f32).borrow_mut(), tw.meta((8, 64), f32), tw.meta((8,), i32))
    found = program_text(lowered(cuda_ir(added, *args)).program)
    lines = [line for line in found.splitlines() if "atomic_rmw_tko" in line]
    assert lines
    assert all("tile<512xf32>" in line for line in lines)
    assert "select" in found
