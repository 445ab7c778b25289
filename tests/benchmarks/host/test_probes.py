"""Probes take turns, and are asked for as many as a sample needs."""

from __future__ import annotations

from benchmarks.host.probes import MOST_AT_ONCE, measured, repeated
from benchmarks.timing import Effort


def test_times_are_for_one_of_each():
    found = measured({"slow": lambda count: 2.0 * count, "fast": lambda count: count / 8}, ONCE)
    assert (found["slow"].minimum, found["slow"].maximum) == (2.0, 2.0)
    assert found["fast"].median == 0.125


def test_what_takes_no_time_is_asked_for_only_so_many():
    asked: list[int] = []

    def probe(count: int) -> float:
        asked.append(count)
        return 0.0

    measured({"nothing": probe}, ONCE)
    assert max(asked) == MOST_AT_ONCE


def test_work_is_repeated():
    done: list[None] = []
    assert repeated(lambda: done.append(None))(7) > 0
    assert len(done) == 7


ONCE = Effort(seconds=0.0, rounds=1)
