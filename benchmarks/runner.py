"""Starts measuring processes, one per setting of threads, and collects their records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .progress import Progress
from .records import Record, record_from
from .timing import Effort
from .worker import MARK
from .workloads import WORKLOADS

ROOT = Path(__file__).parent.parent

THREAD_VARIABLES = (
    "TILEWRIGHT_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

SETTINGS: dict[str, dict[str, str]] = {
    "all": {},
    "one": dict.fromkeys(THREAD_VARIABLES, "1"),
}
"""What each setting adds to the environment; with `all` every library decides for itself."""

# Some peers can only make new results. Without these settings of the C library each would come
# in fresh pages, and zeroing them takes longer than the work: torch's layer_norm would need
# three times as long.
KEEPS_MEMORY = {
    "GLIBC_TUNABLES": ":".join((
        "glibc.malloc.hugetlb=1", "glibc.malloc.mmap_max=0",
        f"glibc.malloc.trim_threshold={1 << 34}",
    )),
}  # fmt: skip

ALWAYS = {
    # What is timed as a first compilation must be one.
    "TILEWRIGHT_CACHE_DIR": "off",
    # torch.compile would keep a pool of processes that disturb the timing.
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    **KEEPS_MEMORY,
}
"""What is added to the environment at every setting."""


def environment(threads: str, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a measuring process."""
    kept = {name: value for name, value in base.items() if name not in THREAD_VARIABLES}
    return {**kept, **ALWAYS, **SETTINGS[threads]}


def run_all(
    names: Sequence[str], settings: Sequence[str], effort: Effort, progress: Progress
) -> list[Record]:
    """Measure every workload at every setting. A process that dies costs its workload only."""
    records: list[Record] = []
    progress.total = len(names) * len(settings)
    for threads in settings:
        todo = list(names)
        while todo:
            for record in _process(todo, threads, effort, progress):
                todo.remove(record.workload)
                records.append(record)
                progress.finished(record)
    return records


def command(names: Sequence[str], threads: str, effort: Effort) -> list[str]:
    """What starts a measuring process."""
    return [
        sys.executable, "-m", "benchmarks.worker", "--threads", threads,
        "--seconds", str(effort.seconds), "--rounds", str(effort.rounds), *names,
    ]  # fmt: skip


def _process(
    names: Sequence[str], threads: str, effort: Effort, progress: Progress
) -> Iterator[Record]:
    """The records of one measuring process; if it dies, one that says so."""
    child = subprocess.Popen(
        command(names, threads, effort),
        cwd=ROOT, env=environment(threads, os.environ), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    current = names[0]
    try:
        for message in _messages(child):
            if "record" in message:
                yield record_from(message["record"])
            elif "begin" in message:
                current = str(message["begin"])
                progress.working(current, threads)
            else:
                progress.working(current, threads, int(message["round"]))
        if child.wait() != 0:
            about = WORKLOADS[current].about
            yield Record(current, about, threads, problem=_death(child.returncode))
    finally:
        child.kill()
        child.wait()


def _messages(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert child.stdout is not None
    with child.stdout:
        for line in child.stdout:
            if line.startswith(MARK):
                yield json.loads(line.removeprefix(MARK))
            else:
                sys.stderr.write(line)


def _death(code: int) -> str:
    how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    return f"the measuring process ended: {how}"
