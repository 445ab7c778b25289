"""The tests of the language and of the host, run on the GPU in place of the CPU.

Each file runs in a process of its own, since one that brings the GPU down ends all work there. Logs
and a table of what passed are in `--suite-logs`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from source_tree import ROOT
from support.suites import TABLE, Suites, parts

FOLDERS = (
    "cpu/array", "cpu/compile", "cpu/frontend", "cpu/graph", "cpu/kernels", "cpu/language",
    "cpu/launch", "cpu/op", "cpu/testing", "examples", "fuzz", "host/array", "host/interop",
    "host/kernels", "host/launch", "host/op", "host/testing", "ownership",
)  # fmt: skip
"""Where tests are that run on whatever device is the default one, or on one they are given."""
SINGLE = ("cpu/test_numbers.py",)
SECONDS = 400
"""A watchdog: what takes longer hangs."""
SHARDS = {
    "tests/cpu/language/test_corpus.py": 6,
    "tests/cpu/language/test_reductions.py": 3,
    "tests/fuzz/test_exact.py": 4,
    "tests/fuzz/test_rounded.py": 4,
}
FILES = [
    *[
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / "tests" / folder).glob("test_*.py")
    ],
    *[f"tests/{name}" for name in SINGLE],
]
PARTS = parts(FILES, SHARDS)


@pytest.fixture(scope="module")
def suites(request):
    """All files on their way."""
    config = request.config
    running = Suites(
        ["--on=cuda"], Path(config.getoption("--suite-logs")).absolute(), PARTS, SECONDS
    )
    yield running
    config.stash[TABLE] = running.close()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_on_the_gpu(part, suites):
    result = suites.result(part)
    assert result.passed, result.log[-8000:]
