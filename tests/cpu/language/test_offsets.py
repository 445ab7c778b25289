"""Loads and stores of tiles that start at any element, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY, output
from tilewright import bf16, f32, f64, i8, i32, i64, u16
from tilewright.base.errors import LaunchError


@tw.entry
def window(z: tl.TensorMut, x: tl.Tensor, start: i32) -> None:
    (n,) = z.shape
    z.store(x.load_at(start + tl.block_id(0), n, padding=7))


@tw.entry
def checked(z: tl.TensorMut, x: tl.Tensor, start: i32) -> None:
    (n,) = z.shape
    z.store(x.load_at(start, n))


@tw.entry
def patch(z: tl.TensorMut, x: tl.Tensor, row: i32, column: i32) -> None:
    z.store(x.load_at((row, column), z.shape, padding=-1))


def expected_window(x, starts, shape, padding):
    """A part of an array from some start, which may lie outside."""
    result = np.full(shape, padding, x.dtype)
    for at in itertools.product(*map(range, shape)):
        place = tuple(s + k for s, k in zip(starts, at, strict=True))
        if all(0 <= p < n for p, n in zip(place, x.shape, strict=True)):
            result[at] = x[place]
    return result


@pytest.mark.parametrize("dtype", [f32, f64, bf16, i8, u16, i32, i64], ids=str)
def test_windows_that_start_anywhere(device, dtype, rng):
    for count in BOUNDARY:
        x = rng.integers(1, 100, count).astype(dtype.np)
        for start in (-20, -16, -5, -1, 0, 1, 7, count - 1, count, count + 3, 1 << 30):
            with tw.device(device):
                z = output(np.zeros(40), dtype)
                window(z.cut(16), x, start).sync()
                got = z.result()
            parts = [expected_window(x, (start + b,), (16,), 7) for b in range(3)]
            assert np.array_equal(got, np.concatenate(parts)[:40]), (count, start)


def test_patches_of_matrices(device, rng):
    for shape in ((1, 1), (5, 7), (8, 8), (17, 9)):
        x = rng.integers(1, 100, shape).astype(np.float32)
        for row, column in ((0, 0), (-3, 2), (2, -9), (-1, -1), (4, 6), (shape[0] - 1, 0)):
            with tw.device(device):
                z = output(np.zeros((8, 8), np.float32))
                patch(z.cut(8, 8), x, row, column).sync()
                got = z.result()
            assert np.array_equal(got, expected_window(x, (row, column), (8, 8), -1))


def test_checked_offsets(device, rng):
    x = rng.integers(1, 100, 21).astype(np.float32)
    with tw.device(device):
        for start in (0, 1, 13, 20):
            z = output(np.zeros(16, np.float32))
            checked(z.cut(16), x, start).sync()
            assert np.array_equal(z.result(), expected_window(x, (start,), (16,), 0))
        z = tw.ones((16,)).sync()
        for start in (-1, 21, 1 << 30, -(1 << 31)):
            with pytest.raises(LaunchError, match="`x`"):
                checked(z.partition_mut((16,)), x, start).sync()


@tw.entry
def differences(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """The bound of every offset is proved, or known at launch."""
    (n,) = z.shape
    first = tl.block_id(0) * n
    z.store(x.load_at(first + 1, n, padding=0) - x.load_at(first, n))


@pytest.mark.cpu_alone
def test_proved_offsets_cost_nothing():
    z, x = tw.meta((100,)).partition_mut((16,)), tw.meta((101,))
    found = differences.checks(z, x, device="cpu")
    assert found.in_kernel == 0
    x = np.arange(101, dtype=np.float32) ** 2
    out = tw.empty((100,)).sync()
    differences(out.partition_mut((16,)), x).sync()
    assert np.array_equal(out.to_numpy(), np.diff(x))


# --- stores into the block's own region --------------------------------------------------------


@tw.entry
def shifted(z: tl.TensorMut, x: tl.Tensor, by: i32) -> None:
    z.store(0)
    z.store_at(tl.load_tile_like(x, z), by)


@tw.entry
def corners(z: tl.TensorMut[i32], x: tl.Tensor[i32, tl.Dyn, tl.Dyn], row: i32) -> None:
    z.store(-1)
    part = x.load_tile((2, 4), [0, 0])
    z.store_at(part, (row, 1))
    z.store_at(part + 100, [row + 1, 3])
    z.store_at(z.load_at((row, 1), (2, 2)), (0, 0))


@pytest.mark.parametrize("dtype", [f32, bf16, i8, i64], ids=str)
def test_stores_stay_in_the_region_of_the_block(device, dtype, rng):
    for count in BOUNDARY:
        x = rng.integers(1, 100, count).astype(dtype.np)
        for by in (0, 1, 7, 15):
            with tw.device(device):
                z = output(x, dtype)
                shifted(z.cut(16), x, by).sync()
                got = z.result()
            expected = np.zeros(-(-count // 16) * 16, dtype.np)
            for first in range(0, count, 16):
                part = x[first : first + 16 - by]
                expected[first + by : first + by + len(part)] = part
            assert np.array_equal(got, expected[:count]), (count, by)


def test_stores_that_overlap(device):
    x = np.arange(8, dtype=np.int32).reshape(2, 4)
    for rows, columns in ((8, 8), (13, 11)):
        for row in (0, 3, 6, 7):
            with tw.device(device):
                z = output(np.zeros((rows, columns), np.int32))
                if row == 7:
                    with pytest.raises(LaunchError, match="`z`"):
                        corners(z.cut(8, 8), x, row).sync()
                    continue
                corners(z.cut(8, 8), x, row).sync()
                got = z.result()
            expected = np.full((16, 16), -1, np.int32)
            for i, j in itertools.product((0, 8), (0, 8)):
                region = expected[i : i + 8, j : j + 8]
                inside = np.full((8, 8), -1, np.int32)
                inside[: max(rows - i, 0), : max(columns - j, 0)] = 0
                region[row : row + 2, 1:5] = x
                room = region[row + 1 : row + 3, 3:7]
                room[:] = (x + 100)[: len(room)]
                corner = region[row : row + 2, 1:3].copy()
                reach = inside[row : row + 2, 1:3] == 0
                region[:2, :2] = np.where(reach, corner, 0)
            assert np.array_equal(got, expected[:rows, :columns]), (rows, row)


@pytest.mark.parametrize("by", [-1, 16, 1 << 30])
def test_stores_outside_of_the_region_fail(device, by):
    with tw.device(device):
        z = tw.ones((40,)).sync()
        with pytest.raises(LaunchError, match="`z`"):
            shifted(z.partition_mut((16,)), np.ones(40, np.float32), by).sync()
