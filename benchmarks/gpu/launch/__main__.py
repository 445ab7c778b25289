"""The command `python -m benchmarks.gpu.launch`: what launches on a GPU cost the host.

Ours, cuTile Python, Triton, torch's graphs and the driver alone take turns in one run. Writes
launch.json, launch.md and, where matplotlib is installed, launch.png; `--draw` makes the last two
of a JSON file that was measured elsewhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import tilewright as tw

from ...__main__ import TRIALS
from ...host.__main__ import run
from ...host.files import read, write
from ...host.report import Report, markdown
from ...timing import Effort
from ..__main__ import machine
from ..case import OURS
from .forms import forms
from .tables import EXPERIMENTS

USUAL = Effort(seconds=0.15, rounds=5)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.launch", description=__doc__)
    parser.add_argument("--seconds", type=float, default=USUAL.seconds, help="for each figure")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only draw what was measured")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if ours took part everywhere."""
    given = parse(arguments)
    if given.draw is not None:
        write(read(given.draw), given.out)
        return 0
    described = machine()
    with tw.device("cuda"):
        tables, failed = run(
            {**EXPERIMENTS, "launch_forms": forms}, Effort(given.seconds, USUAL.rounds)
        )
    report = Report(described, tables, title="What a launch costs the host", stem="launch")
    write(report, given.out)
    print(markdown(report))
    print(f"results are in {given.out}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    missing = [way for table in tables for way in table.absent if way.startswith(OURS)]
    return 1 if failed or missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
