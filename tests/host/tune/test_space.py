"""Search spaces, and the texts by which configurations are known in records."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.tune.space import as_space, shown


def test_a_search_has_all_combinations_in_order():
    space = tw.search(tile=[(8, 8), (16, 16)], BK=[1, 2], occupancy=2)
    assert [config.text for config in space] == [
        "tile=(8, 8), occupancy=2, BK=1",
        "tile=(8, 8), occupancy=2, BK=2",
        "tile=(16, 16), occupancy=2, BK=1",
        "tile=(16, 16), occupancy=2, BK=2",
    ]
    assert space[0].hints == tw.CompileOptions(occupancy=2)
    assert space[0].constants == {"BK": 1}


def test_where_says_which_combinations_are_meant():
    space = tw.search(BM=[1, 2, 4], BN=[1, 2, 4], where=lambda c: c.constants["BM"] >= 4)
    assert len(space) == 3


def test_spaces_are_put_together():
    space = tw.search(BK=[1, 2]) + tw.search(BK=4)
    assert [config.constants["BK"] for config in space] == [1, 2, 4]
    assert list(as_space([tw.Config(BK=1)])) == [tw.Config(BK=1)]
    assert len(as_space(tw.Config(BK=1))) == 1


def test_hints_by_name_come_before_those_of_options():
    config = tw.Config(hints=tw.CompileOptions(occupancy=2, latency=3), occupancy=4)
    assert config.hints == tw.CompileOptions(occupancy=4, latency=3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((8,), "(8,)"),
        ((8, tw.FULL), "(8, -1)"),
        ({"b": (4, 4), "a": 2}, "{a: 2, b: (4, 4)}"),
        (tw.f16, "f16"),
        (True, "True"),
        (1, "1"),
        (1.5, "1.5"),
        ("x", "'x'"),
        (None, "None"),
    ],
)
def test_texts(value, text):
    assert shown(value) == text


WRONG = {
    "nothing": lambda: tw.search(),
    "an-empty-list": lambda: tw.search(tile=[(8, 8)], BK=[]),
    "nothing-left": lambda: tw.search(BK=[1, 2], where=lambda c: c.constants["BK"] > 2),
    "no-configs": lambda: as_space([]),
    "the-same-twice": lambda: tw.search(BK=[1, 1]),
    "no-config": lambda: as_space([{"BK": 1}]),
    "no-space": lambda: tw.autotune(3),
    "a-value-that-is-none-to-choose": lambda: tw.Config(f=len),
    "hints-that-are-none": lambda: tw.Config(hints={"occupancy": 2}),
    "a-hint-out-of-range": lambda: tw.Config(occupancy=99),
    "a-negative-tolerance": lambda: tw.autotune(tw.search(BK=1), tolerance=-1.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_message(name, golden):
    with pytest.raises((TypeError, ValueError)) as caught:
        WRONG[name]()
    golden(f"{type(caught.value).__name__}: {caught.value}")
