from __future__ import annotations

import pytest

import tilewright as tw

WRONG = {
    "step": lambda: tw.arange(0, 5, 0),
    "float-for-int": lambda: tw.arange(0, 2.5, dtype=tw.i32),
    "range": lambda: tw.arange(250, 260, dtype=tw.u8),
    "negative-in-unsigned": lambda: tw.arange(-1, 3, dtype=tw.u32),
    "infinite": lambda: tw.arange(0, float("inf")),
    "too-many-digits": lambda: tw.arange(10**5000),
    "too-many-digits-for-a-float": lambda: tw.arange(10**5000, dtype=tw.f32),
    "nan": lambda: tw.linspace(0, float("nan"), 3),
    "string": lambda: tw.arange("5"),
    "bool": lambda: tw.arange(True),
    "bools": lambda: tw.arange(2, dtype=tw.bool_),
    "f4": lambda: tw.arange(0, 1, 0.5, tw.f4e2m1fn),
    "dtype-name": lambda: tw.arange(5, dtype="int23"),
    "linspace-num": lambda: tw.linspace(0, 1, -1),
    "linspace-fraction": lambda: tw.linspace(0, 1, 2.5),
    "linspace-ints": lambda: tw.linspace(0, 1, 5, tw.i32),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ranges(name, golden, places):
    with pytest.raises((tw.Error, TypeError)) as caught:
        WRONG[name]()
    golden(places(caught.value))
