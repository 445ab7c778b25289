"""Exact sums and products in two parts, and one rounding from f64 to each type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from support.numbers import finite_values, fresh_rng, nearest, wide
from tilewright.backend.reference.floating import narrow, odd_sum, two_product, two_sum
from tilewright.base.dtypes import bf16, f8e5m2, f16, f32


def doubles(count):
    rng = fresh_rng()
    return rng.standard_normal(count) * 2.0 ** rng.integers(-60, 60, count)


def test_two_parts_are_exact():
    a, b = doubles(500), doubles(500)
    for split, join in ((two_sum, lambda x, y: x + y), (two_product, lambda x, y: x * y)):
        high, low = split(a, b)
        for x, y, h, r in zip(a, b, high, low, strict=True):
            exact = join(Fraction(float(x)), Fraction(float(y)))
            assert Fraction(float(h)) + Fraction(float(r)) == exact


def test_odd_sums_are_odd_where_inexact():
    a, b = doubles(500), doubles(500)
    got = odd_sum(a, b)
    bits = got.view(np.int64)
    for x, y, result, pattern in zip(a, b, got, bits, strict=True):
        exact = Fraction(float(x)) + Fraction(float(y))
        if Fraction(float(result)) != exact:
            assert pattern % 2 == 1
            assert abs(Fraction(float(result)) - exact) < abs(exact) * Fraction(2) ** -52


@pytest.mark.parametrize("dtype", [f16, bf16, f8e5m2, f32])
def test_narrow_rounds_once(dtype):
    rng = fresh_rng()
    values = rng.standard_normal(2000) * 2.0 ** rng.integers(-30, 14, 2000)
    if dtype is not f32:
        grid = [float(v) for v in finite_values(dtype)]
        i = rng.integers(0, len(grid) - 1, 1000)
        middle = np.array([(grid[k] + grid[k + 1]) / 2 for k in i])
        values = np.concatenate([values, middle, middle * (1 + 2.0**-50), middle * (1 - 2.0**-50)])
    with np.errstate(all="ignore"):
        got = wide(narrow(values, dtype))
    assert got.tolist() == [nearest(Fraction(v), dtype) for v in values.tolist()]


@pytest.mark.parametrize("dtype", [f16, bf16, f8e5m2, f32])
def test_narrow_keeps_special_values(dtype):
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300])
    with np.errstate(all="ignore"):
        got = wide(narrow(special, dtype))
    expected = [np.inf, -np.inf, np.nan, 0.0, -0.0, np.inf, -np.inf, 0.0, -0.0]
    np.testing.assert_array_equal(got, expected)
    assert np.signbit(got[[3, 4, 7, 8]]).tolist() == [False, True, False, True]
