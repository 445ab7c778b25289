"""pow with all its special cases, and rsqrt."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import (
    CARRIER_OF,
    assert_same,
    check,
    check_unary,
    samples,
    specials,
    values_at,
)
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan


def exact_power(x, y):
    with np.errstate(all="ignore"):
        return np.power(x.astype(np.longdouble), y.astype(np.longdouble))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_pow_error_bound(dtype, lanes):
    """Random pairs, small powers, and results spread over the whole range."""
    rng = fresh_rng()
    kind = CARRIER_OF[dtype]
    x = samples(dtype, rng)
    integers = rng.integers(-9, 10, x.size).astype(kind)
    base = np.exp(rng.standard_normal(x.size) * 3).astype(kind)
    limit = 150 if dtype == "f32" else 1075
    with np.errstate(all="ignore"):
        spread = (rng.uniform(-limit, limit, x.size) / np.log2(base)).astype(kind)
    pairs = [(x, rng.permutation(x)), (x, integers), (base, spread)]
    a, b = (np.concatenate(side) for side in zip(*pairs, strict=True))
    check("pow", dtype, (a, b), exact_power(a, b), lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_pow_near_one(dtype):
    """A base near 1 and a huge power: every bit of the logarithm counts."""
    rng = fresh_rng()
    kind = CARRIER_OF[dtype]
    x = (1 + rng.standard_normal(20_000) * 10.0 ** rng.integers(-14, -1, 20_000)).astype(kind)
    limit = 87 if dtype == "f32" else 708
    with np.errstate(divide="ignore", over="ignore"):
        y = (rng.uniform(-limit, limit, x.size) / np.log(x.astype(np.longdouble))).astype(kind)
    check("pow", dtype, (x, y), exact_power(x, y))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_pow_of_every_pair_of_special_values(dtype):
    x, y = (a.ravel() for a in np.meshgrid(specials(dtype), specials(dtype)))
    check("pow", dtype, (x, y), exact_power(x, y))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_pow_special_cases(dtype):
    rows = [
        (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (NAN, 1.0, NAN),
        (1.0, INF, 1.0), (-1.0, NAN, NAN), (-8.0, 1 / 3, NAN), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0),
        (0.0, -1.0, INF), (-0.0, -1.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF),
        (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (0.5, INF, 0.0), (0.5, -INF, INF), (2.0, INF, INF),
        (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, -3.0, -0.0), (-INF, 0.5, INF), (INF, -1.0, 0.0),
        (2.0, 10.0, 1024.0), (9.0, 0.5, 3.0), (-2.0, -INF, 0.0), (0.0, INF, 0.0), (0.0, -INF, INF),
    ]  # fmt: skip
    got = values_at("pow", dtype, *(row[:2] for row in rows))
    assert_same(got, [row[2] for row in rows])


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_rsqrt_error_bound(dtype, lanes):
    check_unary("rsqrt", dtype, lambda x: 1 / np.sqrt(x), lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_rsqrt_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (-1.0,), (NAN,), (4.0,)]
    assert_same(values_at("rsqrt", dtype, *points), [INF, -INF, 0.0, NAN, NAN, NAN, 0.5])
