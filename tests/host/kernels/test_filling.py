from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

WRONG = {
    "negative": lambda: tw.ones((2, -1)),
    "dtype-name": lambda: tw.ones((2,), "float23"),
    "shape-string": lambda: tw.full("ab", 1),
    "f4": lambda: tw.ones((2,), tw.f4e2m1fn),
    "too-large": lambda: tw.full((2,), 300, tw.u8),
    "fraction": lambda: tw.full((2,), 1.5, tw.i32),
    "too-large-float": lambda: tw.full((2,), 1e39, tw.f32),
    "string": lambda: tw.full((2,), "1"),
    "array": lambda: tw.full((2,), np.zeros(2)),
    "none": lambda: tw.full((2,), None, tw.f32),
    "fill-array": lambda: tw.fill(np.zeros(2), 1),
    "fill-view": lambda: tw.fill(tw.zeros((4,)).sync()[1:], 1),
    "fill-range": lambda: tw.fill(tw.zeros((4,), tw.i8).sync(), 128),
    "fill-meta": lambda: tw.fill(tw.meta((4,)), 1).sync(),
    "eye-negative": lambda: tw.eye(-1),
    "eye-fraction": lambda: tw.eye(2.5),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values(name, golden, places):
    with pytest.raises((tw.Error, TypeError)) as caught:
        WRONG[name]()
    golden(places(caught.value))
