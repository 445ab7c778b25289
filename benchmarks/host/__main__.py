"""The command `python -m benchmarks.host`: what the host pays, as JSON, a page and a picture.

Whole runs go to benchmarks/results, others to build/bench unless --out says otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..__main__ import RESULTS, TRIALS
from ..machine import describe
from ..timing import Effort
from .experiments import EXPERIMENTS
from .plot import draw
from .profile import launch_profile
from .report import Report, Table, markdown, to_json

USUAL, QUICK = Effort(seconds=0.3, rounds=5), Effort(seconds=0.03, rounds=1)
PROFILE = "profile"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    return parser.parse_args(arguments)


def chosen(parts: Sequence[str]) -> list[str]:
    """The experiments whose names contain one of the parts, and the profile; all without parts."""
    known = [*EXPERIMENTS, PROFILE]
    return [name for name in known if not parts or any(part in name for part in parts)]


def folder(given: argparse.Namespace) -> Path:
    """Where results go: those in the repository are replaced by whole runs only."""
    if given.out is not None:
        return Path(given.out)
    return TRIALS if given.quick or given.only else RESULTS


def write(report: Report, place: Path) -> None:
    """Write the three forms of a report."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "host.json").write_text(to_json(report), encoding="utf-8")
    (place / "host.md").write_text(markdown(report), encoding="utf-8")
    draw(report, place / "host.png")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    given = parse(arguments)
    names = chosen(given.only)
    if given.list or not names:
        print("\n".join([*EXPERIMENTS, PROFILE]))
        return 0 if given.list else 2
    effort = QUICK if given.quick else USUAL
    machine = describe()
    tables: list[Table] = []
    for name in names:
        if name in EXPERIMENTS:
            print(name, file=sys.stderr)
            tables.append(EXPERIMENTS[name](effort))
    profile = launch_profile() if PROFILE in names else []
    place = folder(given)
    write(Report(machine, tables, profile), place)
    print(f"results are in {place}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
