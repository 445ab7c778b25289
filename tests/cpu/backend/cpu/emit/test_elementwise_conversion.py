"""Conversions between all pairs of dtypes, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from support.native import assert_ops, case
from support.numbers import float_values, fresh_rng, int_values
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f32,
    round_tf32,
    tf32,
)

SMALL = (tf32, f8e4m3fn, f8e5m2, f8e8m0fnu, f4e2m1fn)
ALL_FLOATS = (*FLOATS, *SMALL)


def values_of(dtype, rng):
    """Edge values, or all there are."""
    if dtype in (*INTS, bool_):
        return int_values(dtype, rng)
    if dtype is tf32:
        return round_tf32(float_values(f32, rng))
    if dtype in FLOATS:
        return float_values(dtype, rng)
    return np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.np)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", ALL_FLOATS)
def test_from_floats(dtype):
    x = values_of(dtype, fresh_rng())
    cases = [case("ftof", to=to) for to in ALL_FLOATS if to is not dtype]
    cases += [case("ftoi", to=to) for to in INTS]
    assert_ops(cases, (dtype, x))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", [*INTS, bool_])
def test_from_integers(dtype):
    x = values_of(dtype, fresh_rng())
    cases = [case("itof", to=to) for to in ALL_FLOATS]
    cases += [case("exti", to=to) for to in INTS if to.bits > dtype.bits]
    cases += [case("trunci", to=to) for to in INTS if to.bits < dtype.bits and dtype is not bool_]
    assert_ops(cases, (dtype, x))


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", [d for d in ALL if d.bits >= 8])
def test_bits_stay(dtype):
    raw = fresh_rng().integers(0, 256, (64, dtype.itemsize), dtype=np.uint8)
    targets = [d for d in ALL if d.bits == dtype.bits]
    assert_ops([case("bitcast", to=to) for to in targets], (dtype, raw.view(dtype.np)[:, 0]))


def test_every_float_of_sixteen_bits_widens_exactly():
    bits = np.arange(1 << 16, dtype=np.uint16)
    for dtype in FLOATS[:2]:
        assert_ops([case("ftof", to=f32)], (dtype, bits.view(dtype.np)))


@pytest.mark.parametrize("columns", [1, 2, 16, 64])
def test_packed_pairs(columns):
    raw = fresh_rng().integers(0, 256, (4, columns), dtype=np.uint8)
    assert_ops([case("unpack")], (f4e2m1fnx2, raw))
    halves = (raw & 15).view(f4e2m1fn.np)
    if columns > 1:
        assert_ops([case("pack")], (f4e2m1fn, halves))
