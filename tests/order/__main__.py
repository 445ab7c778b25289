"""Runs many random host programs in several processes, with a count of what is done.

PYTHONPATH=src:tests python -m order --device cuda --programs 50000 --jobs 8

With `--devices 4` tensors go to other devices and come back, too; the CPU is four devices then.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from typing import Any

from order.working import work


def main() -> int:
    """Run them all; the exit status says whether one failed."""
    parser = argparse.ArgumentParser(prog="order", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--devices", type=int, default=1, help="how many devices of that kind")
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so many")
    asked = parser.parse_args()
    if asked.devices > 1:  # those of GPUs are what they are
        os.environ["TILEWRIGHT_CPU_DEVICES"] = str(asked.devices)
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    seeds = range(asked.first, asked.first + asked.programs)
    workers = [
        context.Process(
            target=work,
            args=(asked.device, asked.devices, seeds[k :: asked.jobs], asked.seconds, told),
        )
        for k in range(asked.jobs)
    ]
    for worker in workers:
        worker.start()
    begun, done, ended = time.monotonic(), 0, 0
    failures: list[str] = []
    while ended < asked.jobs:
        news = told.get()
        if isinstance(news, list):
            failures += news
            ended += 1
            continue
        done += 1
        if done % 100 == 0 or done == asked.programs:
            rate = done / (time.monotonic() - begun)
            print(f"\r{done} of {asked.programs} programs, {rate:.0f}/s", end="", file=sys.stderr)
    print(file=sys.stderr)
    print("\n".join(failures))
    print(
        f"{done} programs on {asked.device}: {done - len(failures)} passed, {len(failures)} failed"
    )
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
