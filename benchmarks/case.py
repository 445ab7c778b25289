"""What a benchmark is made of: workloads, the contestants of each, and how their answers count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tilewright import Entry

Array: TypeAlias = np.ndarray[Any, Any]

OURS = "tilewright"


class NotAvailable(Exception):  # noqa: N818 - a state of this machine, not a mistake
    """A contestant that cannot take part on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A contestant at the start: `run` does the work once, `read` makes the answer of its result.

    One that writes into memory it was given ignores the result.
    """

    run: Callable[[], object]
    read: Callable[[Any], Array]


Contestant: TypeAlias = Callable[[], Trial]
"""Makes a trial, or raises NotAvailable."""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """How our kernel is called: enough to launch it again and again, and to compile it afresh."""

    kernel: Entry
    arguments: Callable[[], tuple[Any, ...]]
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grid: tuple[int, ...] | None = None
    """How many blocks run, where it does not follow from what is written."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much one run does: bytes that must move, or floating-point operations."""

    amount: float
    unit: str

    def rate(self, seconds: float) -> str:
        """The speed, such as `41.2 GB/s`; nothing where there is no amount."""
        return f"{self.amount / seconds / 1e9:.1f} G{self.unit}/s" if self.amount else ""


def moved(*arrays: Array) -> Work:
    """The work of touching each of these arrays once."""
    return Work(float(sum(a.nbytes for a in arrays)), "B")


def flops(count: float) -> Work:
    """The work of so many additions and multiplications."""
    return Work(float(count), "FLOP")


@dataclass(frozen=True, slots=True)
class Case:
    """A workload with its data in memory: what runs, and what the answer must be."""

    call: KernelCall
    contestants: Mapping[str, Contestant]
    expected: Callable[[], Array]
    tolerance: tuple[float, float]
    """Relative and absolute."""
    work: Work = Work(0.0, "")


@dataclass(frozen=True, slots=True)
class Workload:
    """A named problem of a fixed size, and the ratios to its peers that we want on all cores."""

    name: str
    about: str
    make: Callable[[], Case]
    goals: Mapping[str, float] = field(default_factory=dict[str, float])


SLICE = 1 << 22


def deviation(actual: Array, expected: Array, tolerance: tuple[float, float]) -> float:
    """The largest error in units of what is allowed: right if at most 1; NaN if anything is NaN.

    Goes slice by slice, because the largest arrays would not fit into memory several times more.
    """
    if actual.shape != expected.shape:
        return float("nan")
    relative, absolute = tolerance
    a, e = actual.reshape(-1), expected.reshape(-1)
    worst = 0.0
    for start in range(0, a.size, SLICE):
        mine = a[start : start + SLICE].astype(np.float64)
        right = e[start : start + SLICE].astype(np.float64)
        error = np.abs(mine - right) / (absolute + relative * np.abs(right))
        worst = float(np.maximum(worst, np.max(error, initial=0.0)))
    return worst
