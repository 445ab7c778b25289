"""The race between candidates: measured interleaved, and those that cannot win drop out.

Candidates are measured one after the other, so that a disturbance affects all. After each iteration
a candidate leaves when the lower bound of its time is above the upper bound of the best one's (a
confidence-bound race). Bounds come from the median and the median absolute deviation, so single
outliers of a busy machine move neither; they narrow with the root of the number of samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

ROUNDS = 16
"""Rounds after which those that are left are too close to tell apart."""
WIDTH = 0.5
"""The relative half-width of the bounds after one sample, of which nothing is known yet."""
SIGMA = 1.4826
"""Standard deviations in a median absolute deviation of a normal distribution."""
FAR = 4.0
"""Standard deviations from the median beyond which a sample is an outlier."""
SLOW = 0.05
"""Seconds of a sample after which one alone may end a candidate; else an outlier might."""
CLOSE = 0.01
"""Relative difference within which the earlier of two candidates wins: order is the user's."""


@dataclass(eq=False, slots=True)
class Runner:
    """A candidate in the race."""

    number: int
    samples: list[float] = field(default_factory=list[float])
    left: str = ""
    """Why it left, if it did."""

    @property
    def seconds(self) -> float:
        """Its time: the median without outliers; of two samples the less disturbed one."""
        if len(self.samples) < 3:
            return min(self.samples)
        return median(without_outliers(self.samples))

    @property
    def may_leave(self) -> bool:
        """Whether enough is known of it."""
        return len(self.samples) > 1 or self.samples[0] > SLOW

    @property
    def half_width(self) -> float:
        """How far from its median its time may be, in seconds."""
        kept = without_outliers(self.samples)
        prior, root = WIDTH * self.seconds, math.sqrt(len(kept))
        if len(kept) < 3:
            return prior / root
        # The prior fades as samples say more themselves.
        return max(2 * SIGMA * deviation(kept), prior / root) / root


def race(
    count: int,
    measure: Callable[[int], float],
    *,
    rounds: int = ROUNDS,
    progress: Callable[[int, int], None] = lambda done, left: None,
) -> list[Runner]:
    """Measure candidates by number until one has won; the fastest one first, then as they left.

    `progress` receives how many iterations are over, and how many candidates are left.
    """
    field_ = [Runner(number) for number in range(count)]
    for done in range(1, rounds + 1):
        left = [runner for runner in field_ if not runner.left]
        for runner in left:
            runner.samples.append(measure(runner.number))
        best = min(left, key=lambda runner: runner.seconds)
        bound = best.seconds + best.half_width
        for runner in left:
            if runner.may_leave and runner.seconds - runner.half_width > bound:
                runner.left = f"slower by {runner.seconds / best.seconds:.2f} x"
        still = sum(not runner.left for runner in field_)
        progress(done, still)
        if still == 1:
            break
    return ranked(field_)


def ranked(runners: Sequence[Runner]) -> list[Runner]:
    """Return candidates, the winner first: those that stayed by time, then those that left."""
    stayed = sorted((r for r in runners if not r.left), key=lambda r: r.seconds)
    least = stayed[0].seconds
    winner = min((r for r in stayed if r.seconds <= least * (1 + CLOSE)), key=lambda r: r.number)
    for runner in stayed:
        if runner is not winner:
            runner.left = f"no faster, {runner.seconds / winner.seconds:.2f} x"
    left = sorted((r for r in runners if r is not winner), key=lambda r: r.seconds)
    return [winner, *left]


def without_outliers(samples: Sequence[float]) -> list[float]:
    """Return samples but those far above the median: something else ran on the machine."""
    if len(samples) < 3:
        return list(samples)
    center = median(samples)
    limit = center + max(FAR * SIGMA * deviation(samples), 0.02 * center)
    return [sample for sample in samples if sample <= limit]


def deviation(samples: Sequence[float]) -> float:
    """Return the median absolute deviation."""
    center = median(samples)
    return median([abs(sample - center) for sample in samples])


def median(samples: Sequence[float]) -> float:
    """Return the median; not of `statistics`, whose import takes longer than a small race."""
    ordered = sorted(samples)
    low, high = (len(ordered) - 1) // 2, len(ordered) // 2
    return (ordered[low] + ordered[high]) / 2
