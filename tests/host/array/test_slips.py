"""A tensor used like an array says what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.array.slips import WORDS


@pytest.mark.parametrize("word", WORDS)
def test_words_of_arrays(word):
    t = tw.zeros((2,)).sync()
    assert not hasattr(t, word)
    with pytest.raises(AttributeError, match=f"a Tensor has no `{word}`; use ") as caught:
        getattr(t, word)
    assert (caught.value.name, caught.value.obj) == (word, t)
    known = [np.zeros(2), tw.zeros((2,)), t.partition_mut((2,))]
    assert any(hasattr(type(x), word) for x in known) or word in ("numpy", "cpu", "clone")


def test_items_are_not_assigned():
    t = tw.zeros((2,)).sync()
    with pytest.raises(TypeError, match=r"with t\.borrow_mut\(\)\.numpy\(\) as a"):
        t[0] = 1.0
    assert t.to_numpy().tolist() == [0, 0]


@pytest.mark.parametrize("number", [float, int, complex])
def test_a_tensor_is_no_number(number):
    with pytest.raises(TypeError, match=r"t\.item\(\)"):
        number(tw.zeros((1,)).sync())
