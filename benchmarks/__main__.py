"""The command behind `make bench`: measures, then writes JSON, a table and a picture.

Results go to build/bench, or where --out says; `make figures` makes those that are quoted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .machine import describe
from .plot import draw
from .progress import Progress
from .records import Report, write_json
from .runner import ROOT, SETTINGS, run_all
from .table import markdown
from .timing import QUICK, Effort
from .workloads import WORKLOADS

TRIALS = ROOT / "build" / "bench"
"""Where results go unless --out says otherwise; those of the repository are those of
`benchmarks.figures`."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--threads", nargs="+", choices=[*SETTINGS], default=[*SETTINGS])
    parser.add_argument("--seconds", type=float, help="time per contestant and workload")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    return parser.parse_args(arguments)


def chosen(parts: Sequence[str]) -> list[str]:
    """The workloads whose names contain one of the parts; all if there are none."""
    return [name for name in WORKLOADS if not parts or any(part in name for part in parts)]


def write(report: Report, place: Path) -> None:
    """Write the three forms of a report."""
    place.mkdir(parents=True, exist_ok=True)
    write_json(report, place / "results.json")
    (place / "results.md").write_text(markdown(report), encoding="utf-8")
    draw(report, place / "results.png")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if all our kernels were right."""
    given = parse(arguments)
    names = chosen(given.only)
    if given.list or not names:
        print("\n".join(f"{w.name:<24}{w.about}" for w in WORKLOADS.values()))
        return 0 if given.list else 2
    effort = QUICK if given.quick else Effort()
    if given.seconds is not None:
        effort = Effort(given.seconds, effort.rounds)
    machine = describe()
    records = run_all(names, given.threads, effort, Progress(sys.stderr))
    place: Path = given.out
    write(Report(machine, records), place)
    problems = [f"{r.workload} ({r.threads}): {r.problem}" for r in records if r.problem]
    print(f"results are in {place}")
    print("FAIL: " + "; ".join(problems) if problems else "every kernel agrees with NumPy")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
