"""Arithmetic against Python's integers and exact rationals."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import copysign, fmod, inf, isfinite, isnan, nan

import numpy as np
import pytest

from support.ir import apply
from support.numbers import (
    assert_same,
    float_values,
    fresh_rng,
    int_values,
    nearest,
    neighbours,
    pairs,
    wide,
)  # fmt: skip
from tilewright.base.dtypes import FLOATS, INTS, bf16, f16, f32, f64, int_range
from tilewright.ir.attrs import Overflow, Rounding

SIGNED = [d for d in INTS if d.is_signed]


def wrap(n, dtype):
    low, _ = int_range(dtype)
    return (n - low) % (1 << dtype.bits) + low


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


DIVIDE = {
    Rounding.ZERO: truncated,
    Rounding.NEG_INF: lambda a, b: a // b,
    Rounding.POS_INF: lambda a, b: -(-a // b),
}


def ints(function, dtype, *arrays):
    flat = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    values = [wrap(function(*x), dtype) for x in flat]
    return np.array(values, dtype.np).reshape(arrays[0].shape)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("overflow", [Overflow.NONE, Overflow.NO_WRAP])
@pytest.mark.parametrize(
    ("name", "function"), [("addi", operator.add), ("subi", operator.sub), ("muli", operator.mul)]
)
def test_integers_wrap(name, function, overflow, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    got = apply(name, (dtype, a), (dtype, b), overflow=overflow)
    assert_same(got, ints(function, dtype, a, b))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(("name", "function"), [("maxi", max), ("mini", min)])
def test_integer_choice(name, function, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    assert_same(apply(name, (dtype, a), (dtype, b)), ints(function, dtype, a, b))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(("name", "function"), [("negi", operator.neg), ("absi", abs)])
def test_integer_sign(name, function, dtype):
    a = int_values(dtype, fresh_rng())
    assert_same(apply(name, (dtype, a)), ints(function, dtype, a))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("rounding", DIVIDE)
def test_division_is_total(rounding, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    divide = DIVIDE[rounding]
    got = apply("divi", (dtype, a), (dtype, b), rounding=rounding)
    assert_same(got, ints(lambda x, y: divide(x, y) if y else 0, dtype, a, b))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("rounding", DIVIDE)
def test_remainder_is_total(rounding, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    divide = DIVIDE[rounding]
    got = apply("remi", (dtype, a), (dtype, b), rounding=rounding)
    assert_same(got, ints(lambda x, y: x - divide(x, y) * y if y else x, dtype, a, b))


@pytest.mark.parametrize("dtype", SIGNED)
def test_the_least_integer_divided_by_minus_one(dtype):
    low, _ = int_range(dtype)
    assert apply("divi", (dtype, [low]), (dtype, [-1])).tolist() == [low]
    assert apply("remi", (dtype, [low]), (dtype, [-1])).tolist() == [0]


@pytest.mark.parametrize("dtype", INTS)
def test_high_half_of_the_unsigned_product(dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    modulus = 1 << dtype.bits
    expected = ints(lambda x, y: (x % modulus) * (y % modulus) >> dtype.bits, dtype, a, b)
    assert_same(apply("mulhi", (dtype, a), (dtype, b)), expected)


def exact_add(a, b):
    return Fraction(a) + Fraction(b)


def exact_sub(a, b):
    return Fraction(a) - Fraction(b)


def exact_mul(a, b):
    return Fraction(a) * Fraction(b)


def exact_div(a, b):
    return Fraction(a) / Fraction(b)


EXACT = {"addf": exact_add, "subf": exact_sub, "mulf": exact_mul, "divf": exact_div}
NATIVE = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


def float_sample(dtype):
    return float_values(dtype, fresh_rng(), 10)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rounding", [Rounding.NEAREST_EVEN, Rounding.APPROX, Rounding.FULL])
@pytest.mark.parametrize("name", EXACT)
def test_float_results_are_rounded_once(name, rounding, dtype):
    a, b = pairs(float_sample(dtype))
    got = apply(name, (dtype, a), (dtype, b), rounding=rounding)
    got = wide(got)
    with np.errstate(all="ignore"):
        special = NATIVE[name](wide(a), wide(b))
    for i in np.ndindex(a.shape):
        x, y, result = float(a[i]), float(b[i]), float(got[i])
        if isfinite(x) and isfinite(y) and (name != "divf" or y != 0):
            exact = EXACT[name](x, y)
            assert result == nearest(exact, dtype), f"{name}({x}, {y})"
            if exact == 0:
                assert copysign(1, result) == copysign(1, special[i])
        else:
            assert result == special[i] or (isnan(result) and isnan(special[i]))


def directed(exact, dtype, mode):
    below, above = neighbours(exact, dtype)
    if below == above:
        return below
    down = {Rounding.NEG_INF: True, Rounding.POS_INF: False, Rounding.ZERO: exact > 0}[mode]
    return below if down else above


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF])
@pytest.mark.parametrize("name", EXACT)
def test_directed_rounding(name, mode, dtype):
    a, b = pairs(float_sample(dtype))
    got = apply(name, (dtype, a), (dtype, b), rounding=mode)
    for i in np.ndindex(a.shape):
        x, y, result = float(a[i]), float(b[i]), float(got[i])
        if not (isfinite(x) and isfinite(y)) or (name == "divf" and y == 0):
            continue
        exact = EXACT[name](x, y)
        if exact != 0:
            assert result == directed(exact, dtype, mode), f"{name}({x}, {y})"
            assert copysign(1, result) == (1 if exact > 0 else -1)


@pytest.mark.parametrize(("mode", "sign"), [(Rounding.NEG_INF, -1), (Rounding.POS_INF, 1)])
def test_the_sign_of_an_exact_zero(mode, sign):
    a, b = (f32, [1.5, 0.0, -0.0, 0.0]), (f32, [-1.5, -0.0, -0.0, 0.0])
    got = apply("addf", a, b, rounding=mode)
    assert np.copysign(1, got).tolist() == [sign, sign, -1, 1]


def test_directed_rounding_past_the_limits():
    top = np.finfo(np.float32).max
    a, b = (f32, [top, -top]), (f32, [top, -top])
    assert apply("addf", a, b, rounding=Rounding.ZERO).tolist() == [top, -top]
    assert apply("addf", a, b, rounding=Rounding.POS_INF).tolist() == [inf, -top]
    assert apply("addf", a, b, rounding=Rounding.NEG_INF).tolist() == [top, -inf]
    tiny = np.finfo(np.float32).smallest_subnormal
    a, b = (f32, [tiny, -tiny]), (f32, [0.25, 0.25])
    assert apply("mulf", a, b, rounding=Rounding.POS_INF).tolist() == [tiny, 0]
    assert apply("mulf", a, b, rounding=Rounding.NEG_INF).tolist() == [0, -tiny]


@pytest.mark.parametrize("dtype", FLOATS)
def test_directed_rounding_keeps_special_values(dtype):
    a, b = (dtype, [inf, nan, inf, 1.0, 0.0]), (dtype, [1.0, 1.0, -inf, inf, -inf])
    got = apply("addf", a, b, rounding=Rounding.ZERO).astype(np.float64)
    np.testing.assert_array_equal(got, [inf, nan, nan, inf, -inf])
    zeros = apply("divf", (dtype, [1.0, -1.0, 0.0]), (dtype, [0.0, 0.0, 0.0]), rounding="zero")
    np.testing.assert_array_equal(zeros.astype(np.float64), [inf, -inf, nan])


def exact_fma(x, y, z, dtype):
    """a * b + c as promised: correctly rounded; 16-bit types by way of f64."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if dtype in (f32, f64):
        return nearest(exact, dtype)
    wide = nearest(exact, f64)
    return nearest(Fraction(wide), dtype) if isfinite(wide) else wide


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_is_rounded_once(dtype):
    rng = fresh_rng()
    values = float_values(dtype, rng, 60)
    a, b, c = (rng.choice(values, 3000) for _ in range(3))
    with np.errstate(all="ignore"):
        c[:1000] = -(wide(a) * wide(b))[:1000]
    got = apply("fma", (dtype, a), (dtype, b), (dtype, c))
    for x, y, z, r in zip(*(v.tolist() for v in (a, b, c, got)), strict=True):
        if isfinite(x) and isfinite(y) and isfinite(z):
            assert float(r) == exact_fma(x, y, z, dtype), f"{x} * {y} + {z}"


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_of_special_values(dtype):
    top = 1e308 if dtype is f64 else 60000.0
    a, b = (dtype, [inf, 0.0, top, 1.0, -0.0, 0.0]), (dtype, [0.0, inf, top, nan, 1.0, 1.0])
    c = (dtype, [1.0, 1.0, -inf, 1.0, -0.0, -0.0])
    got = apply("fma", a, b, c).astype(np.float64)
    np.testing.assert_array_equal(got, [nan, nan, -inf, nan, 0, 0])
    assert np.signbit(got[4:]).tolist() == [True, False]


