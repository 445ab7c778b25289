"""The tests of the language and of the host, run on the GPU in place of the CPU.

Each file runs in a process of its own, since one that brings the GPU down ends all work there. Logs
and a table of what passed are in `--suite-logs`; with a pack, how many of the kernels came with it.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest

from source_tree import ROOT
from support.packs import Pack
from support.suites import TABLE, Suites, parts
from tools.gpu_pack import SUITES, files_of

FRESH = "tests/fuzz"
"""Programs that are new each time, so that no pack can hold them."""
SECONDS = 400
"""A watchdog: what takes longer hangs."""
SHARDS = {
    "tests/cpu/language/test_corpus.py": 6,
    "tests/cpu/language/test_integers.py": 2,
    "tests/cpu/language/test_mapped.py": 2,
    "tests/cpu/language/test_reductions.py": 3,
    "tests/cpu/test_numbers.py": 2,
    "tests/fuzz/test_exact.py": 4,
    "tests/fuzz/test_rounded.py": 4,
    "tests/host/interop/test_torch.py": 2,
}
FILES = [
    str(file.relative_to(ROOT))
    for path in (*chain(*SUITES.values()), FRESH)
    for file in files_of(ROOT / path)
]
PARTS = parts(FILES, SHARDS)


@pytest.fixture(scope="module")
def suites(request):
    """All files on their way."""
    config = request.config
    logs = Path(config.getoption("--suite-logs")).absolute()
    pack = Pack(Path(os.environ["GPU_PACK"], "cache")) if "GPU_PACK" in os.environ else None
    running = Suites(["--on=cuda"], logs, PARTS, SECONDS, pack)
    yield running
    config.stash[TABLE] = running.close()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_on_the_gpu(part, suites):
    result = suites.result(part)
    assert result.passed, result.log[-8000:]
