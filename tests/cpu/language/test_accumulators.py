"""Accumulators: any block adds to them, none reads them; against NumPy's unbuffered operations."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY, held
from support.numbers import int_values, wide
from tilewright import bf16, f16, f32, f64, i32, i64, u32, u64
from tilewright.base.errors import LaunchError

INTS = (i32, i64, u32, u64)


@tw.entry
def histogram(counts: tl.Accumulator, x: tl.Tensor[i32]) -> None:
    counts.add(1, x.load_tile(16, tl.block_id(0), padding=-1), clip=True)


@tw.entry
def scattered(acc: tl.Accumulator, x: tl.Tensor, places: tl.Tensor[i32]) -> None:
    at = places.load_tile(16, tl.block_id(0), padding=-1)
    acc.add(x.load_tile(16, tl.block_id(0)), at, clip=True)


@tw.entry
def checked(acc: tl.Accumulator, places: tl.Tensor[i32]) -> None:
    acc.add(1, places.load_tile(16, 0))


@tw.entry
def extremes(most: tl.Accumulator, least: tl.Accumulator, x: tl.Tensor, at: tl.Tensor[i32]) -> None:
    place = at.load_tile(16, tl.block_id(0), padding=-1)
    most.max(x.load_tile(16, tl.block_id(0)), place, clip=True)
    least.min(x.load_tile(16, tl.block_id(0)), place, clip=True)


@tw.entry
def embedding(
    grad: tl.Accumulator[f32, tl.Dyn, tl.Dyn],
    tokens: tl.Tensor[i32],
    rows: tl.Tensor[f32, tl.Dyn, tl.Dyn],
) -> None:
    i, j, _ = tl.get_tile_block_id()
    at = tokens.load_tile(8, i, padding=-1)
    grad.add(rows.load_tile((8, 4), (i, j)), (at, j * 4), clip=True)


@tw.entry
def split_k(
    z: tl.Accumulator[f32, tl.Dyn, tl.Dyn],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
) -> None:
    i, j, k = tl.get_tile_block_id()
    z.add(x.load_tile((16, 16), (i, k)) @ y.load_tile((16, 16), (k, j)), (i * 16, j * 16))


@tw.entry
def anywhere(z: tl.Accumulator, row: i32, column: i32) -> None:
    z.add(tl.arange(8).reshape(2, 4).astype(z.dtype), (row, column), clip=True)
    z.add(1, (0, 0))


@tw.entry
def in_fixed_point(
    acc: tl.Accumulator[i64], x: tl.Tensor, places: tl.Tensor[i32], most: tl.Tensor
) -> None:
    at = places.load_tile(16, tl.block_id(0), padding=-1)
    bits = tl.fixed_bits(most.load_tile(1, 0).item(), x.shape[0])
    acc.add(tl.to_fixed(x.load_tile(16, tl.block_id(0)), bits), at, clip=True)


@tw.entry
def to_floats(out: tl.TensorMut, acc: tl.Tensor[i64], most: tl.Tensor, count: i32) -> None:
    bits = tl.fixed_bits(most.load_tile(1, 0).item(), count)
    out.store(tl.from_fixed(tl.load_tile_like(acc, out), bits, out.dtype))


@tw.entry
def converted(out: tl.TensorMut[i64], x: tl.Tensor, *, BITS: tl.Const[int]) -> None:
    out.store(tl.to_fixed(tl.load_tile_like(x, out), BITS))


def accumulated(kernel, dtype, start, grid, *args):
    """What an accumulator has after a launch; it lies inside a larger tensor."""
    whole = np.full([n + 6 for n in start.shape], 5, dtype.np)
    inside = tuple(slice(3, 3 + n) for n in start.shape)
    whole[inside] = start
    tensor = held(whole, dtype)
    kernel(tensor.borrow_mut()[inside], *args).grid(grid).sync()
    result = tensor.to_numpy()
    got = result[inside].copy()
    result[inside] = 5
    assert (wide(result) == 5).all(), "something outside of the accumulator is written"
    return got


@pytest.mark.parametrize("dtype", [*INTS, f16, bf16, f32, f64], ids=str)
def test_histograms(device, dtype, rng):
    for count in BOUNDARY:
        for bins in (1, 7, 40):
            x = rng.integers(-2, bins + 2, count).astype(np.int32)
            start = rng.integers(0, 9, bins).astype(dtype.np)
            with tw.device(device):
                got = accumulated(histogram, dtype, start, (-(-count // 16),), x)
            inside = x[(x >= 0) & (x < bins)]
            expected = wide(start) + np.bincount(inside, minlength=bins)
            assert np.array_equal(wide(got), expected), (count, bins)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_scattered_integers_wrap(device, dtype, rng):
    x = int_values(dtype, rng, 60)
    at = rng.integers(0, 10, len(x)).astype(np.int32)
    start = np.zeros(10, dtype.np)
    with tw.device(device):
        got = accumulated(scattered, dtype, start, (-(-len(x) // 16),), x, at)
    with np.errstate(over="ignore"):
        np.add.at(start, at, x)
    assert np.array_equal(got, start)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_scattered_floats(device, dtype, rng):
    x = rng.standard_normal(100).astype(dtype.np)
    at = rng.integers(0, 10, 100).astype(np.int32)
    start = rng.standard_normal(10).astype(dtype.np)
    with tw.device(device):
        got = accumulated(scattered, dtype, start, (7,), x, at)
    expected = start.astype(np.float64)
    np.add.at(expected, at, x.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_extremes(device, dtype, rng):
    x = int_values(dtype, rng, 60)
    at = rng.integers(0, 10, len(x)).astype(np.int32)
    most, least = np.zeros((2, 10), dtype.np)
    with tw.device(device):
        high, low = held(most.copy(), dtype), held(least.copy(), dtype)
        extremes(high.borrow_mut(), low.borrow_mut(), x, at).grid((-(-len(x) // 16),)).sync()
        np.maximum.at(most, at, x)
        np.minimum.at(least, at, x)
        assert np.array_equal(high.to_numpy(), most)
        assert np.array_equal(low.to_numpy(), least)


def test_gradients_of_embeddings(device, rng):
    for tokens, width in ((1, 1), (8, 4), (21, 11)):
        at = rng.integers(0, 5, tokens).astype(np.int32)
        rows = rng.standard_normal((tokens, width)).astype(np.float32)
        with tw.device(device):
            grid = (-(-tokens // 8), -(-width // 4))
            start = np.zeros((5, width), np.float32)
            got = accumulated(embedding, f32, start, grid, at, rows)
        np.add.at(start, at, rows)
        np.testing.assert_allclose(got, start, rtol=1e-5, atol=1e-5)


def test_products_split_along_the_inner_axis(device, rng):
    for m, n, k in ((1, 1, 1), (16, 16, 16), (17, 33, 50)):
        x, y = (rng.integers(-4, 5, s).astype(np.float32) for s in ((m, k), (k, n)))
        grid = tuple(-(-size // 16) for size in (m, n, k))
        with tw.device(device):
            got = accumulated(split_k, f32, np.zeros((m, n), np.float32), grid, x, y)
        assert np.array_equal(got, x @ y)


@pytest.mark.parametrize("dtype", [i32, f32], ids=str)
def test_tiles_at_any_place(device, dtype):
    for row, column in ((0, 0), (-1, 2), (4, 5), (3, -3), (9, 9)):
        expected = np.zeros((5, 7), dtype.np)
        for (i, j), value in np.ndenumerate(np.arange(8).reshape(2, 4)):
            if 0 <= row + i < 5 and 0 <= column + j < 7:
                expected[row + i, column + j] += value
        expected[0, 0] += 1
        with tw.device(device):
            got = accumulated(anywhere, dtype, np.zeros_like(expected), (1,), row, column)
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("wrong", [-1, 10, 1 << 30])
def test_places_out_of_bounds_fail(device, wrong):
    places = np.zeros(16, np.int32)
    places[5] = wrong
    with tw.device(device):
        acc = tw.zeros((10,), i32).sync()
        with pytest.raises(LaunchError, match="`acc`"):
            checked(acc.borrow_mut(), places).grid((1,)).sync()


def test_launches_add_to_what_is_there(device):
    places = np.arange(16, dtype=np.int32) % 10
    with tw.device(device):
        acc = tw.full((10,), 7, i32).sync()
        for _ in range(3):
            checked(acc.borrow_mut(), places).grid((1,)).sync()
        assert np.array_equal(acc.to_numpy(), 7 + 3 * np.bincount(places))


@tw.entry
def norms(z: tl.TensorMut[f32], total: tl.Accumulator[f64, tl.Dyn], x: tl.Tensor[f32]) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile * tile)
    total.add(tl.reduce_sum(tile * tile).astype(f64), 0)


def test_accumulators_beside_outputs(device, rng):
    """Outputs say how many blocks there are."""
    x = rng.integers(-9, 9, 100).astype(np.float32)
    with tw.device(device):
        z, total = tw.empty((100,)).sync(), tw.zeros((1,), f64).sync()
        norms(z.partition_mut(16), total.borrow_mut(), x).sync()
        assert np.array_equal(z.to_numpy(), x * x)
        assert total.item() == (x.astype(np.float64) ** 2).sum()


def test_an_accumulator_is_borrowed_exclusively(device):
    with tw.device(device):
        acc = tw.zeros((16,), i32).sync()
        with pytest.raises(tw.BorrowError, match="write and read one tensor"):
            histogram(acc.borrow_mut(), acc)
        with pytest.raises(tw.BorrowError, match="is an accumulator, but got a plain tensor"):
            histogram(acc, np.zeros(3, np.int32))
        with pytest.raises(LaunchError, match="Launch grid required"):
            histogram(acc.borrow_mut(), np.zeros(3, np.int32)).sync()
        result = histogram(acc.borrow_mut(), np.zeros(3, np.int32)).grid((1,)).out().sync()
        assert result is acc
        assert acc.to_numpy()[0] == 3


# --- sums that have the same bits in each run --------------------------------------------------


@pytest.mark.parametrize("strides", [(0, 4), (4, 0), (4, 4)])
def test_an_accumulator_has_an_element_for_each_index(strides):
    memory = np.zeros(12, np.float32)
    shared = np.lib.stride_tricks.as_strided(memory, (3, 3), strides)
    grad, rows = tw.asarray(shared), np.ones((3, 3), np.float32)
    with pytest.raises(tw.ShapeError, match="indices share memory"):
        embedding(grad.borrow_mut(), np.zeros(3, np.int32), rows).grid((1, 1)).sync()
    assert not memory.any()


@pytest.mark.parametrize("scale", [1.0, 1e30, 1e-30])
@pytest.mark.parametrize("dtype", [f64, f32])
def test_fixed_point_sums_do_not_depend_on_order(device, scale, dtype, rng):
    count = 777
    x = (rng.standard_normal(count) * scale).astype(dtype.np)
    at = rng.integers(0, 3, count).astype(np.int32)
    most = np.abs(x).max(keepdims=True)
    bits = 62 - (np.frexp(np.float64(most[0]))[1] + int(count).bit_length())
    exact = np.zeros(3, np.int64)
    np.add.at(exact, at, np.round(np.ldexp(x.astype("f8"), bits)).astype(np.int64))
    with tw.device(device):
        for order in (np.arange(count), rng.permutation(count)):
            acc = tw.zeros((3,), i64).sync()
            given = x[order], at[order], most
            in_fixed_point(acc.borrow_mut(), *given).grid(-(-count // 16)).sync()
            np.testing.assert_array_equal(acc.to_numpy(), exact)
        out = tw.zeros((3,), f64).sync()
        to_floats(out.partition_mut(4), acc, most, count).sync()
        np.testing.assert_array_equal(out.to_numpy(), np.ldexp(exact.astype("f8"), -bits))
        bound = float(most[0]) * count**2 / 2.0**60
        np.testing.assert_allclose(out.to_numpy(), np.bincount(at, x, 3), rtol=0, atol=bound)


@pytest.mark.parametrize("bits", [0, 3, -2, 5000, -5000])
def test_fixed_point_at_the_edges(device, bits):
    x = np.array([0.0, -0.0, 1.3, -1.5, 2.5, 1e300, -np.inf, np.nan])
    kept = max(min(bits, 1000), -1000)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(x, kept)
    least, most = -(2**63), 2**63 - 1
    expected = [
        0
        if np.isnan(v)
        else most
        if v >= 2.0**63
        else least
        if v < -(2.0**63)
        else int(np.round(v))
        for v in scaled
    ]
    with tw.device(device):
        out = tw.zeros((8,), i64).sync()
        converted(out.partition_mut(8), x, BITS=bits).sync()
        assert out.to_numpy().tolist() == expected
