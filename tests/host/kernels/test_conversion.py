from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

WRONG = {
    "pairs": lambda: tw.convert(tw.zeros((2,)).sync(), tw.f4e2m1fnx2),
    "f4": lambda: tw.convert(tw.zeros((2,)).sync(), tw.f4e2m1fn),
    "list": lambda: tw.convert([1, 2], tw.f32),
    "complex": lambda: tw.convert(np.zeros(2, "c8"), tw.f32),
    "meta": lambda: tw.convert(tw.meta((2,)), tw.f16).sync(),
    "empty": lambda: tw.convert(tw.empty((2,)), tw.f16).sync(),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_sources(name, golden, places):
    with pytest.raises((tw.Error, TypeError)) as caught:
        WRONG[name]()
    golden(places(caught.value))
