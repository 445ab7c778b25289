from __future__ import annotations

import random

from tilewright.tensors.spans import Spans


def test_what_meets_a_range_is_found():
    choose = random.Random(7)
    spans, known = Spans[object](), []
    for _ in range(600):
        start = choose.randrange(4000)
        one = (start, start + choose.choice([1, 2, 3, 8, 17, 64, 100, 1000]), object())
        known.append(one)
        spans.add(*one)
        start = choose.randrange(-100, 5000)
        end = start + choose.choice([1, 5, 50, 4000])
        found = list(spans.meeting(start, end))
        assert set(found) == {thing for s, e, thing in known if s < end and start < e}
        assert len(found) == len(set(found))


def test_neighbours_do_not_meet():
    spans = Spans[str]()
    for start in range(0, 64, 8):
        spans.add(start, start + 8, str(start))
    assert list(spans.meeting(16, 24)) == ["16"]
    assert list(spans.meeting(15, 25)) == ["8", "16", "24"]
    assert list(spans.meeting(64, 1 << 60)) == []


def test_the_others_are_forgotten():
    spans = Spans[int]()
    for i in range(100):
        spans.add(i, 2 * i + 1, i)
    spans.keep(lambda i: i % 10 == 0)
    assert sorted(spans.meeting(0, 1000)) == list(range(0, 100, 10))
    spans.keep(lambda i: False)
    assert list(spans.meeting(0, 1000)) == []


def test_one_range_many_times():
    spans = Spans[object]()
    things = [object() for _ in range(5)]  # that cannot be compared
    for thing in things:
        spans.add(3, 4, thing)
    assert set(spans.meeting(3, 4)) == set(things)
