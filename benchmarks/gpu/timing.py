"""Times contestants on a GPU by its own clock: in rounds, each in another order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import peers
from .case import Entry, Tensor

ROUNDS = 5
TURN = 4.0
"""Milliseconds of a contestant's turn, about."""
FLUSHED = 256 << 20
"""Bytes that are written to leave nothing else in the cache."""


class Clock:
    """Times calls that put work on the current stream."""

    def __init__(self, *, cold: bool) -> None:
        self._torch = peers.torch()
        self._flush: Tensor = None
        if cold:
            self._flush = self._torch.empty(FLUSHED, dtype=self._torch.uint8, device="cuda")

    def measure(self, run: Callable[[], object], times: int) -> Callable[[], float]:
        """Put a contestant's turn on the stream; gives what tells its milliseconds per call."""
        if self._flush is None:
            pair = self._between(lambda: [run() for _ in range(times)])
            return lambda: pair[0].elapsed_time(pair[1]) / times
        pairs: list[tuple[Any, Any]] = []
        for _ in range(times):
            self._flush.zero_()
            pairs.append(self._between(run))
        return lambda: sum(a.elapsed_time(b) for a, b in pairs) / times

    def _between(self, work: Callable[[], object]) -> tuple[Any, Any]:
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        return begin, end

    def now(self, run: Callable[[], object], times: int = 3) -> float:
        """Milliseconds of a call, after one that does not count."""
        run()
        told = self.measure(run, times)
        self._torch.cuda.synchronize()
        return told()


def best(entries: Sequence[Entry], clock: Clock) -> Entry:
    """The fastest of a contestant's settings."""
    return entries[0] if len(entries) == 1 else min(entries, key=lambda e: clock.now(e.run))


def interleave(
    entries: Mapping[str, Entry], clock: Clock, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Seconds per call of each contestant, one number per round."""
    turns = {
        name: max(2, min(100, round(TURN / max(clock.now(entry.run), 1e-3))))
        for name, entry in entries.items()
    }
    found: dict[str, list[float]] = {name: [] for name in entries}
    order = list(entries)
    for _ in range(rounds):
        random.shuffle(order)
        told: dict[str, Callable[[], float]] = {}
        for name in order:
            entries[name].run()
            told[name] = clock.measure(entries[name].run, turns[name])
        peers.torch().cuda.synchronize()
        for name, tell in told.items():
            found[name].append(tell() / 1e3)
    return found
