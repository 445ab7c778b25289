"""Bitwise ops on every dtype, with every shift amount, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from support.native import assert_ops, case
from support.numbers import fresh_rng, int_values, pairs
from tilewright.base.dtypes import INTS, bool_

LOGIC = ("andi", "ori", "xori", "noti")


@pytest.mark.parametrize("dtype", [*INTS, bool_])
def test_logic(dtype):
    a, b = pairs(int_values(dtype, fresh_rng(), 10))
    assert_ops([case(name) for name in LOGIC], (dtype, a), (dtype, b))


@pytest.mark.parametrize("dtype", INTS)
def test_shifts_are_total(dtype):
    values = int_values(dtype, fresh_rng(), 10)
    amounts = np.concatenate([np.arange(dtype.bits + 2), values[-8:]]).astype(dtype.np)
    a, by = np.meshgrid(values, amounts, indexing="ij")
    assert_ops([case("shli"), case("shri")], (dtype, a), (dtype, by))
