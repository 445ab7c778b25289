"""The command `python -m benchmarks.interop`: what it costs to work with other libraries.

Kernels of others launched from here, beside their own launches; kernels of ours as operators of
PyTorch and functions of JAX, beside theirs. Writes interop.json and interop.md; on a GPU
interop_cuda.json and interop_cuda.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import tilewright as tw

from ..__main__ import TRIALS
from ..host.__main__ import described, run
from ..host.files import read, write
from ..host.report import Report, markdown
from ..timing import Effort
from .tables import experiments

USUAL = Effort(seconds=0.3, rounds=5)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interop", description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    parser.add_argument("--seconds", type=float, default=USUAL.seconds, help="for each figure")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument(
        "--draw", type=Path, metavar="JSON", help="only the page of what was measured"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if no table failed as a whole."""
    given = parse(arguments)
    if given.draw is not None:
        write(read(given.draw), given.out)
        return 0
    with tw.device(given.device) as device:
        tables, failed = run(experiments(given.device), Effort(given.seconds, USUAL.rounds))
    stem = "interop" if device.host_visible else "interop_cuda"
    title = "What other libraries cost"
    report = Report(described(device), tables, title=title, stem=stem, picture=False)
    write(report, given.out)
    print(markdown(report))
    print(f"results are in {given.out}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
