"""exp, expm1 and exp2 over the whole range, subnormal results included."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, assert_same, check, check_unary, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    ("name", "reference"), [("exp", np.exp), ("exp2", np.exp2), ("expm1", np.expm1)]
)
def test_error_bound(name, reference, dtype, lanes):
    check_unary(name, dtype, reference, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_subnormal_results(dtype):
    low, high = (-104.0, -87.0) if dtype == "f32" else (-746.0, -708.0)
    x = fresh_rng().uniform(low, high, 20_000).astype(np.float32 if dtype == "f32" else np.float64)
    check("exp", dtype, (x,), np.exp(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(dtype):
    points = [(INF,), (-INF,), (NAN,), (0.0,), (-0.0,)]
    for name in ("exp", "exp2"):
        assert_same(values_at(name, dtype, *points), [INF, 0.0, NAN, 1.0, 1.0])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_expm1_near_zero_and_where_powers_of_two_change(dtype):
    rng, kind = fresh_rng(), CARRIER_OF[dtype]
    tiny = np.finfo(kind).smallest_subnormal * rng.integers(-(2**22), 2**22, 5_000)
    small = rng.standard_normal(20_000) * 2.0 ** rng.integers(-60, 2, 20_000)
    turns = (
        np.log(2) * (rng.integers(-40, 120, 20_000) + 0.5) * (1 + rng.uniform(-1e-3, 1e-3, 20_000))
    )
    for x in (tiny.astype(kind), small.astype(kind), turns.astype(kind)):
        with np.errstate(all="ignore"):
            check("expm1", dtype, (x,), np.expm1(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values_of_expm1(dtype):
    points = [(INF,), (-INF,), (NAN,), (0.0,), (-0.0,), (-100.0,), (711.0,), (1e-320,)]
    least = float(CARRIER_OF[dtype](1e-320))
    assert_same(values_at("expm1", dtype, *points), [INF, -1.0, NAN, 0.0, -0.0, -1.0, INF, least])


@pytest.mark.parametrize(("dtype", "low", "high"), [("f32", -149, 127), ("f64", -1074, 1023)])
def test_exp2_of_integers_is_exact(dtype, low, high):
    n = [*range(low, high + 1)]
    assert_same(values_at("exp2", dtype, *((float(k),) for k in n)), [2.0**k for k in n])
    beyond = values_at("exp2", dtype, (low - 1.0,), (low - 0.9,), (high + 1.0,))
    smallest = 2.0**low
    assert_same(beyond, [0.0, smallest, INF])
