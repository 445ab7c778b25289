"""sinh, cosh, tanh: small arguments, the change of method, overflow."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, assert_same, check, check_unary, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan
ALL = pytest.mark.parametrize(
    ("name", "reference"), [("sinh", np.sinh), ("cosh", np.cosh), ("tanh", np.tanh)]
)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@ALL
def test_error_bound(name, reference, dtype, lanes):
    check_unary(name, dtype, reference, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@ALL
def test_around_the_change_of_method(name, reference, dtype):
    x = fresh_rng().uniform(0.4, 1.2, 40_000).astype(CARRIER_OF[dtype])
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@ALL
def test_small_arguments(name, reference, dtype):
    rng = fresh_rng()
    x = (rng.standard_normal(20_000) * 10.0 ** rng.integers(-40, 0, 20_000)).astype(
        CARRIER_OF[dtype]
    )
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,)]
    assert_same(values_at("sinh", dtype, *points), [0.0, -0.0, INF, -INF, NAN])
    assert_same(values_at("cosh", dtype, *points), [1.0, 1.0, INF, INF, NAN])
    assert_same(values_at("tanh", dtype, *points), [0.0, -0.0, 1.0, -1.0, NAN])
