"""exp and exp2 over the whole range, subnormal results included."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.llvm.functions.harness import assert_same, check, check_unary, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(("name", "reference"), [("exp", np.exp), ("exp2", np.exp2)])
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


@pytest.mark.parametrize(("dtype", "low", "high"), [("f32", -149, 127), ("f64", -1074, 1023)])
def test_exp2_of_integers_is_exact(dtype, low, high):
    n = [*range(low, high + 1)]
    assert_same(values_at("exp2", dtype, *((float(k),) for k in n)), [2.0**k for k in n])
    beyond = values_at("exp2", dtype, (low - 1.0,), (low - 0.9,), (high + 1.0,))
    smallest = 2.0**low
    assert_same(beyond, [0.0, smallest, INF])
