from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run, scalar, tensor
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.base.errors import Code, CompileError

EXTENTS = [1, 3, 4, 5, 7, 8, 13]


@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_mask_is_true_inside_the_tensor(n, m):
    def kernel(z: tl.TensorMut[bool_], x: tl.Tensor) -> None:
        i, j, _ = tl.get_tile_block_id()
        z.store(x.load_tile((4, 2), (i, j)).mask())

    rows, columns = -(-n // 4), -(-m // 2)
    z = np.zeros((rows * 4, columns * 2), bool)
    x = np.zeros((n, m), np.float32)
    run(ir_of(kernel, out((4, 2), bool_), tensor(2)), z, x, grid=(rows, columns, 1))
    expected = np.zeros_like(z)
    expected[:n, :m] = True
    assert np.array_equal(z, expected)


@pytest.mark.parametrize("n", EXTENTS)
def test_a_row_mean_with_a_mask(n):
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = tl.load_tile_like(x, z, padding=tl.nan)
        m = t.mask()
        total = tl.reduce_sum(tl.where(m, t, 0.0), 0)
        z.store(tl.full(z.shape, total / tl.reduce_sum(m.astype(f32), 0)))

    x, z = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    run(ir_of(kernel, out((16,)), tensor(1)), z, x)
    assert np.array_equal(z, np.full(n, x.mean()))


def test_a_whole_number_of_tiles_needs_no_comparison():
    def kernel(z: tl.TensorMut[bool_], x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z).mask())

    func = ir_of(kernel, out((4,), bool_, (8,)), tensor(1, shape=(8,)))
    assert "cmpi" not in [op.name for op in func.walk()]


def test_permuted_tiles_follow_their_tensor_axis():
    def kernel(z: tl.TensorMut[bool_], x: tl.Tensor) -> None:
        z.store(x.partition_permuted((4, 8), (1, 0)).load((0, 0)).mask())

    z = np.zeros((4, 8), bool)
    run(ir_of(kernel, out((4, 8), bool_), tensor(2)), z, np.zeros((5, 3), np.float32))
    row, column = np.indices((4, 8))
    assert np.array_equal(z, (row < 3) & (column < 5))


def test_nested_tiles_end_with_the_region_and_with_the_tensor():
    def kernel(z: tl.TensorMut[i32]) -> None:
        p = z.partition_mut((4,))
        for k in range(2):
            p.store(tl.full((4,), tl.reduce_sum(p.load(k).mask().astype(i32), 0)), k)

    z = np.zeros(13, np.int32)
    run(ir_of(kernel, out((8,), i32)), z, grid=(2, 1, 1))
    assert list(z) == [4] * 12 + [1]

    def hanging(z: tl.TensorMut[i32]) -> None:
        n = tl.reduce_sum(z.partition_mut((16,)).load(0).mask().astype(i32), 0)
        z.store(tl.full(z.shape, n))

    z = np.zeros(13, np.int32)
    run(ir_of(hanging, out((8,), i32)), z, grid=(2, 1, 1))
    assert list(z) == [8] * 8 + [5] * 5


@pytest.mark.parametrize("index", [-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1])
def test_unchecked_tiles_may_lie_anywhere(index):
    def kernel(z: tl.TensorMut[bool_], x: tl.Tensor, i: i32) -> None:
        z.store(x.partition((4,)).load_unchecked(i).mask())

    z = np.zeros(4, bool)
    func = ir_of(kernel, out((4,), bool_), tensor(1), scalar(i32), unsafe=True)
    run(func, z, np.zeros(10, np.float32), index)
    where = index * 4 + np.arange(4)
    assert np.array_equal(z, (where >= 0) & (where < 10))


def test_rows_of_a_gather_are_looked_at_one_by_one():
    def kernel(z: tl.TensorMut[bool_], x: tl.Tensor, rows: tl.Tensor[i32]) -> None:
        view = tl.make_gather_scatter_view(x, (4, 2), 0)
        z.store(tl.load_view_tko(view, [rows.load_tile((4,), 0), 2]).mask())

    z = np.zeros((4, 2), bool)
    func = ir_of(kernel, out((4, 2), bool_), tensor(2), tensor(1, i32), unsafe=True)
    run(func, z, np.zeros((5, 3), np.float32), np.array([4, -1, 0, 5], np.int32))
    assert np.array_equal(z, [[True, False], [False, False], [True, False], [False, False]])


def test_only_loaded_tiles_have_a_mask():
    def kernel(z: tl.TensorMut) -> None:
        z.store(tl.where((z.load() + 1.0).mask(), 1.0, 0.0))

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)))
    assert caught.value.code is Code.TYPE
    assert caught.value.message == "only a loaded tile has a mask"
