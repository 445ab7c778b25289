"""Tiles in the forms that a GPU gives them: full and ragged ones, of loops, gathered, converted.

Each kernel runs with shapes on both sides of its tiles, beside NumPy; outputs are poisoned. What is
near to the inputs is NaN, so that a masked element that is read shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright.base.dtypes import bf16, f16, f32, i8, i32

pytestmark = pytest.mark.usefixtures("device")


def within(values, dtype):
    """A tensor in the middle of a larger one, which is NaN, or the largest number."""
    other = np.nan if dtype.is_float else 127
    around = np.full([n + 40 for n in values.shape], other, dtype.np)
    inner = tuple(slice(16, 16 + n) for n in values.shape)
    around[inner] = values.astype(dtype.np)
    return tw.from_numpy(around).sync()[inner]


def poisoned(shape, dtype=f32):
    return tw.full(shape, float("nan"), dtype).sync()


def numbers(shape, low=-4, high=5):
    return fresh_rng().integers(low, high, shape).astype(np.float32)


@tw.entry
def biased(z: tl.TensorMut, x: tl.Tensor, bias: tl.Tensor) -> None:
    row = bias.load_tile((z.shape[1],), [tl.block_id(1)])
    z.store(tl.load_tile_like(x, z) * 2 + row[None, :])


@pytest.mark.parametrize("shape", [(1, 1), (8, 32), (16, 64), (17, 64), (16, 63), (7, 31), (0, 5)])
@pytest.mark.parametrize("dtype", [f32, f16], ids=str)
def test_tiles_of_several_rows(shape, dtype):
    x, bias = numbers(shape), numbers(shape[1:])
    z = poisoned(shape, dtype)
    biased(z.partition_mut((8, 32)), within(x, dtype), within(bias, dtype)).sync()
    np.testing.assert_array_equal(z.to_numpy().astype(np.float32), x * 2 + bias)


@tw.entry
def row_sums(z: tl.TensorMut[f32], x: tl.Tensor, *, BN: tl.Const[int] = 64) -> None:
    xs = x.partition((z.shape[0], BN))
    total = tl.zeros(z.shape, f32)
    for k in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load([tl.block_id(0), k]).astype(f32), 1)
    z.store(total)


@pytest.mark.parametrize("shape", [(8, 64), (8, 640), (9, 64), (7, 65), (1, 63), (16, 191), (3, 0)])
@pytest.mark.parametrize("dtype", [f32, bf16, i8], ids=str)
def test_loops_over_a_row(shape, dtype):
    x, z = numbers(shape), poisoned(shape[:1])
    row_sums(z.partition_mut((8,)), within(x, dtype)).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.sum(1))


@tw.entry
def parts(
    z: tl.TensorMut[f32], x: tl.Tensor, scale: tl.Tensor, *, ROWS: tl.Const[int] = 16,
    BM: tl.Const[int] = 4,
) -> None:  # fmt: skip
    part, j, _ = tl.get_tile_block_id()
    xs, scales = x.partition((BM, z.shape[1])), scale.partition((BM, 1))
    total = tl.zeros((z.shape[1],), f32)
    first = part * (ROWS // BM)
    for i in range(first, min(first + ROWS // BM, xs.num_tiles(0))):
        total = total + tl.reduce_sum(xs.load([i, j]).astype(f32) * scales.load([i, 0]), 0)
    z.store(total.reshape(1, z.shape[1]))


@pytest.mark.parametrize("shape", [(16, 32), (64, 64), (63, 64), (33, 33), (1, 31), (65, 1)])
def test_partial_sums_of_rows(shape):
    """Their loops begin and end at numbers that depend on the block."""
    x, scale = numbers(shape), numbers((shape[0], 1))
    rows = -(-shape[0] // 16)
    z = poisoned((rows, shape[1]))
    parts(z.partition_mut((1, 32)), within(x, f16), within(scale, f32)).sync()
    padded = np.pad(x * scale, ((0, rows * 16 - shape[0]), (0, 0)))
    np.testing.assert_array_equal(z.to_numpy(), padded.reshape(rows, 16, -1).sum(1))


@tw.entry
def every_third(z: tl.TensorMut[f32], x: tl.Tensor, *, N: tl.Const[int] = 16) -> None:
    xs = x.partition((N,), padding=100.0)
    total = tl.zeros((N,), f32)
    for k in range(0, xs.num_tiles(0), 3):
        total = total + xs.load([k]) + xs.load([k // 2])
    z.store(total)


@pytest.mark.parametrize("length", [1, 16, 31, 48, 49, 128, 160, 170])
def test_indices_that_a_loop_computes(length):
    x, z = numbers((length,)), poisoned((16,))
    every_third(z.partition_mut((16,)), within(x, f32)).sync()
    tiles = np.pad(x, (0, -length % 16), constant_values=100).reshape(-1, 16)
    expected = sum(tiles[k] + tiles[k // 2] for k in range(0, len(tiles), 3))
    np.testing.assert_array_equal(z.to_numpy(), expected)


@tw.entry
def quantized(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, scale: tl.Tensor[f32], *, BK: tl.Const[int] = 32
) -> None:
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((z.shape[0], BK)), w.partition((BK, z.shape[1]))
    acc = tl.zeros(z.shape, f32)
    for k in range(ws.num_tiles(0)):
        acc = tl.mma(xs.load([i, k]), ws.load([k, j]).astype(x.dtype), acc)
    z.store((acc * scale.load_tile((z.shape[1],), [j])[None, :]).astype(z.dtype))


@pytest.mark.parametrize("shape", [(16, 32, 64), (33, 65, 63), (1, 1, 1), (17, 96, 130), (8, 0, 8)])
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_products_of_converted_weights(shape, dtype):
    m, k, n = shape
    x, w, scale = numbers((m, k)), numbers((k, n)), numbers((n,), 1, 3)
    z = poisoned((m, n))
    tensors = within(x, dtype), within(w, i8), within(scale, f32)
    quantized(z.partition_mut((16, 64)), *tensors).sync()
    np.testing.assert_array_equal(z.to_numpy(), (x @ w) * scale)


@tw.entry
def gathered(
    z: tl.TensorMut[f32], x: tl.Tensor, rows: tl.Tensor[i32], w: tl.Tensor, *,
    BK: tl.Const[int] = 32,
) -> None:  # fmt: skip
    view = tl.make_gather_scatter_view(x, (z.shape[0], BK), 0, padding=0)
    index, ws = rows.load_tile((z.shape[0],), [tl.block_id(0)]), w.partition((BK, z.shape[1]))
    acc = tl.zeros(z.shape, f32)
    for k in range(ws.num_tiles(0)):
        acc = tl.mma(view.load([index, k * BK]), ws.load([k, tl.block_id(1)]), acc)
    z.store(acc)


@pytest.mark.parametrize("shape", [(32, 64, 32), (33, 65, 31), (1, 1, 1), (48, 96, 40)])
def test_products_of_gathered_rows(shape):
    m, k, n = shape
    x, w = numbers((20, k)), numbers((k, n))
    rows = fresh_rng().integers(0, 20, m).astype(np.int32)
    z = poisoned((m, n))
    gathered(z.partition_mut((16, 32)), within(x, f16), within(rows, i32), within(w, f16)).sync()
    np.testing.assert_array_equal(z.to_numpy(), x[rows] @ w)


@tw.entry
def rows_of(out: tl.TensorMut, table: tl.Tensor, numbers: tl.Tensor[i32]) -> None:
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(table, out.shape, 0, padding=7)
    out.store(view.load([numbers.load_tile((out.shape[0],), [i], padding=0), j * out.shape[1]]))


@pytest.mark.parametrize("shape", [(1, 1), (3, 63), (17, 64), (16, 65), (2003, 1100)], ids=str)
@pytest.mark.parametrize("tile", [(1, 64), (4, 32), (16, 128)], ids=str)
def test_rows_by_number(shape, tile):
    """The largest output is written past the caches."""
    rng = fresh_rng()
    table = rng.standard_normal((37, shape[1])).astype(np.float32)
    numbers = rng.integers(0, 37, shape[0]).astype(np.int32)
    out = poisoned(shape)
    rows_of(out.partition_mut(tile), within(table, f32), within(numbers, i32)).sync()
    np.testing.assert_array_equal(out.to_numpy(), table[numbers])
