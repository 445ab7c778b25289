from __future__ import annotations

import math

import tilewright.lang as tl
from tilewright.ir import attrs


def test_words_are_those_of_the_ir():
    for name in ("AtomicMode", "Ordering", "Overflow", "Predicate", "Rounding", "Scope"):
        assert getattr(tl, name) is getattr(attrs, name)


def test_paddings():
    assert (tl.zero, tl.pos_inf, tl.neg_inf) == (0, math.inf, -math.inf)
    assert math.isnan(tl.nan)
    assert math.copysign(1, tl.neg_zero) == -1
