"""What was measured, as records that go to JSON and come back."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .case import OURS


@dataclass(frozen=True, slots=True)
class Figures:
    """The times of one contestant, in seconds per call, and how many cores it kept busy."""

    minimum: float
    median: float
    maximum: float
    samples: int
    cores: float = 0.0


def figures(times: Sequence[float], cores: float = 0.0) -> Figures:
    """Sum up samples."""
    return Figures(min(times), statistics.median(times), max(times), len(times), round(cores, 3))


@dataclass(frozen=True, slots=True)
class Record:
    """One workload at one setting of threads."""

    workload: str
    about: str
    threads: str
    """`all` or `one`."""
    figures: dict[str, Figures] = field(default_factory=dict[str, Figures])
    rate: str = ""
    """Ours, at the minimum."""
    goals: dict[str, float] = field(default_factory=dict[str, float])
    absent: dict[str, str] = field(default_factory=dict[str, str])
    """Contestants that could not take part, and why."""
    problem: str = ""
    """What went wrong with ours; nothing if it was right."""
    compile: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of each stage of a compilation, of the whole `first` one, and of a `hit` on disk."""
    others: float = 0.0
    """The share of the machine that other processes used meanwhile."""

    def ratio(self, peer: str, value: str = "minimum") -> float | None:
        """How much faster ours is than a peer: above 1 is faster."""
        mine, other = self.figures.get(OURS), self.figures.get(peer)
        if mine is None or other is None:
            return None
        return float(getattr(other, value) / getattr(mine, value))

    @property
    def peers(self) -> list[str]:
        """The contestants besides ours."""
        return [name for name in self.figures if name != OURS]

    @property
    def best_peer(self) -> str | None:
        """The fastest of the others."""
        return min(self.peers, key=lambda p: self.figures[p].minimum, default=None)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run: the machine and all records."""

    machine: dict[str, str]
    records: list[Record]


def record_from(data: Mapping[str, Any]) -> Record:
    """A record as it comes out of JSON."""
    times = {name: Figures(**f) for name, f in data["figures"].items()}
    follow = ("figures", "ratios")
    given = {name: value for name, value in data.items() if name not in follow}
    return Record(figures=times, **given)


def report_from(text: str) -> Report:
    """A report as it comes out of JSON."""
    data = json.loads(text)
    return Report(data["machine"], [record_from(r) for r in data["records"]])


def to_json(report: Report) -> str:
    """A report as JSON: seconds, ratios and reasons."""
    records = [{**asdict(r), "ratios": _ratios(r)} for r in report.records]
    return json.dumps({"machine": report.machine, "records": records}, indent=1) + "\n"


def _ratios(record: Record) -> dict[str, float]:
    found = {peer: record.ratio(peer) for peer in record.peers}
    return {peer: round(ratio, 3) for peer, ratio in found.items() if ratio is not None}


def write_json(report: Report, path: Path) -> None:
    """Write a report."""
    path.write_text(to_json(report), encoding="utf-8")
