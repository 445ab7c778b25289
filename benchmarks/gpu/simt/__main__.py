"""The command `python -m benchmarks.gpu.simt`: SIMT kernels against CUDA C++ and numba-cuda.

All take turns in one run, launched alike. Writes simt.json and simt.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...__main__ import TRIALS
from ...table import table
from ..__main__ import machine
from ..case import OURS
from ..contest import Record, contest
from ..report import UNITS, ratio
from ..timing import ROUNDS
from .rows import CUDA, NUMBA, ROWS

HOW = """\
The same kernels in three languages, in turns, five rounds; speeds are those of the median round, by
the GPU's own clock. The other columns say how fast ours is in parts of theirs: above 1 ours is
faster."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.simt", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    return parser.parse_args(arguments)


def _line(record: Record) -> list[str]:
    ours = record.rates.get(OURS)
    speed = "-" if ours is None else f"{ours:.2f} {UNITS[record.unit]}"
    peers = [ratio(record, peer) for peer in (CUDA, NUMBA)]
    return [record.name, speed, *("-" if r is None else f"{r:.2f}" for r in peers)]


def markdown(machine: dict[str, str], records: Sequence[Record]) -> str:
    """Two tables: the machine; our speed, and in parts of the others'."""
    about = table(("machine", ""), list(machine.items()))
    rows = [_line(record) for record in records]
    speeds = table(("work", "ours", f"of {CUDA}", f"of {NUMBA}"), rows)
    return "\n".join(["# SIMT kernels on a GPU", "", *about, "", HOW, "", *speeds]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if ours took part everywhere."""
    given = parse(arguments)
    records: list[Record] = []
    for row in ROWS.values():
        records.append(contest(row, given.rounds))
        print(" | ".join(_line(records[-1])), records[-1].absent or "", flush=True)
    about = machine()
    found = {"machine": about, "records": [asdict(record) for record in records]}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "simt.json").write_text(json.dumps(found, indent=1) + "\n")
    page = markdown(about, records)
    (given.out / "simt.md").write_text(page)
    print(page)
    return 1 if any(OURS in record.absent for record in records) else 0


if __name__ == "__main__":
    raise SystemExit(main())
