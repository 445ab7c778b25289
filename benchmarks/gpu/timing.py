"""Times contestants on a GPU by its own clock: in rounds, each in another order."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import peers
from .case import Entry, Row, Tensor

ROUNDS = 5
SCATTERING = 2
"""So many times as many rounds where the chip's limit of power decides: by what it does then, turns
of one kernel differ by 5 % (standard deviation), and medians of 5 of them by 2 %."""
TURN = 4.0
"""Milliseconds of a contestant's turn, about; before them are as many that do not count."""
TRIALS, TRIAL = 3, 1.5
"""Rounds, and milliseconds of a turn, in which the settings of one contestant are compared."""
CLOSE = 1.08
"""Settings whose least took at most so many times as long as the fastest are compared once more."""
FLUSHED = 512 << 20
"""Bytes that are written to leave nothing else in the cache."""
MOST, MOST_COLD = 100, 40
"""Calls of a turn; flushing takes longer than most calls that need it."""
ATTEMPTS = 3
"""How often a round is tried for which the host is late."""
HERTZ = 2e9
"""At least the GPU's clock, by which it is told to wait."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a contestant has put on the stream."""

    tell: Callable[[], float]
    """Its milliseconds per call, once the GPU is done."""
    late: bool
    """Whether the GPU had come to its calls before the host had put them there, or to half of
    those that are timed one by one: it may have waited for them."""


class Clock:
    """Times calls that put work on the current stream."""

    def __init__(self, *, cold: bool) -> None:
        self._torch = peers.torch()
        self._flush: Tensor = None
        self.most = MOST_COLD if cold else MOST
        """Calls of a turn."""
        if cold:
            self._flush = self._torch.empty(FLUSHED, dtype=self._torch.uint8, device="cuda")

    def measure(self, run: Callable[[], object], times: int) -> Turn:
        """Put calls on the stream, and what times them."""
        if self._flush is None:
            (begin, end), late = self._between(lambda: [run() for _ in range(times)])
            return Turn(lambda: begin.elapsed_time(end) / times, late)
        timed: list[tuple[tuple[Any, Any], bool]] = []
        for _ in range(times):
            self._flush.zero_()
            timed.append(self._between(run))
        late = 2 * sum(late for _, late in timed) >= times
        # One that the host was late with would spoil a mean.
        return Turn(lambda: statistics.median(a.elapsed_time(b) for (a, b), _ in timed), late)

    def _between(self, work: Callable[[], object]) -> tuple[tuple[Any, Any], bool]:
        """Events around some work, and whether the GPU had come there before all of it was put."""
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        return (begin, end), bool(begin.query())

    def now(self, run: Callable[[], object], times: int = 3) -> float:
        """Milliseconds of a call, after one that does not count."""
        run()
        made = self.measure(run, times)
        self._torch.cuda.synchronize()
        return made.tell()

    def turn(self, run: Callable[[], object], times: int) -> Turn:
        """As `measure`, when the chip has adjusted its clocks to the work: that takes a while."""
        for _ in range(times):
            run()
        return self.measure(run, times)

    def hold(self, seconds: float) -> None:
        """Let the GPU wait, so that the host gets ahead of it."""
        if seconds:
            self._torch.cuda._sleep(int(seconds * HERTZ))


def rounds_of(row: Row, rounds: int) -> int:
    """How many rounds a row needs, of which most need so many."""
    return rounds * SCATTERING if row.unit == "FLOP" and not row.cold else rounds


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
        name: max(2, min(clock.most, round(turn / max(clock.now(entry.run), 1e-3))))
        for name, entry in entries.items()
    }
    found: dict[str, list[float]] = {name: [] for name in entries}
    order, ahead = list(entries), 0.0
    for _ in range(rounds):
        random.shuffle(order)
        made, ahead = _in_time({name: (entries[name], turns[name]) for name in order}, clock, ahead)
        for name, each in made.items():
            found[name].append(each.tell() / 1e3)
    return found


def _in_time(
    calls: Mapping[str, tuple[Entry, int]], clock: Clock, ahead: float, attempts: int = ATTEMPTS
) -> tuple[dict[str, Turn], float]:
    """A round that the host was in time for, and for how many seconds the GPU had to wait first.

    A host that takes longer for a call than the GPU does would be what is measured. Then the round
    is run again, while the GPU waits as long as the host took for it.
    """
    clock.hold(ahead)
    begin = time.perf_counter()
    made = {name: clock.turn(entry.run, times) for name, (entry, times) in calls.items()}
    taken = time.perf_counter() - begin
    peers.torch().cuda.synchronize()
    late = [entry.setting or name for name, (entry, _) in calls.items() if made[name].late]
    if late and attempts > 1:
        return _in_time(calls, clock, max(ahead, taken), attempts - 1)
    if late:
        print(f"the host was late with {'; '.join(late)}: its time counts", file=sys.stderr)
    return made, ahead
