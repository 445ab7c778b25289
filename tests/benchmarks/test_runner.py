"""The environment of measuring processes, and one whole tiny run through a process."""

from __future__ import annotations

import io
import sys

import pytest

from benchmarks import runner
from benchmarks.__main__ import TRIALS, chosen, parse
from benchmarks.progress import Progress
from benchmarks.timing import Effort
from benchmarks.workloads import WORKLOADS

DIES = """
import os, sys
print('@bench {"begin": "' + sys.argv[1] + '"}', flush=True)
os.abort()
"""


def test_one_core_fixes_every_library():
    base = {"OMP_NUM_THREADS": "7", "PATH": "p"}
    one = runner.environment("one", base)
    assert {one[name] for name in runner.THREAD_VARIABLES} == {"1"}
    assert one["PATH"] == "p"


def test_all_cores_forgets_what_the_shell_says():
    assert not runner.environment("all", {"OMP_NUM_THREADS": "7"}).keys() & {
        *runner.THREAD_VARIABLES
    }


def test_results_of_the_repository_are_never_replaced():
    assert parse([]).out == TRIALS and "results" not in TRIALS.parts


def test_names_are_chosen_by_their_parts():
    assert chosen([]) == list(WORKLOADS)
    assert set(chosen(["softmax", "add_1m"])) == {"softmax_4096", "softmax_1000", "add_1m"}
    assert chosen(["nonsense"]) == []


@pytest.mark.full
def test_a_process_measures_and_checks():
    """Ours and NumPy are always there; the others may be missing, and then a reason is."""
    stream = io.StringIO()
    progress = Progress(stream)
    (record,) = runner.run_all(["launch"], ["one"], Effort(0.0, 1), progress)
    assert record.problem == ""
    assert {"tilewright", "numpy"} <= record.figures.keys()
    assert record.figures.keys() | record.absent.keys() == {"tilewright", "numpy", "torch", "numba"}
    assert {"first", "hit", "frontend", "plan", "llvm", "object"} <= record.compile.keys()
    assert "[1/1] launch, one" in stream.getvalue()


def test_a_process_that_dies_costs_its_workload_only(monkeypatch):
    monkeypatch.setattr(runner, "command", lambda names, *_: [sys.executable, "-c", DIES, names[0]])
    records = runner.run_all(["add_1m", "launch"], ["one"], Effort(0.0, 1), Progress(io.StringIO()))
    assert [(r.workload, r.problem) for r in records] == [
        ("add_1m", "the measuring process ended: SIGABRT"),
        ("launch", "the measuring process ended: SIGABRT"),
    ]
