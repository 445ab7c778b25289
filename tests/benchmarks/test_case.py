"""Errors against tolerances, and rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import case
from benchmarks.case import deviation, flops, moved
from support.numbers import fresh_rng


@pytest.mark.parametrize("n", [1, 7, 8, 9, 20])
def test_deviation_over_slices(monkeypatch, n):
    monkeypatch.setattr(case, "SLICE", 8)
    expected = fresh_rng().standard_normal(n).astype("f4")
    actual = expected.copy()
    assert deviation(actual, expected, (0.0, 1e-3)) == 0
    actual[-1] += np.float32(0.5)
    assert deviation(actual, expected, (0.0, 1e-3)) == pytest.approx(500, rel=1e-3)
    actual[-1] = np.nan
    assert math.isnan(deviation(actual, expected, (0.0, 1e-3)))


def test_a_nan_in_an_early_slice_is_not_forgotten(monkeypatch):
    monkeypatch.setattr(case, "SLICE", 2)
    actual = np.array([np.nan, 0, 0, 0, 0], np.float32)
    assert math.isnan(deviation(actual, np.zeros(5), (0.0, 1.0)))


def test_other_shapes_are_wrong():
    assert math.isnan(deviation(np.zeros((2, 3)), np.zeros((3, 2)), (1.0, 1.0)))


def test_nothing_is_right():
    assert deviation(np.zeros(0), np.zeros(0), (0.0, 1.0)) == 0


def test_rates():
    x = np.zeros(250_000_000 // 4, np.int8)
    assert moved(x, x, x, x).rate(0.5) == "0.5 GB/s"
    assert flops(3e9).rate(0.25) == "12.0 GFLOP/s"
    assert case.Work(0.0, "").rate(1.0) == ""
