"""Times contestants on a GPU by its own clock: in rounds, each in another order."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import peers
from .case import Entry, Tensor

ROUNDS = 5
TURN = 4.0
"""Milliseconds of a contestant's turn, about; before them are as many that do not count."""
TRIALS, TRIAL = 3, 1.5
"""Rounds, and milliseconds of a turn, in which the settings of one contestant are compared."""
CLOSE = 1.08
"""Settings whose least took at most so many times as long as the fastest are compared once more."""
FLUSHED = 512 << 20
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
        # One that the host was late with would spoil a mean.
        return lambda: statistics.median(a.elapsed_time(b) for a, b in pairs)

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

    def turn(self, run: Callable[[], object], times: int) -> Callable[[], float]:
        """As `measure`, when the chip has adjusted its clocks to the work: that takes a while."""
        for _ in range(times):
            run()
        return self.measure(run, times)


def best(entries: Sequence[Entry], clock: Clock) -> Entry:
    """The fastest of a contestant's settings."""
    named = {str(number): entry for number, entry in enumerate(entries)}
    if len(named) > 1:
        # What disturbs a short turn only lengthens it, and must not put out the fastest.
        named = _fastest(named, interleave(named, clock, TRIALS, TRIAL), min, CLOSE)
    if len(named) > 1:
        named = _fastest(named, interleave(named, clock), statistics.median, 1.0)
    return next(iter(named.values()))


def _fastest(
    entries: Mapping[str, Entry],
    times: Mapping[str, list[float]],
    typical: Callable[[list[float]], float],
    close: float,
) -> dict[str, Entry]:
    """Those whose typical time is the least, or at most so many times as long."""
    found = {name: typical(each) for name, each in times.items()}
    limit = min(found.values()) * close
    return {name: entry for name, entry in entries.items() if found[name] <= limit}


def interleave(
    entries: Mapping[str, Entry], clock: Clock, rounds: int = ROUNDS, turn: float = TURN
) -> dict[str, list[float]]:
    """Seconds per call of each contestant, one number per round."""
    turns = {
        name: max(2, min(100, round(turn / max(clock.now(entry.run), 1e-3))))
        for name, entry in entries.items()
    }
    found: dict[str, list[float]] = {name: [] for name in entries}
    order = list(entries)
    for _ in range(rounds):
        random.shuffle(order)
        told = {name: clock.turn(entries[name].run, turns[name]) for name in order}
        peers.torch().cuda.synchronize()
        for name, tell in told.items():
            found[name].append(tell() / 1e3)
    return found
