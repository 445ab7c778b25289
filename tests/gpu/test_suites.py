"""The tests of the language and of the host, run on the GPU in place of the CPU.

Each file runs in a process of its own, since one that brings the GPU down ends all work there; as
many at a time as there are processors, for most of the time kernels are compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from source_tree import ROOT

FOLDERS = ("cpu/language", "cpu/graph", "cpu/kernels", "cpu/launch", "cpu/op", "examples")
SINGLE = ("cpu/test_numbers.py",)
SECONDS = 400
FILES = [
    *sorted(
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / "tests" / folder).glob("test_*.py")
    ),
    *[f"tests/{name}" for name in SINGLE],
]
OPTIONS = ["-q", "--tb=short", "-rf", "-p", "no:cacheprovider", "--on", "cuda"]


@pytest.fixture(scope="module")
def runs():
    """All files on their way."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        yield {file: pool.submit(_run, file) for file in FILES}


def _run(file: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, file],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_on_the_gpu(file, runs):
    done = runs[file].result()
    assert done.returncode in (0, 5), done.stdout[-6000:] + done.stderr[-2000:]
