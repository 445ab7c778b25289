"""Elementary functions against Python's own math, to within one rounding of each type."""

from __future__ import annotations

import math
from fractions import Fraction
from math import inf, isfinite, nan

import numpy as np
import pytest

from support.ir import apply
from support.numbers import (
    assert_same,
    float_values,
    fresh_rng,
    nearest,
    neighbours,
    pairs,
)  # fmt: skip
from tilewright.base.dtypes import FLOATS, bf16, f16, f32, f64
from tilewright.ir.attrs import Rounding
from tilewright.ir.ops.elementwise import MATH_OPS


def guarded(function):
    """A function of Python's math as NumPy has it: NaN outside its domain, infinite at poles."""

    def safe(*x):
        try:
            return function(*x)
        except OverflowError:
            return inf if function is not math.sinh or x[0] > 0 else -inf
        except ValueError:
            return nan

    return safe


UNARY = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "exp": math.exp, "exp2": lambda x: math.pow(2.0, x), "expm1": math.expm1,
    "erf": math.erf, "cbrt": math.cbrt,
}  # fmt: skip
LOGS = {"log": (math.log, 0), "log2": (math.log2, 0), "log1p": (math.log1p, -1)}
"""Logarithms, and where they are infinite."""


def close(got, expected, dtype):
    """Equal after one rounding, where the wide result may be off by a unit of f64."""
    if not isfinite(expected):
        return got == expected or (math.isnan(got) and math.isnan(expected))
    slack = 4 * math.ulp(expected)
    ends = (expected - slack, expected + slack)
    rounded = [nearest(Fraction(x), dtype) if isfinite(x) else x for x in ends]
    return min(rounded) <= got <= max(rounded)


def arguments(dtype):
    return float_values(dtype, fresh_rng(), 60)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name, dtype):
    a = arguments(dtype)
    got = apply(name, (dtype, a))
    assert got.dtype == dtype.np
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        expected = guarded(UNARY[name])(float(x))
        assert close(float(result), expected, dtype), f"{name}({x}) = {result}, not {expected}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LOGS)
def test_logarithms(name, dtype):
    a = arguments(dtype)
    got = apply(name, (dtype, a))
    function, pole = LOGS[name]
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        expected = -inf if x == pole else guarded(function)(float(x))
        assert close(float(result), expected, dtype), f"{name}({x}) = {result}, not {expected}"


@pytest.mark.parametrize("dtype", FLOATS)
def test_rsqrt(dtype):
    a = arguments(dtype)
    got = apply("rsqrt", (dtype, a))
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        x = float(x)
        if x == 0:
            expected = math.copysign(inf, x)
        else:
            expected = nan if math.isnan(x) or x < 0 else 1 / math.sqrt(x)
        assert close(float(result), expected, dtype), f"rsqrt({x}) = {result}, not {expected}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "function"), [("ceil", math.ceil), ("floor", math.floor)])
def test_rounding_to_integers(name, function, dtype):
    a = np.concatenate([arguments(dtype), np.array([0.5, -0.5, 2.5, -2.5], dtype.np)])
    got = apply(name, (dtype, a))
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        x, result = float(x), float(result)
        expected = float(function(x)) if isfinite(x) else x
        assert result == expected or (math.isnan(x) and math.isnan(result))
        if not math.isnan(x):
            assert math.copysign(1, result) == math.copysign(1, x) or result > 0 or x > 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_sqrt_is_correctly_rounded(dtype):
    a = arguments(dtype)
    got = apply("sqrt", (dtype, a))
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        x, result = float(x), float(result)
        if x > 0 and isfinite(x):
            assert result == nearest_root(Fraction(x), dtype, result), f"sqrt({x})"
        elif x == 0 or x == inf:
            assert_same(np.array(result), np.array(x))
        else:
            assert math.isnan(result)


def nearest_root(x, dtype, guess):
    """`guess` if no neighbour of it is nearer to the root of x."""
    step = Fraction(guess) * Fraction(1, 2**60)
    below, _ = neighbours(Fraction(guess) - step, dtype)
    _, above = neighbours(Fraction(guess) + step, dtype)
    low, high = (Fraction(below) + Fraction(guess)) / 2, (Fraction(above) + Fraction(guess)) / 2
    return guess if low * low <= x <= high * high else nan


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF])
def test_directed_sqrt(mode, dtype):
    a = arguments(dtype)
    got = apply("sqrt", (dtype, a), rounding=mode)
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        x, result = float(x), float(result)
        if not (x > 0 and isfinite(x)):
            assert math.isnan(result) or result == x
            continue
        root, square = Fraction(result), Fraction(x)
        step = root * Fraction(1, 2**60)
        if mode == Rounding.POS_INF:
            below, _ = neighbours(root - step, dtype)
            assert Fraction(below) ** 2 < square <= root**2
        else:
            _, above = neighbours(root + step, dtype)
            assert root**2 <= square < Fraction(above) ** 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_pow(dtype):
    a, b = pairs(float_values(dtype, fresh_rng(), 8))
    got = apply("pow", (dtype, a), (dtype, b))
    for i in np.ndindex(a.shape):
        x, y = float(a[i]), float(b[i])
        assert close(float(got[i]), power(x, y), dtype), f"pow({x}, {y}) = {got[i]}"


def power(x, y):
    odd = isfinite(y) and y == int(y) and int(y) % 2 == 1
    if x == 0 and y < 0:
        return math.copysign(inf, x) if odd else inf
    try:
        return math.pow(x, y)
    except ValueError:
        return nan
    except OverflowError:
        return -inf if x < 0 and odd else inf


@pytest.mark.parametrize("dtype", FLOATS)
def test_atan2_takes_the_numerator_first(dtype):
    a, b = pairs(float_values(dtype, fresh_rng(), 8))
    got = apply("atan2", (dtype, a), (dtype, b))
    for i in np.ndindex(a.shape):
        expected = math.atan2(float(a[i]), float(b[i]))
        assert close(float(got[i]), expected, dtype), f"atan2({a[i]}, {b[i]}) = {got[i]}"


def test_results_of_16_bits_are_rounded_once_from_f64():
    a = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    a = a[np.isfinite(a)]
    with np.errstate(all="ignore"):
        expected = np.exp(a.astype(np.float64)).astype(np.float16)
    assert_same(apply("exp", (f16, a)), expected)
    assert apply("exp2", (bf16, [-133.0])).astype(np.float64).tolist() == [2.0**-133]


def test_every_function_is_tested_for_subnormals_and_limits():
    named = {*UNARY, *LOGS, "rsqrt", "ceil", "floor", "round", "sqrt", "pow", "atan2"}
    assert named == {op.name for op in MATH_OPS}


@pytest.mark.parametrize("rounding", [Rounding.FULL, Rounding.APPROX])
def test_looser_modes_are_answered_with_the_nearest(rounding):
    a = np.linspace(-3, 3, 50, dtype=np.float32)
    expected = np.tanh(a.astype(np.float64)).astype(np.float32)
    assert_same(apply("tanh", (f32, a), rounding=rounding), expected)
    assert apply("sqrt", (f64, [2.0]), rounding=rounding).tolist() == [math.sqrt(2)]
