"""What `import tilewright` takes in a process of its own, besides what NumPy takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from typing import NamedTuple

from ..records import figures
from ..timing import Effort
from .report import Goal, Table

IMPORT_GOAL = 0.1
"""Seconds of CPU time, at most."""
MEMORY_GOAL = 25.0
"""MB that it leaves in memory, at most."""

PROGRAM = """
import importlib, json, mmap, sys, time

def used():
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return time.process_time(), pages * mmap.PAGESIZE / 1e6

found = [used()]
for name in sys.argv[1:]:
    importlib.import_module(name)
    found.append(used())
print(json.dumps(found))
"""
"""The peak that `getrusage` knows may be that of the process which started this one."""


class Cost(NamedTuple):
    """Of one import: CPU time in seconds, memory in MB."""

    seconds: float
    memory: float


def importing(effort: Effort) -> Table:
    """The imports of NumPy and of Tilewright, in this order, in new processes."""
    names = ("numpy", "tilewright")
    costs(names)  # which compiles what was not yet compiled to bytecode
    found = [costs(names) for _ in range(effort.rounds)]
    row = {name: figures([each[i].seconds for each in found]) for i, name in enumerate(names)}
    least = min(each[1].memory for each in found)
    goals = (
        Goal("ms of CPU time of an import", row["tilewright"].minimum * 1e3, IMPORT_GOAL * 1e3),
        Goal("MB of memory of an import", least, MEMORY_GOAL),
    )
    return Table(
        "host_import", "An import",
        "CPU time of NumPy's import, and of ours after it, in new processes. The compiler and what"
        " it needs are loaded with the first compilation.",
        "step", {"import": row}, goals=goals,
    )  # fmt: skip


def costs(names: tuple[str, ...]) -> list[Cost]:
    """What each of some imports takes, one after the other in a new process."""
    # Where bytecode is not kept, all of it would be compiled each time.
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        capture_output=True, text=True, check=True, env=kept,
    )  # fmt: skip
    used: list[list[float]] = json.loads(done.stdout)
    return [Cost(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(used)]
