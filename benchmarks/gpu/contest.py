"""Runs one row: contestants are checked, tuned, and timed in turns."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

from .. import peers
from ..case import NotAvailable
from ..records import Figures, figures
from .case import Case, Entry, Row, Tensor
from .ours import forget
from .timing import ROUNDS, Clock, best, interleave, rounds_of


@dataclass(frozen=True, slots=True)
class Record:
    """What a row gave."""

    family: str
    name: str
    unit: str
    figures: dict[str, Figures] = field(default_factory=dict[str, Figures])
    """Seconds per call of each contestant."""
    rates: dict[str, float] = field(default_factory=dict[str, float])
    """Their speeds in TB/s or TFLOP/s, at the median."""
    settings: dict[str, str] = field(default_factory=dict[str, str])
    absent: dict[str, str] = field(default_factory=dict[str, str])
    """Who could not take part, and why."""
    goals: dict[str, float] = field(default_factory=dict[str, float])


def contest(row: Row, rounds: int = ROUNDS) -> Record:
    """Check, tune and time."""
    case, clock = row.make(), Clock(cold=row.cold)
    entries, absent = _qualified(case, clock)
    timed = interleave(entries, clock, rounds_of(row, rounds))
    found = {name: figures(times) for name, times in timed.items()}
    record = Record(
        row.family, row.name, row.unit, found,
        {name: row.rate(f.median) for name, f in found.items()},
        {name: entry.setting for name, entry in entries.items() if entry.setting},
        absent, dict(row.goals),
    )  # fmt: skip
    del case, entries
    forget()
    gc.collect()
    peers.torch().cuda.empty_cache()
    return record


def warm_up(row: Row) -> None:
    """Run everything once, so that all code is compiled and kept on disk."""
    for settings in row.make().contestants.values():
        try:
            for entry in settings():
                entry.run()
        except Exception:  # the contest itself will tell
            continue
    forget()
    peers.torch().cuda.synchronize()


def _qualified(case: Case, clock: Clock) -> tuple[dict[str, Entry], dict[str, str]]:
    """Those whose answer is right, each with its best setting."""
    entries: dict[str, Entry] = {}
    absent: dict[str, str] = {}
    expected = case.expected()
    for name, settings in case.contestants.items():
        try:
            fastest = best(settings(), clock)
            _check(name, fastest, expected, case.tolerance)
            entries[name] = fastest
        except NotAvailable as reason:
            absent[name] = str(reason)
        except Exception as error:  # whatever it is, the others go on and the report shows it
            absent[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return entries, absent


def _check(name: str, entry: Entry, expected: Tensor, tolerance: float) -> None:
    """Raise if an answer is wrong; a copy has none."""
    if name == "copy":
        return
    if entry.spoil is not None:
        entry.spoil()
    entry.run()
    if entry.fetch is not None:
        entry.fetch()
    error = float((entry.out.float() - expected.float()).abs().max() / expected.float().abs().max())
    if not error <= tolerance:
        raise ValueError(f"its error is {error:.3g} of the largest number")
