"""Launches each kind many times in a process of its own, and tells what was left behind.

PYTHONPATH=src:tests python -m leaks --launches 100000
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from leaks.counting import Alive, grown
from leaks.kinds import KINDS


def main() -> int:
    """Try the kinds asked for; the exit status says whether one left something behind."""
    parser = argparse.ArgumentParser(prog="leaks", description=__doc__)
    parser.add_argument("--launches", type=int, default=100_000)
    parser.add_argument("--alone", action="store_true", help="in this process")
    parser.add_argument("kinds", nargs="*", help="all, unless some are named")
    asked = parser.parse_args()
    unknown = set(asked.kinds) - set(KINDS)
    if unknown:
        parser.error(f"there is no kind {sorted(unknown)}; there are {list(KINDS)}")
    if asked.alone:
        return max(_try(kind, asked.launches) for kind in asked.kinds)
    command = [sys.executable, "-m", "leaks", "--alone", "--launches", str(asked.launches)]
    ended = [subprocess.run([*command, kind], check=False) for kind in asked.kinds or KINDS]
    return any(each.returncode for each in ended)


def _try(kind: str, launches: int) -> bool:
    begun, first = time.monotonic(), Alive.now()
    more = grown(KINDS[kind](), launches)
    all_in_all = Alive.now().since(first)
    seconds = time.monotonic() - begun
    told = f"left behind {more}" if more else "nothing left behind"
    print(f"{kind:26} {launches:7} launches, {seconds:6.1f} s: {told}; since import {all_in_all}")
    return more is not None


if __name__ == "__main__":
    sys.exit(main())
