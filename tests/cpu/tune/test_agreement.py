"""Whether results agree, for every element type."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from tilewright.tune.agreement import TOLERANCES, deviation, prepare, said, scale_of, tolerance_of

FLOATS = (tw.f64, tw.f32, tw.f16, tw.bf16, tw.f8e4m3fn, tw.f8e5m2)
OTHERS = (tw.i8, tw.i16, tw.i32, tw.i64, tw.u8, tw.u16, tw.u32, tw.u64, tw.bool_)
SIZES = (1, 4095, 4096, 4097, 10007)


def numbers(dtype, size):
    given = fresh_rng().standard_normal(size)
    if dtype.is_float:
        return given.astype(dtype.np)
    return (np.abs(given) * 50).astype(dtype.np)


def compared(found, expected):
    stream = tw.default_device().streams()[0]
    x, y = tw.from_numpy(found).sync(), tw.from_numpy(expected).sync()
    return deviation(x, y, scale_of(y, stream), stream)


@pytest.mark.parametrize("dtype", FLOATS + OTHERS, ids=lambda d: d.name)
@pytest.mark.parametrize("size", SIZES)
def test_equal_results_agree(dtype, size):
    expected = numbers(dtype, size)
    assert compared(expected.copy(), expected) == 0.0


@pytest.mark.parametrize("dtype", FLOATS + OTHERS, ids=lambda d: d.name)
@pytest.mark.parametrize("place", [0, 4096, 4999])
def test_one_wrong_element_is_found(dtype, place):
    expected = numbers(dtype, 5000)
    found = expected.copy()
    found[place] = not found[place] if dtype is tw.bool_ else found[place] + found.dtype.type(8)
    assert compared(found, expected) > tolerance_of(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_rounding_is_tolerated(dtype):
    if dtype is tw.f64:
        return
    expected = fresh_rng().standard_normal(5000)
    found = (expected * (1 + float(ml_dtypes.finfo(dtype.np).eps) / 2)).astype(dtype.np)
    off = compared(found, expected.astype(dtype.np))
    assert 0 < off <= tolerance_of(dtype)


def test_sums_that_cancel_are_judged_by_the_magnitude_of_all():
    expected = np.ones(5000, "f4")
    expected[7] = 1e-9
    found = expected.copy()
    found[7] = -2e-7
    assert compared(found, expected) < 1e-6


@pytest.mark.parametrize(
    ("found", "expected", "agree"),
    [
        (math.nan, math.nan, True),
        (math.inf, math.inf, True),
        (-math.inf, math.inf, False),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (math.inf, 1.0, False),
        (1.0, math.inf, False),
        (0.0, -0.0, True),
    ],
)
@pytest.mark.parametrize("dtype", [tw.f64, tw.f32, tw.bf16], ids=lambda d: d.name)
def test_numbers_that_are_not_finite(found, expected, agree, dtype):
    x, y = np.ones(10, dtype.np), np.ones(10, dtype.np)
    x[3], y[3] = found, expected
    off = compared(x, y)
    assert off == (0.0 if agree else math.inf)


def test_large_integers_that_f32_does_not_tell_apart():
    x = np.full(10, 1 << 40, "i8")
    y = x.copy()
    y[9] += 1
    assert compared(x, y) > tolerance_of(tw.i64) == 0.0


def test_all_zeros():
    assert compared(np.zeros(10, "f4"), np.zeros(10, "f4")) == 0.0
    assert compared(np.ones(10, "f4"), np.zeros(10, "f4")) > 1


@pytest.mark.parametrize("dtype", [tw.f4e2m1fnx2, tw.f8e8m0fnu], ids=lambda d: d.name)
def test_packed_elements_are_compared_by_their_bytes(dtype):
    stream = tw.default_device().streams()[0]
    raw = fresh_rng().integers(0, 200, 100, dtype=np.uint8)
    other = raw.copy()
    other[50] += 1
    x, same, y = (
        tw.from_numpy(bits).sync().reinterpret(dtype, (100,)) for bits in (raw, raw.copy(), other)
    )
    assert deviation(x, same, scale_of(x, stream), stream) == 0.0
    assert deviation(y, x, scale_of(x, stream), stream) > tolerance_of(dtype)


def test_prepared_kernels_need_no_compilation():
    stream = tw.default_device().streams()[0]
    prepare(tw.zeros((3, 5)).sync(), stream)


def test_words():
    assert said(math.inf) == "by more than any number"
    assert said(0.123) == "by 0.12 of its magnitude"
    assert all(bound > 0 for bound in TOLERANCES.values())
