"""Comparisons and selection on every dtype, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from support.native import assert_ops, case
from support.numbers import float_values, fresh_rng, int_values, pairs
from tilewright.base.dtypes import ALL, FLOATS, INTS, bool_
from tilewright.ir.attrs import Predicate


@pytest.mark.parametrize("dtype", [*INTS, bool_])
def test_integers(dtype):
    a, b = pairs(int_values(dtype, fresh_rng(), 10))
    assert_ops([case("cmpi", predicate=p) for p in Predicate], (dtype, a), (dtype, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_with_either_answer_for_nan(dtype):
    a, b = pairs(float_values(dtype, fresh_rng(), 6))
    cases = [case("cmpf", predicate=p, unordered=u) for p in Predicate for u in (True, False)]
    assert_ops(cases, (dtype, a), (dtype, b))


@pytest.mark.thinned(9)
@pytest.mark.parametrize("dtype", ALL)
def test_select_moves_bits(dtype):
    rng = fresh_rng()
    a, b = (_random(dtype, rng, (5, 32)) for _ in range(2))
    cond = rng.integers(0, 2, (5, 32)).astype(np.bool_)
    assert_ops([case("select")], (bool_, cond), (dtype, a), (dtype, b))


def _random(dtype, rng, shape):
    if dtype is bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    high = 16 if dtype.bits == 4 else 256
    return rng.integers(0, high, (*shape, dtype.itemsize), dtype=np.uint8).view(dtype.np)[..., 0]
