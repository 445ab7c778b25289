"""Bitwise ops against Python's integers."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from support.ir import apply
from support.numbers import assert_same, fresh_rng, int_values, pairs
from tilewright.base.dtypes import INTS, bool_, i8, i64, int_range, u8
from tilewright.ir.attrs import Overflow

BINARY = {"andi": operator.and_, "ori": operator.or_, "xori": operator.xor}


def wrap(n, dtype):
    low, _ = int_range(dtype)
    return (n - low) % (1 << dtype.bits) + low


@pytest.mark.parametrize("dtype", [bool_, *INTS])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    flat = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    expected = np.array([BINARY[name](x, y) for x, y in flat], dtype.np).reshape(a.shape)
    assert_same(apply(name, (dtype, a), (dtype, b)), expected)


@pytest.mark.parametrize("dtype", INTS)
def test_not(dtype):
    a = int_values(dtype, fresh_rng())
    expected = np.array([wrap(~x, dtype) for x in a.tolist()], dtype.np)
    assert_same(apply("noti", (dtype, a)), expected)


def test_not_of_booleans_is_logical():
    assert apply("noti", (bool_, [True, False])).tolist() == [False, True]


def amounts(dtype, rng):
    width = dtype.bits
    near = [0, 1, width - 1, width, min(width + 1, int_range(dtype)[1])]
    return np.concatenate([np.array(near, dtype.np), int_values(dtype, rng, 6)])


def grids(dtype):
    rng = fresh_rng()
    a, by = np.meshgrid(int_values(dtype, rng), amounts(dtype, rng), indexing="ij")
    return a.copy(), by.copy()


def shifted(function, dtype, a, by):
    flat = zip(a.ravel().tolist(), by.ravel().tolist(), strict=True)
    values = [wrap(function(x, n % (1 << dtype.bits)), dtype) for x, n in flat]
    return np.array(values, dtype.np).reshape(a.shape)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("overflow", [Overflow.NONE, Overflow.NO_WRAP])
def test_left_shift(overflow, dtype):
    a, by = grids(dtype)
    expected = shifted(lambda x, n: x << n if n < dtype.bits else 0, dtype, a, by)
    assert_same(apply("shli", (dtype, a), (dtype, by), overflow=overflow), expected)


@pytest.mark.parametrize("dtype", INTS)
def test_right_shift(dtype):
    a, by = grids(dtype)
    expected = shifted(lambda x, n: x >> min(n, dtype.bits), dtype, a, by)
    assert_same(apply("shri", (dtype, a), (dtype, by)), expected)


def test_a_negative_amount_is_a_huge_one():
    assert apply("shli", (i8, [1, -1]), (i8, [-1, -128])).tolist() == [0, 0]
    assert apply("shri", (i8, [1, -1]), (i8, [-1, -128])).tolist() == [0, -1]
    assert apply("shri", (i64, [-5]), (i64, [64])).tolist() == [-1]
    assert apply("shri", (u8, [200]), (u8, [8])).tolist() == [0]
