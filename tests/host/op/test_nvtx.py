"""Ranges as a profiler gets them, through the interface by which NVTX loads profilers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import support
from source_tree import ROOT

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
PROGRAM = """\
import sys, threading
import tilewright as tw
import tilewright.lang as tl
if sys.argv[1] == "library":
    sys.modules["nvtx"] = None

@tw.entry
def doubled(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)

def twice(x):
    return doubled(tw.empty_like(x).partition((64,)), x).out()

def run():
    tw.ones((100,)).then(twice).sync()

run()
with tw.trace(nvtx=True):
    run()
    other = threading.Thread(target=run)
    other.start()
    other.join()
    try:
        tw.ones((100,)).map(lambda x: 1 / 0).sync()
    except ZeroDivisionError:
        pass
    tw.value(1).sync()
run()
"""

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no compiler of C is installed")


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    source = Path(support.__path__[0]) / "nvtx_recorder.c"
    made = tmp_path_factory.mktemp("nvtx") / "libnvToolsExt.so.1"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-w", str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize("way", ["wheel", "library"])
def test_what_a_profiler_sees(way, recorder, tmp_path):
    if way == "wheel" and importlib.util.find_spec("nvtx") is None:
        pytest.skip("the package nvtx is not installed")
    program, record = tmp_path / "program.py", tmp_path / "ranges"
    program.write_text(PROGRAM)
    paths = f"{recorder.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    given = {"NVTX_INJECTION64_PATH": str(recorder)} if way == "wheel" else {
        "LD_LIBRARY_PATH": paths
    }  # fmt: skip
    environment = os.environ | given | {
        "NVTX_RECORD": str(record), "TILEWRIGHT_DEVICE": "cpu", "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, program, way], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in record.read_text().splitlines()]
    assert {domain for _, _, domain, _ in lines} == {"tilewright" if way == "wheel" else ""}
    threads = list(dict.fromkeys(thread for thread, *_ in lines))
    # An op that goes on with another one is a range before it and a range behind it.
    filled = ["ones", "store_bits", "ones"]
    chain = [*filled, "doubled", "empty_like", "doubled"]
    assert [opened(lines, thread) for thread in threads] == [[*chain, *filled, "value"], chain]


def opened(lines, thread):
    """Return the ranges of a thread in the order of their begins; check that each ends."""
    depth, names = 0, []
    for of, what, _, name in lines:
        if of != thread:
            continue
        depth += 1 if what == "push" else -1
        assert depth >= 0
        if what == "push":
            names.append(name)
    assert depth == 0
    return names
