from __future__ import annotations

import pytest

from tilewright.ir.opdef import merged


def test_all_that_families_have_in_their_order():
    assert list(merged({"a": {"x": 1, "y": 2}, "b": {}, "c": {"w": 3}}).items()) == [
        ("x", 1), ("y", 2), ("w", 3),
    ]  # fmt: skip
    assert merged({}) == {}


def test_what_two_have_is_refused_even_if_it_is_the_same():
    with pytest.raises(ValueError, match="exp is in the tables of math and of memory"):
        merged({"math": {"exp": 1}, "grid": {"at": 2}, "memory": {"exp": 1}})
