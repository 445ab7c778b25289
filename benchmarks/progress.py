"""Tells how far a run has come: a live line on a terminal, and a line per finished workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from .case import OURS
from .records import Record
from .table import duration

CLEAR = "\r\x1b[K"


@dataclass(slots=True)
class Progress:
    """What to say, and where."""

    stream: TextIO
    total: int = 0
    done: int = 0

    def working(self, workload: str, threads: str, number: int = 0) -> None:
        """A workload is being prepared, or is in a round."""
        if self.stream.isatty():
            what = f"round {number}" if number else "preparing and checking"
            place = f"[{self.done + 1}/{self.total}]"
            self._write(f"{CLEAR}{place} {workload}, {threads} cores: {what}")

    def finished(self, record: Record) -> None:
        """A workload is measured."""
        self.done += 1
        clear = CLEAR if self.stream.isatty() else ""
        name = f"{record.workload}, {record.threads}"
        self._write(f"{clear}[{self.done}/{self.total}] {name:<32}{_outcome(record)}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _outcome(record: Record) -> str:
    if record.problem:
        return f"PROBLEM: {record.problem}"
    ratios = [f"{peer} {record.ratio(peer):.2f}x" for peer in record.peers]
    return f"{duration(record.figures[OURS].minimum):>10}   {'  '.join(ratios)}"
