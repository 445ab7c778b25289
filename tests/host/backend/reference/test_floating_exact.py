"""Rounding of exact rationals against tables of all values."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, inf

import numpy as np
import pytest

from support.numbers import finite_values, fresh_rng, nearest, neighbours
from tilewright.backend.reference.floating import FORMATS, compute, round_rational
from tilewright.base.dtypes import bf16, f16, f32, f64
from tilewright.ir.attrs import Rounding


def around(dtype):
    """Values, midpoints between them, and numbers close to both."""
    rng = fresh_rng()
    grid = finite_values(dtype)
    for i in rng.integers(0, len(grid) - 1, 300).tolist():
        middle = (grid[i] + grid[i + 1]) / 2
        tiny = (grid[i + 1] - grid[i]) / 10**9
        yield from (grid[i], middle, middle + tiny, middle - tiny, grid[i] + tiny)


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_every_mode_on_small_types(dtype):
    form = FORMATS[dtype]
    for x in around(dtype):
        if x == 0:
            continue
        below, above = neighbours(x, dtype)
        assert round_rational(x, form, Rounding.NEAREST_EVEN) == nearest(x, dtype)
        assert round_rational(x, form, Rounding.NEG_INF) == below
        assert round_rational(x, form, Rounding.POS_INF) == above
        assert round_rational(x, form, Rounding.ZERO) == (below if x > 0 else above)


@pytest.mark.parametrize("dtype", [f32, f64])
def test_nearest_is_what_python_and_numpy_do(dtype):
    rng = fresh_rng()
    for _ in range(500):
        top, bottom = (int(n) + 1 for n in rng.integers(0, 2**62, 2))
        x = Fraction(top, bottom) * Fraction(2) ** int(rng.integers(-170, 120))
        expected = float(x) if dtype is f64 else nearest(x, f32)
        assert round_rational(x, FORMATS[dtype], Rounding.NEAREST_EVEN) == expected


@pytest.mark.parametrize("dtype", FORMATS)
def test_limits(dtype):
    form = FORMATS[dtype]
    top = (2 - Fraction(2) ** (1 - form.precision)) * Fraction(2) ** form.greatest
    huge, tie = top * 100, top + Fraction(2) ** (form.greatest - form.precision)
    assert round_rational(tie, form, Rounding.NEAREST_EVEN) == inf
    assert round_rational(tie - Fraction(1, 10), form, Rounding.NEAREST_EVEN) == top
    assert round_rational(-huge, form, Rounding.ZERO) == -top
    assert round_rational(-huge, form, Rounding.NEG_INF) == -inf
    least = Fraction(2) ** (form.least - form.precision + 1)
    assert round_rational(least / 2, form, Rounding.NEAREST_EVEN) == 0
    assert round_rational(least / 2, form, Rounding.POS_INF) == least
    under = round_rational(-least / 9, form, Rounding.POS_INF)
    assert under == 0 and copysign(1, under) == -1


def test_scalars_and_empty_arrays():
    one = np.array(1.0, np.float32)
    got = compute("addf", f32, Rounding.ZERO, [one, one], one)
    assert got.shape == () and got == 2
    none = np.zeros((0, 3), np.float32)
    assert compute("addf", f32, Rounding.ZERO, [none, none], none).shape == (0, 3)
