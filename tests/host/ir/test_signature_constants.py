"""Constants that are equal but not the same have different kinds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from tilewright.base.dtypes import f16, f32
from tilewright.ir.signature import constant_kind


class Pair(NamedTuple):
    a: float
    b: float


@dataclass(frozen=True)
class Config:
    scale: float


EQUAL = [
    [True, 1, 1.0, np.float32(1), np.float64(1), np.int32(1), f32(1.0), f16(1.0)],
    [False, 0, 0.0, -0.0, np.float32(-0.0), np.float32(0.0)],
    [ml_dtypes.bfloat16(0.0), ml_dtypes.bfloat16(-0.0)],
    [(1,), (True,), (1.0,)],
    [(0.0, (1,)), (-0.0, (1,)), (0.0, (True,))],
    [(0.0, 1.0), Pair(0.0, 1.0), Pair(-0.0, 1.0)],
    [Config(0.0), Config(-0.0), Config(0)],
]


@pytest.mark.parametrize("same", EQUAL, ids=str)
def test_equal_is_not_the_same(same):
    for a, b in combinations(same, 2):
        assert a == b
        assert constant_kind(a) != constant_kind(b), (a, b)


@pytest.mark.parametrize(
    "constant", [3, -2.5, "x", None, f32, (1, "a"), Pair(1, 2), Config(1.0), Config, float("nan")]
)
def test_the_same_is_the_same(constant):
    assert constant_kind(constant) == constant_kind(constant)
    assert hash(constant_kind(constant)) == hash(constant_kind(constant))
