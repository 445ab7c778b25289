"""The process that measures: `python -m benchmarks.worker` runs workloads and writes JSON lines.

How many threads the libraries use is fixed by the environment it is started with.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import tilewright as tw

from .contest import contest
from .timing import Effort
from .workloads import WORKLOADS

MARK = "@bench "
"""Begins the lines that are meant for the parent; libraries may write others."""


def tell(**message: Any) -> None:
    """Send the parent a message."""
    sys.stdout.write(MARK + json.dumps(message) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the workloads named on the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.worker")
    parser.add_argument("--threads", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args(arguments)
    effort = Effort(given.seconds, given.rounds)
    for name in given.names:
        tell(begin=name)
        with tw.unsafe():  # kernels for threads take pointers
            record = contest(WORKLOADS[name], given.threads, effort, lambda n: tell(round=n))
        tell(record=asdict(record))
        gc.collect()  # the arrays of one workload go before those of the next come


if __name__ == "__main__":
    main()
