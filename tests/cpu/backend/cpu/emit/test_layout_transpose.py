"""Turned tiles of every dtype, shape and order, alone and packed for a product."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, Native, assert_kernel, assert_ops, case
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, bool_, f32, i8, i64


def random_bits(dtype, shape):
    top = 2 if dtype is bool_ else 16 if dtype.bits == 4 else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[..., 0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype(dtype):
    for shape in [(16, 16), (64, 32), (8, 128)]:
        assert_ops([case("permute", order=(1, 0))], (dtype, random_bits(dtype, shape)))


@pytest.mark.thinned(9)
@pytest.mark.parametrize("dtype", [i8, f32, i64])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_every_order(dtype, order):
    x = random_bits(dtype, (8, 16, 32))
    assert_ops([case("permute", order=order)], (dtype, x))


def test_what_is_computed_before_and_after():
    k = Dense()
    x = k.load(k.tensor("x", f32, 2), (32, 16))
    turned = k.emit("permute", k.emit("exp", x), order=(1, 0))
    k.store(k.emit("addf", turned, turned), k.output("z", f32, 2))
    data = fresh_rng().integers(-3, 3, (32, 16)).astype("f4")
    native, got = Native(k.finish()), poisoned(f32, (16, 32))
    native([data, got])
    np.testing.assert_allclose(got, 2 * np.exp(data.T), rtol=1e-6)


@pytest.mark.parametrize("shape", [(64, 64), (5, 77), (70, 3), (1, 1)])
def test_accesses_across_the_dense_axis(shape):
    """The view's axes are exchanged, on the way in or on the way out."""
    tile = (16, 32)
    k = Dense()
    x = k.tensor("x", f32, 2)
    y, z = k.output("y", f32, 2), k.output("z", f32, 2)
    i, j = k.block_id(0), k.block_id(1)
    k.store(k.load(x, tile, i, j, dim_map=(1, 0), padding=1.0), y, i, j)
    k.store(k.load(x, tile, i, j, padding=2.0), z, i, j, dim_map=(1, 0))
    data = fresh_rng().standard_normal(shape).astype("f4")
    blocks = tuple(-(-n // 16) for n in (max(shape), max(shape)))
    flipped = shape[::-1]
    got = assert_kernel(
        k.finish(), [data], [poisoned(f32, flipped), poisoned(f32, flipped)], blocks
    )
    for z in got:
        assert np.array_equal(z, data.T)


def test_a_turned_side_of_a_product():
    k = Dense()
    x, y = k.tensor("x", f32, 2), k.tensor("y", f32, 2)
    left, right = k.load(x, (16, 32)), k.load(y, (128, 32))
    turned = k.emit("permute", right, order=(1, 0))
    zero = k.constant(0.0, f32, (16, 128))
    k.store(k.emit("mmaf", left, turned, zero), k.output("z", f32, 2))
    a, b = (fresh_rng().integers(-4, 4, s).astype("f4") for s in ((16, 32), (128, 32)))
    (z,) = assert_kernel(k.finish(), [a, b], [poisoned(f32, (16, 128))])
    assert np.array_equal(z, a @ b.T)
