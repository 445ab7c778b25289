from __future__ import annotations

from functools import partial
from typing import NamedTuple

import pytest

from op_kit import HandStream
from tilewright.op.arity import call
from tilewright.op.context import ExecutionContext

CTX = ExecutionContext(HandStream())


class Pair(NamedTuple):
    a: int
    b: int


def one(a):
    return a


def two(a, b=2):
    return a, b


def many(*items):
    return items


@pytest.mark.parametrize(
    ("function", "result", "extra", "expected"),
    [
        (one, 5, (), 5),
        (one, (5,), (), 5),
        (one, [1, 2], (), [1, 2]),
        (one, Pair(1, 2), (), Pair(1, 2)),
        (two, 5, (), (5, 2)),
        (two, 5, (6,), (5, 6)),
        (two, (5, 6), (), (5, 6)),
        (many, (1, 2, 3), (4,), (1, 2, 3, 4)),
        (partial(two, b=9), 1, (), (1, 9)),
        (len, [1, 2], (), 2),
        (str, 1, (), "1"),
    ],
)
def test_calls(function, result, extra, expected):
    assert call("map", function, result, extra, CTX) == expected


@pytest.mark.parametrize(
    ("function", "result", "extra", "text"),
    [
        (one, (1, 2), (), "with the 2 results as separate arguments; it takes 1\n"),
        (one, 1, (2,), "with the 1 result and the 1 extra arguments; it takes 1\n"),
        (two, (1, 2, 3), (), "it takes 1 to 2\n"),
        (lambda a, b, *c: a, 1, (), "it takes at least 2\n"),
    ],
)
def test_refuses_a_wrong_number_before_calling(function, result, extra, text):
    with pytest.raises(TypeError) as caught:
        call("then", function, result, extra, CTX)
    assert text in str(caught.value)
    assert "results: int" in str(caught.value)
