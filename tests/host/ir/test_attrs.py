"""Predicates: what negated and swapped ones say of the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilewright.ir.attrs import Predicate

PAIRS = list(itertools.product((-2, -1, 0, 1, 2), repeat=2))


@pytest.mark.parametrize("predicate", list(Predicate))
def test_negated_and_swapped(predicate):
    for a, b in PAIRS:
        assert predicate.negated.apply(a, b) == (not predicate.apply(a, b))
        assert predicate.swapped.apply(b, a) == predicate.apply(a, b)
    assert predicate.negated.negated is predicate
    assert predicate.swapped.swapped is predicate


@pytest.mark.parametrize("predicate", list(Predicate))
def test_apply_compares_arrays_too(predicate):
    a, b = np.array(PAIRS).T
    assert predicate.apply(a, b).tolist() == [predicate.apply(x, y) for x, y in PAIRS]
