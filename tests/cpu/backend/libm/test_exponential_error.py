"""erf: small arguments, the change of method, where it is 1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, assert_same, check, check_unary, values_at
from support.functions import erf
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan
BOTH = pytest.mark.parametrize("dtype", ["f32", "f64"])


def test_the_series_agrees_with_python():
    x = np.concatenate([fresh_rng().uniform(-7, 7, 5_000), [0.0, -0.0, INF, -INF, 1e-300, 5e-324]])
    expected = np.array([math.erf(v) for v in x])
    np.testing.assert_allclose(erf(x).astype(np.float64), expected, rtol=3e-16, atol=5e-324)


@pytest.mark.parametrize("lanes", [1, 8])
@BOTH
def test_error_bound(dtype, lanes):
    check_unary("erf", dtype, erf, lanes)


@pytest.mark.thinned(4)
@BOTH
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0.9, 1.1), (1, 4), (3.5, 6.5)])
def test_around_the_change_of_method(dtype, low, high):
    x = fresh_rng().uniform(low, high, 40_000).astype(CARRIER_OF[dtype])
    check("erf", dtype, (x,), erf(x))


@BOTH
def test_small_arguments(dtype):
    rng, kind = fresh_rng(), CARRIER_OF[dtype]
    tiny = np.finfo(kind).smallest_subnormal * rng.integers(-(2**22), 2**22, 5_000)
    small = rng.standard_normal(20_000) * 10.0 ** rng.integers(-40, 0, 20_000)
    for x in (tiny.astype(kind), small.astype(kind)):
        check("erf", dtype, (x,), erf(x))


@BOTH
def test_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,), (4.0,), (-6.0,), (1e30,)]
    expected = [0.0, -0.0, 1.0, -1.0, NAN, float(CARRIER_OF[dtype](math.erf(4.0))), -1.0, 1.0]
    assert_same(values_at("erf", dtype, *points), expected)
