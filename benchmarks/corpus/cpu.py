"""Times contestants on the CPU, in turns, behind the same calls as on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..gpu.case import Entry
from ..timing import Effort, Run, estimate
from ..timing import interleave as in_turns

ROUND, TRIAL = 0.1, 0.1
"""Seconds of a contestant: for each round, and to find its best setting."""


class CpuClock:
    """Times calls that return when the work is done."""

    def best(self, entries: Sequence[Entry]) -> Entry:
        """Return the fastest of a contestant's settings."""
        if len(entries) == 1:
            return entries[0]
        runs = {str(number): entry.run for number, entry in enumerate(entries)}
        found = in_turns(runs, Effort(TRIAL, 2))
        return entries[int(min(found, key=lambda name: min(found[name].times)))]

    def now(self, run: Run) -> float:
        """Return milliseconds of one call, one sample of a race."""
        return estimate(run) * 1e3

    def interleave(
        self, entries: Mapping[str, Entry], _clock: object, rounds: int
    ) -> dict[str, list[float]]:
        """Return seconds per call of each contestant, one number per sample."""
        runs = {name: entry.run for name, entry in entries.items()}
        timed = in_turns(runs, Effort(ROUND * rounds, rounds))
        return {name: entrant.times for name, entrant in timed.items()}
