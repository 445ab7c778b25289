"""Shapes of tiles: indices written out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, apply, checked, poisoned
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, bool_, f4e2m1fn, f32, i32


def data(dtype, *shape):
    top = 2 if dtype is bool_ else 16 if dtype is f4e2m1fn else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[..., 0]


def bits(a):
    return np.ascontiguousarray(a).view(np.dtype(f"V{a.dtype.itemsize}"))


@pytest.mark.parametrize("dtype", ALL)
def test_reshape_is_row_major(dtype):
    a = data(dtype, 2, 3, 4)
    got = apply("reshape", (dtype, a), shape=(4, 6))
    for i in range(24):
        assert bits(got)[i // 6, i % 6] == bits(a)[i // 12, i // 4 % 3, i % 4]


@pytest.mark.parametrize(("old", "new"), [((1,), ()), ((), (1, 1)), ((8,), (2, 2, 2))])
def test_reshape_of_other_ranks(old, new):
    a = data(i32, *old)
    got = apply("reshape", (i32, a), shape=new)
    assert got.shape == new
    assert got.ravel().tolist() == a.ravel().tolist()


@pytest.mark.parametrize("dtype", ALL)
def test_broadcast_repeats(dtype):
    a = data(dtype, 1, 3, 1)
    got = apply("broadcast", (dtype, a), shape=(2, 3, 4))
    for i, j, k in np.ndindex(2, 3, 4):
        assert bits(got)[i, j, k] == bits(a)[0, j, 0]


@pytest.mark.parametrize("dtype", ALL)
def test_permute_moves_axes(dtype):
    a = data(dtype, 2, 3, 4)
    got = apply("permute", (dtype, a), order=(2, 0, 1))
    assert got.shape == (4, 2, 3)
    for i, j, k in np.ndindex(2, 3, 4):
        assert bits(got)[k, i, j] == bits(a)[i, j, k]


@pytest.mark.parametrize("dtype", ALL)
def test_cat_along_an_axis(dtype):
    a, b = data(dtype, 2, 3), data(dtype, 2, 5)
    got = apply("cat", (dtype, a), (dtype, b), axis=1)
    assert got.shape == (2, 8)
    assert np.array_equal(bits(got)[:, :3], bits(a))
    assert np.array_equal(bits(got)[:, 3:], bits(b))


@pytest.mark.parametrize("index", [(0, 0), (1, 2), (-1, -1), (2, 3), (7, -4)])
def test_extract_counts_in_parts_and_wraps(index):
    a = data(f32, 4, 6)
    k = Kernel()
    x, out = k.tensor("x", f32, 2), k.output("out", f32, 2)
    i, j = k.scalar("i", i32), k.scalar("j", i32)
    k.store(k.emit("extract", k.load(x, (4, 6)), [i, j], shape=(2, 2)), out)
    result = poisoned(f32, (2, 2))
    checked(k.finish(), [a, result, *index])
    row, column = index[0] % 2 * 2, index[1] % 3 * 2
    assert np.array_equal(bits(result), bits(a[row : row + 2, column : column + 2]))


def test_chains_of_layout_ops_keep_elements():
    a = data(i32, 2, 8)
    turned = apply("permute", (i32, a), order=(1, 0))
    back = apply("permute", (i32, apply("reshape", (i32, turned), shape=(8, 2))), order=(1, 0))
    assert np.array_equal(back, a)
