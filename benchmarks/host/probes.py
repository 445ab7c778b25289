"""Times probes in turns: pieces of host work that count and clock themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias, TypeVar

from ..records import Figures, figures
from ..timing import Effort, no_collection, settle

K = TypeVar("K", bound=Hashable)

Probe: TypeAlias = Callable[[int], float]
"""Does something so many times; gives the seconds of all of them, without what came around it."""

SAMPLE = 0.5e-3
"""Seconds that a sample takes at least: faster probes are asked for more at a time."""
TURN = 5e-3
"""Seconds that a probe keeps the machine. Short: a machine may be slow for a second or two, and
then all of them shall meet that."""
MOST_AT_ONCE = 100
"""How much a sample does at most: what is started and not waited for piles up."""
MOST_ROUNDS = 400


def repeated(work: Callable[[], object]) -> Probe:
    """A probe that calls a function and waits for nothing else."""

    def probe(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            work()
        return time.perf_counter() - begin

    return probe


def measured(probes: Mapping[K, Probe], effort: Effort) -> dict[K, Figures]:
    """Seconds for one of each, in rounds of which each begins with another probe."""
    names = list(probes)
    if not names:
        return {}
    counts = {name: _count(probe) for name, probe in probes.items()}
    times: dict[K, list[float]] = {name: [] for name in names}
    begin = time.perf_counter()
    with no_collection():
        for number in range(MOST_ROUNDS):
            over = time.perf_counter() - begin > effort.seconds * len(names)
            if number >= effort.rounds and over:
                break
            first = number % len(names)
            for name in names[first:] + names[:first]:
                settle()
                times[name] += _turn(probes[name], counts[name])
    return {name: figures(found) for name, found in times.items()}


def _count(probe: Probe) -> int:
    """How many a sample needs."""
    probe(1)
    each = max(min(probe(1), probe(1)), 1e-7)
    return max(1, min(MOST_AT_ONCE, round(SAMPLE / each)))


def _turn(probe: Probe, count: int) -> list[float]:
    """Some samples, after one that does not count: caches and sleeping threads were lost."""
    probe(count)
    times: list[float] = []
    end = time.perf_counter() + TURN
    while not times or time.perf_counter() < end:
        times.append(probe(count) / count)
    return times
