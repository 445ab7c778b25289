"""All kernels of the language's tests and of the examples become cubins."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from source_tree import ROOT

LANGUAGE = (
    "atomics", "control_flow", "failures", "grids", "layout", "matmul", "memory",
    "order", "parameters", "pointers", "printing", "reductions", "stdlib",
)  # fmt: skip
"""Tests of the language; of single ops on numbers `test_ops` has more than the others."""
GROUPS = {
    "some kernels": (["tests/cpu/language/test_kernels.py", "--shard=1/3"], 5),
    "kernels": (["tests/cpu/language/test_kernels.py"], 15),
    "language": ([f"tests/cpu/language/test_{name}.py" for name in LANGUAGE], 200),
    "examples": (["tests/examples", "-k", "not can_fail"], 30),
}
"""Which tests are collected, and how many kernels they have at least. Those that let an example
fail have the same kernels once more."""
OPTIONS = ["-q", "--tb=no", "-rN", "-p", "no:cacheprovider", "-p", "toolchain.collecting"]


QUICK = ("some kernels",)


@pytest.mark.parametrize(
    "group", [pytest.param(g, marks=() if g in QUICK else pytest.mark.full) for g in GROUPS]
)
def test_every_kernel_compiles(group, tool, tmp_path):
    paths, least = GROUPS[group]
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, f"--collected={report}", *paths],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads(report.read_text())
    assert not found["failures"], "\n".join(found["failures"])
    assert sum(found["kernels"].values()) >= least, found["kernels"]
