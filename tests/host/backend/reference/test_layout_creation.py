"""Constants and iota of every type."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from support.ir import apply
from support.numbers import same_bits
from tilewright.base.dtypes import ALL, FLOATS, INTS, f4e2m1fnx2, f8e8m0fnu, i8, int_range, u8, u64


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 5)])
def test_constant_has_one_value_everywhere(dtype, shape):
    got = apply("constant", value=1, dtype=dtype, shape=shape)
    assert got.shape == shape
    assert got.dtype == dtype.np
    assert (got.astype(np.float64) == 1).all()


@pytest.mark.parametrize("dtype", INTS)
def test_limits_of_integers(dtype):
    for value in int_range(dtype):
        assert apply("constant", value=value, dtype=dtype, shape=(2,)).tolist() == [value] * 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [inf, -inf, nan, -0.0, 0.5])
def test_special_floats(dtype, value):
    got = apply("constant", value=value, dtype=dtype, shape=(2,)).astype(np.float64)
    assert same_bits(got, np.array([value, value]))


def test_packed_constants_are_bytes():
    assert apply("constant", value=0x5A, dtype=f4e2m1fnx2, shape=(2,)).tolist() == [0x5A, 0x5A]


def test_zero_of_a_type_without_zero_is_its_least_value():
    got = apply("constant", value=0, dtype=f8e8m0fnu, shape=(2,))
    assert got.view(np.uint8).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_iota_counts(dtype, size):
    assert apply("iota", size=size, dtype=dtype).tolist() == list(range(size))


def test_iota_wraps():
    assert apply("iota", size=300, dtype=u8).tolist() == [i % 256 for i in range(300)]
    assert apply("iota", size=256, dtype=i8).tolist() == [*range(128), *range(-128, 0)]
    assert apply("iota", size=3, dtype=u64).dtype == np.uint64
