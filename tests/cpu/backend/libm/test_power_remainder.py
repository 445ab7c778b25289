"""remf is exact: it is compared with C's fmod bit by bit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, apply, assert_same, samples, specials, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan


def compare(dtype, x, y, lanes):
    got = apply("remf", dtype, x, y, lanes=lanes)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(got[~nan], expected[~nan])
    assert np.array_equal(np.signbit(got[~nan]), np.signbit(expected[~nan]))


@pytest.mark.parametrize("lanes", [1, 8, 32])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_exact(dtype, lanes):
    rng = fresh_rng()
    x = samples(dtype, rng, 4_000)
    compare(dtype, x, rng.permutation(x), lanes)
    whole = rng.integers(-50, 50, x.size).astype(x.dtype)
    compare(dtype, whole, rng.permutation(whole), lanes)
    with np.errstate(all="ignore"):
        multiple = (x * rng.integers(1, 1000, x.size)).astype(x.dtype)
        compare(dtype, multiple, x, lanes)
        compare(dtype, np.nextafter(multiple, x.dtype.type(0)), x, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_every_pair_of_special_values(dtype):
    x, y = (a.ravel() for a in np.meshgrid(specials(dtype), specials(dtype)))
    compare(dtype, x, y, 8)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_largest_by_smallest(dtype):
    info = np.finfo(CARRIER_OF[dtype])
    tiny = float(info.smallest_subnormal)
    points = [(float(info.max), k * tiny) for k in (1, 3, 5, 7, 1000003)]
    expected = [math.fmod(*p) for p in points]
    assert_same(values_at("remf", dtype, *points), expected)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(dtype):
    rows = [
        (1.0, 0.0, NAN), (INF, 1.0, NAN), (-INF, 2.0, NAN), (3.0, INF, 3.0), (-3.0, -INF, -3.0),
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (-6.0, 3.0, -0.0),
        (-5.0, 3.0, -2.0), (5.0, -3.0, 2.0), (0.0, 0.0, NAN), (0.0, INF, 0.0),
    ]  # fmt: skip
    got = values_at("remf", dtype, *(row[:2] for row in rows))
    assert_same(got, [row[2] for row in rows])
