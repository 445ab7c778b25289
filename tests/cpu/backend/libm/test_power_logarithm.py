"""log, log1p and log2: near 1, at the ends, for subnormal numbers."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, assert_same, check, check_unary, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan
BOTH = pytest.mark.parametrize(("name", "reference"), [("log", np.log), ("log2", np.log2)])


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@BOTH
def test_error_bound(name, reference, dtype, lanes):
    check_unary(name, dtype, reference, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@BOTH
def test_near_one(name, reference, dtype):
    rng = fresh_rng()
    distance = rng.standard_normal(20_000) * 2.0 ** rng.integers(-50, 0, 20_000)
    x = np.abs(1 + distance).astype(CARRIER_OF[dtype]) + CARRIER_OF[dtype](1e-30)
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@BOTH
def test_subnormal_numbers(name, reference, dtype):
    kind = CARRIER_OF[dtype]
    tiny = np.finfo(kind).smallest_subnormal
    x = (tiny * fresh_rng().integers(1, 2**22, 5_000)).astype(kind)
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (-1.0,), (NAN,), (1.0,), (-1e-40,)]
    for name in ("log", "log2"):
        expected = [-INF, -INF, INF, NAN, NAN, NAN, 0.0, NAN]
        assert_same(values_at(name, dtype, *points), expected)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_error_bound_of_log1p(dtype, lanes):
    check_unary("log1p", dtype, np.log1p, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_log1p_near_zero_and_near_minus_one(dtype):
    rng, kind = fresh_rng(), CARRIER_OF[dtype]
    tiny = np.finfo(kind).smallest_subnormal * rng.integers(-(2**22), 2**22, 5_000)
    small = rng.standard_normal(20_000) * 2.0 ** rng.integers(-60, 2, 20_000)
    low = -1 + rng.random(20_000) * 2.0 ** rng.integers(-50, 0, 20_000)
    turns = (
        2.0 ** (rng.integers(-20, 20, 20_000) + 0.5) * (1 + rng.uniform(-1e-3, 1e-3, 20_000)) - 1
    )
    for x in (tiny, small, low, turns):
        x = np.maximum(x.astype(kind), kind(-1))
        with np.errstate(all="ignore"):
            check("log1p", dtype, (x,), np.log1p(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values_of_log1p(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (-1.0,), (-1.5,), (NAN,)]
    expected = [0.0, -0.0, INF, NAN, -INF, NAN, NAN]
    assert_same(values_at("log1p", dtype, *points), expected)


@pytest.mark.parametrize(("dtype", "low", "high"), [("f32", -149, 127), ("f64", -1074, 1023)])
def test_log2_of_powers_is_exact(dtype, low, high):
    n = [*range(low, high + 1)]
    assert_same(values_at("log2", dtype, *((2.0**k,) for k in n)), [float(k) for k in n])