def test_fma_differs_from_two_roundings():
    x = np.float32(1 + 2**-12)
    got = apply("fma", (f32, [x]), (f32, [x]), (f32, [-1 - 2**-11]))
    assert got.tolist() == [2.0**-24]
    wide = 1 + 2.0**-30
    got = apply("fma", (f64, [wide]), (f64, [wide]), (f64, [-1 - 2.0**-29]))
    assert got.tolist() == [2.0**-60]


@pytest.mark.parametrize("mode", [Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF])
def test_directed_fma(mode):
    a, b, c = [1 + 2.0**-12, 3.0], [1 + 2.0**-12, -1 / 3], [2.0**-60, 1.0]
    with np.errstate(all="ignore"):
        a, b, c = (np.array(x, np.float32) for x in (a, b, c))
    got = apply("fma", (f32, a), (f32, b), (f32, c), rounding=mode)
    operands = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in operands]
    assert got.tolist() == [directed(e, f32, mode) for e in exact]


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainder_has_the_sign_of_the_left(dtype):
    a, b = pairs(float_sample(dtype))
    got = apply("remf", (dtype, a), (dtype, b))
    for i in np.ndindex(a.shape):
        x, y, result = float(a[i]), float(b[i]), float(got[i])
        if isnan(x) or isnan(y) or abs(x) == inf or y == 0:
            assert isnan(result)
        else:
            assert result == fmod(x, y)
            assert copysign(1, result) == copysign(1, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_negation_and_absolute_value_change_the_sign_only(dtype):
    a = float_sample(dtype)
    bits = a.view(f"u{dtype.itemsize}")
    top = bits.dtype.type(1 << dtype.bits - 1)
    number = ~np.isnan(wide(a))
    negated = apply("negf", (dtype, a)).view(bits.dtype)
    positive = apply("absf", (dtype, a)).view(bits.dtype)
    assert np.array_equal(negated[number], (bits ^ top)[number])
    assert np.array_equal(positive[number], (bits & ~top)[number])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("wins", [True, False])
@pytest.mark.parametrize(("name", "sign"), [("maxf", 1), ("minf", -1)])
def test_float_choice(name, sign, wins, dtype):
    a, b = pairs(float_sample(dtype))
    got = apply(name, (dtype, a), (dtype, b), nan=wins)
    for i in np.ndindex(a.shape):
        x, y, result = float(a[i]), float(b[i]), float(got[i])
        if isnan(x) or isnan(y):
            other = y if isnan(x) else x
            expected = nan if wins else other
        else:
            expected = sign * max(sign * x, sign * y, key=lambda v: (v, copysign(1, v)))
        assert_same(np.array(result), np.array(float(expected)))


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_small_floats_overflow_to_infinity_and_keep_subnormals(dtype):
    top = float(np.array(1).astype(dtype.np)) * (65504.0 if dtype is f16 else 2.0**127 * 1.9921875)
    assert float(apply("addf", (dtype, [top]), (dtype, [top]))[0]) == inf
    least = 2.0**-24 if dtype is f16 else 2.0**-133
    assert float(apply("addf", (dtype, [least]), (dtype, [least]))[0]) == 2 * least
