"""sin, cos, tan for arguments of any size; atan2 in every quadrant."""

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
PI = np.pi
CIRCULAR = pytest.mark.parametrize(
    ("name", "reference"), [("sin", np.sin), ("cos", np.cos), ("tan", np.tan)]
)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@CIRCULAR
def test_error_bound(name, reference, dtype, lanes):
    check_unary(name, dtype, reference, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@CIRCULAR
def test_huge_arguments(name, reference, dtype):
    rng = fresh_rng()
    largest = 127 if dtype == "f32" else 1023
    x = rng.uniform(-1, 1, 20_000) * 2.0 ** rng.uniform(25, largest, 20_000)
    x = x.astype(CARRIER_OF[dtype])
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@CIRCULAR
def test_near_multiples_of_a_quarter_turn(name, reference, dtype):
    """Where the argument cancels against a multiple of pi / 2, every digit of pi counts."""
    kind = CARRIER_OF[dtype]
    n = fresh_rng().integers(0, 2**40, 20_000)
    n[:2000] = np.arange(2000)
    x = n.astype(np.longdouble) * (np.longdouble(PI) / 2 + np.longdouble(6.123233995736766e-17))
    x = x.astype(kind)
    x = np.concatenate([x, np.nextafter(x, kind(0)), np.nextafter(x, kind(INF))])
    check(name, dtype, (x,), reference(x.astype(np.longdouble)))


def test_hardest_arguments_of_f64():
    """The f64 number nearest to an odd multiple of pi / 2, and two others of known sine."""
    near_zero = float.fromhex("0x1.6ac5b262ca1ffp+849")
    assert values_at("cos", "f64", (near_zero,)) == [-4.6871659242546277e-19]
    assert values_at("sin", "f64", (near_zero,)) == [1.0]
    largest = 2.0**1023 * 1.9375
    assert values_at("sin", "f64", (1e22,), (largest,)) == [
        -0.8522008497671888,
        -0.8206781774346948,
    ]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,), (1e-40,), (-1e-310,)]
    tiny = float(CARRIER_OF[dtype](1e-40)), float(CARRIER_OF[dtype](-1e-310))
    for name in ("sin", "tan"):
        assert_same(values_at(name, dtype, *points), [0.0, -0.0, NAN, NAN, NAN, *tiny])
    assert_same(values_at("cos", dtype, *points), [1.0, 1.0, NAN, NAN, NAN, 1.0, 1.0])


def test_one_huge_lane_leaves_the_others_alone():
    x = np.full(32, 0.5, np.float32)
    x[5], x[31] = 1e30, -1e20
    check("sin", "f32", (x,), np.sin(x.astype(np.longdouble)), lanes=16)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_atan2_error_bound(dtype, lanes):
    rng = fresh_rng()
    y, x = samples(dtype, rng), rng.permutation(samples(dtype, rng))
    with np.errstate(all="ignore"):
        near = (x * (1 + rng.standard_normal(x.size) * 0.1)).astype(CARRIER_OF[dtype])
        y, x = np.concatenate([y, near]), np.concatenate([x, x])
        exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
        check("atan2", dtype, (y, x), exact, lanes)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_atan2_special_values(dtype):
    y, x = (a.ravel() for a in np.meshgrid(specials(dtype), specials(dtype)))
    with np.errstate(all="ignore"):
        check("atan2", dtype, (y, x), np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble)))
    corners = [(0.0, -0.0), (-0.0, -0.0), (INF, -INF), (-INF, INF), (1.0, -INF), (-1.0, INF)]
    kind = CARRIER_OF[dtype]
    expected = [PI, -PI, 3 * PI / 4, -PI / 4, PI, -0.0]
    assert_same(values_at("atan2", dtype, *corners), [float(kind(v)) for v in expected])
