"""Private copies of accumulators: the same sums as atomics give, whatever fits and pays."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import bf16, f16, f32, f64, i32, i64, u32
from tilewright.backend.cpu.loopnest.optimize import PRIVATE_BYTES

ROOM = PRIVATE_BYTES // 4
BLOCK = 4096


@tw.entry
def count(counts: tl.Accumulator, x: tl.Tensor[i32]) -> None:
    counts.add(1, x.load_tile(BLOCK, tl.block_id(0), padding=-1), clip=True)


@tw.entry
def rows(acc: tl.Accumulator, x: tl.Tensor, at: tl.Tensor[i32]) -> None:
    i = tl.block_id(0)
    acc.add(x.load_tile((1024, 8), [i, 0]), (at.load_tile(1024, i, padding=-1), 0), clip=True)


@tw.entry
def extremes(most: tl.Accumulator, least: tl.Accumulator, x: tl.Tensor, at: tl.Tensor[i32]) -> None:
    place = at.load_tile(1024, tl.block_id(0), padding=-1)
    most.max(x.load_tile(1024, tl.block_id(0)), place, clip=True)
    least.min(x.load_tile(1024, tl.block_id(0)), place, clip=True)


@tw.entry
def two_ways(acc: tl.Accumulator, at: tl.Tensor[i32]) -> None:
    place = at.load_tile(1024, tl.block_id(0), padding=-1)
    acc.max(1, place, clip=True)
    acc.add(1, place, clip=True)


@tw.entry
def scaled(acc: tl.Accumulator, x: tl.Tensor, at: tl.Tensor[i32]) -> None:
    i = tl.block_id(0)
    acc.add(x.load_tile(1024, i), at.load_tile(1024, i, padding=-1), clip=True)


def places(size, extent):
    """Numbers of elements, some of them outside."""
    return fresh_rng().integers(-2, extent + 2, size).astype(np.int32)


@pytest.mark.parametrize("blocks", [1, 2, 33])
@pytest.mark.parametrize("extent", [0, 1, 256, 1023, 1024, 1025, ROOM - 1, ROOM, ROOM + 1])
def test_counts(extent, blocks):
    x = places(blocks * BLOCK - 3, extent)
    start = fresh_rng().integers(-5, 5, extent).astype(np.int32)
    counts = tw.from_numpy(start).sync()
    count(counts.borrow_mut(), x).grid((blocks,)).sync()
    inside = x[(x >= 0) & (x < extent)]
    expected = start + np.bincount(inside, minlength=extent)
    np.testing.assert_array_equal(counts.to_numpy(), expected)


@pytest.mark.parametrize("dtype", [i32, u32, i64])
def test_extremes(dtype):
    info = np.iinfo(dtype.np)
    x = fresh_rng().integers(info.min, info.max, 8192, dtype=dtype.np, endpoint=True)
    at = places(8192, 100)
    most, least = (tw.full((100,), 3, dtype).sync() for _ in range(2))
    extremes(most.borrow_mut(), least.borrow_mut(), x, at).grid((8,)).sync()
    inside = (at >= 0) & (at < 100)
    for tensor, ufunc in ((most, np.maximum), (least, np.minimum)):
        expected = np.full(100, 3, dtype.np)
        ufunc.at(expected, at[inside], x[inside])
        np.testing.assert_array_equal(tensor.to_numpy(), expected)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64, i64])
def test_sums(dtype):
    x = fresh_rng().integers(-2, 3, 8192).astype(dtype.np)
    at = places(8192, 50)
    total = tw.full((50,), 1, dtype).sync()
    scaled(total.borrow_mut(), x, at).grid((8,)).sync()
    inside = (at >= 0) & (at < 50)
    expected = np.ones(50)
    np.add.at(expected, at[inside], x[inside].astype("f8"))  # exact: no sum reaches 256
    np.testing.assert_array_equal(total.to_numpy().astype("f8"), expected)


def test_elements_that_nobody_updates_keep_their_sign_and_their_nan():
    start = np.array([-0.0, 0.0, np.nan, -np.inf] * 4, np.float32)
    total = tw.from_numpy(start).sync()
    scaled(total.borrow_mut(), np.ones(1024, np.float32), np.full(1024, 5, np.int32)).grid(1).sync()
    start[5] += 1024
    assert total.to_numpy().tobytes() == start.tobytes()


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("width", [1, 7, 8, 9, 100, 500])  # copies of 50 rows of 500 do not fit
@pytest.mark.parametrize("dtype", [f32, f64, bf16, i32])
def test_rows_of_a_part_of_a_larger_tensor(dtype, width, start):
    whole = np.full((60, width + 5), 7, dtype.np)
    tensor = tw.from_numpy(whole).sync()
    x = fresh_rng().integers(-1, 2, (4096, 8)).astype(dtype.np)
    at = places(4096, 50)
    rows(tensor.borrow_mut()[5:55, start : width + start], x, at).grid((4,)).sync()
    inside, total = (at >= 0) & (at < 50), whole.astype("f8")
    np.add.at(total[5:55, start : min(8, width) + start], at[inside], x[inside, :width])
    np.testing.assert_array_equal(tensor.to_numpy().astype("f8"), total)


def test_two_operations_stay_atomic():
    tensor = tw.zeros(8, i32).sync()
    two_ways(tensor.borrow_mut(), np.zeros(4096, np.int32)).grid((4,)).sync()
    assert tensor.to_numpy()[0] in range(4096, 4098)
    assert tensor.to_numpy()[1:].sum() == 0


def test_explain_names_the_copy():
    counts, x = tw.meta((256,), i32), tw.meta((BLOCK,), i32)
    text = str(count.explain(counts.borrow_mut(), x))
    assert f"copy of counts per worker, if it has at most {ROOM} elements" in text
