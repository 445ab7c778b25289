"""Floats by instructions of PTX: exact results, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.ptx import evaluate

SPECIAL = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e-310, 5e-324, 1e308, 1e-160]


def drawn(rng, dtype, count=200):
    sizes = {np.float32: 30, np.float64: 280}
    made = rng.standard_normal(count) * 10.0 ** rng.integers(-sizes[dtype], sizes[dtype], count)
    return np.concatenate([np.array(SPECIAL), made]).astype(dtype)


def same(got, expected):
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    fine = ~np.isnan(expected)
    np.testing.assert_array_equal(got[fine], expected[fine])
    np.testing.assert_array_equal(np.signbit(got[fine]), np.signbit(expected[fine]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_arithmetic_is_that_of_the_host(rng, kind, dtype):
    a, b = drawn(rng, dtype), rng.permutation(drawn(rng, dtype))
    letter = {"f32": "r", "f64": "d"}[kind]
    for name, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply),
                           ("div", np.divide)):  # fmt: skip
        same(evaluate(f"{name}.rn.{kind} $0, $1, $2;", letter, a, b).view(dtype), function(a, b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_products_and_sums_are_rounded_once(rng, kind, dtype):
    a, b, c = (rng.permutation(drawn(rng, dtype)) for _ in range(3))
    c[::3] = -(a[::3].astype(np.float64) * b[::3]).astype(dtype)  # what is left are the last bits
    letter = {"f32": "r", "f64": "d"}[kind]
    got = evaluate(f"fma.rn.{kind} $0, $1, $2, $3;", letter, a, b, c).view(dtype)
    for x, y, z, made in zip(*(v.tolist() for v in (a, b, c, got)), strict=True):
        if not all(map(math.isfinite, (x, y, z))):
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            assert made == 0
        elif math.isinf(made):
            assert abs(exact) >= Fraction(float(np.finfo(dtype).max))
        else:
            step = Fraction(float(np.spacing(np.abs(dtype(made)))))
            assert abs(exact - Fraction(made)) <= step / 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_directed_rounding(rng):
    a, b = drawn(rng, np.float32), rng.permutation(drawn(rng, np.float32))
    made = {
        mode: evaluate(f"add.{mode}.f32 $0, $1, $2;", "r", a, b).view(np.float32)
        for mode in ("rm", "rp", "rz")
    }
    for x, y, low, high, zero in zip(a, b, made["rm"], made["rp"], made["rz"], strict=True):
        if not (np.isfinite(x) and np.isfinite(y)):
            continue
        exact = Fraction(float(x)) + Fraction(float(y))
        if np.isfinite(low):
            assert Fraction(float(low)) <= exact
        if np.isfinite(high):
            assert Fraction(float(high)) >= exact
        if Fraction(float(low) if np.isfinite(low) else 0) != exact and np.isfinite(low + high):
            assert np.nextafter(low, np.float32(np.inf)) == high
        assert zero == (low if exact > 0 else high)


def test_comparisons_of_nan():
    a = np.array([1, 2, 3, np.nan, np.nan], np.float32)
    b = np.array([2, 2, 2, 2, np.nan], np.float32)
    expected = {
        "eq": [0, 1, 0, 0, 0], "ne": [1, 0, 1, 0, 0], "lt": [1, 0, 0, 0, 0],
        "ge": [0, 1, 1, 0, 0], "equ": [0, 1, 0, 1, 1], "neu": [1, 0, 1, 1, 1],
        "ltu": [1, 0, 0, 1, 1], "geu": [0, 1, 1, 1, 1], "num": [1, 1, 1, 0, 0],
        "nan": [0, 0, 0, 1, 1],
    }  # fmt: skip
    for word, wanted in expected.items():
        got = evaluate(f"setp.{word}.f32 $0, $1, $2;", "p", a, b)
        assert got.tolist() == wanted, word


def test_least_and_greatest_of_zeros_and_nan():
    a = np.array([0.0, -0.0, np.nan, 1.0, np.nan], np.float32)
    b = np.array([-0.0, 0.0, 1.0, np.nan, np.nan], np.float32)
    least = evaluate("min.f32 $0, $1, $2;", "r", a, b)
    assert least.tolist() == [1 << 31, 1 << 31, 0x3F800000, 0x3F800000, 0x7FFFFFFF]
    both = evaluate("max.NaN.f32 $0, $1, $2;", "r", a, b)
    assert both.tolist() == [0, 0, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF]


def test_what_is_flushed_is_zero():
    small = np.array([1e-40, -1e-40, 1.0], np.float32)
    got = evaluate("ex2.approx.ftz.f32 $0, $1;", "r", small).view(np.float32)
    assert got.tolist() == [1.0, 1.0, 2.0]
    got = evaluate("rcp.approx.ftz.f32 $0, $1;", "r", small).view(np.float32)
    assert got.tolist() == [math.inf, -math.inf, 1.0]
