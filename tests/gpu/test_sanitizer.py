"""NVIDIA's compute-sanitizer sees no wrong access and no race in any example."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from source_tree import ROOT

FOLDER = ROOT / "examples"
PTX = "threshold_scale.ptx"
MODULES = {"activations", "decoder"}
"""What examples import, and is none."""
OTHERS = {"interop/cuda_scale": "cuda.bindings.nvrtc", "interop/triton_softmax": "triton"}
"""Kernels of other compilers, and what each needs."""
EXAMPLES = [
    *sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in MODULES),
    *[name for name, needed in OTHERS.items() if importlib.util.find_spec(needed)],
]
TOOLKIT = Path("/usr/local/cuda/bin")
ERRORS = 9
SECONDS = 300
"""A watchdog: what takes longer hangs."""
# What the driver refuses is for the library to see, as when it asks for the last parameter.
OPTIONS = ("--error-exitcode", str(ERRORS), "--target-processes", "all",
           "--report-api-errors", "no")  # fmt: skip
MEMORY = ("--tool", "memcheck")
RACES = ("--tool", "racecheck")
TEAMS = ("block_reduction", "histogram", "simt_gemm")
"""Examples whose threads share memory."""
ORDERS = (*MEMORY, "--track-stream-ordered-races", "all")
FREED = """
import sys
import numpy as np
from cuda.bindings import driver

def ask(name, *args):
    status, *found = getattr(driver, name)(*args)
    assert name.endswith("Query") or not int(status), (name, status)
    return found[0] if found else not int(status)

def wait(how):
    if how.startswith("cuEvent"):
        event = ask("cuEventCreate", 2)
        ask("cuEventRecord", event, other)
        while not ask(how, event): pass
    elif how:
        while not ask(how, other): pass

ask("cuInit", 0)
ask("cuCtxSetCurrent", ask("cuDevicePrimaryCtxRetain", ask("cuDeviceGet", 0)))
home, other = ask("cuStreamCreate", 1), ask("cuStreamCreate", 1)
memory, host = ask("cuMemAllocAsync", 1024, home), np.empty(1024, np.uint8)
ask("cuMemsetD8Async", memory, 3, 1024, home)
ask("cuStreamSynchronize", home)
ask("cuMemcpyDtoHAsync", host.ctypes.data, memory, 1024, other)
wait(sys.argv[1])
ask("cuMemFreeAsync", memory, home)
ask("cuCtxSynchronize")
"""
"""Reads memory on a stream, sees that this is done, and frees it on the stream it came from."""


@pytest.fixture(scope="module")
def sanitizer():
    found = shutil.which("compute-sanitizer", path=f"{os.environ['PATH']}:{TOOLKIT}")
    return found or pytest.skip("no compute-sanitizer here")


@pytest.fixture(scope="module")
def runs(sanitizer, tmp_path_factory):
    """All examples on their way."""
    folder = tmp_path_factory.mktemp("examples")
    build = [sys.executable, "-m", "tilewright", "build", str(FOLDER / "tile_to_simt.py")]
    subprocess.run([*build, "--emit", "ptx"], cwd=folder, env=environment(), check=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        watch = [(name, MEMORY) for name in EXAMPLES] + [(name, RACES) for name in TEAMS]
        yield {key: pool.submit(watched, sanitizer, *key, folder) for key in watch}


def environment():
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "TILEWRIGHT_DEVICE": "cuda", "PYTHONPATH": path}


def watched(sanitizer, name, tool, folder):
    command = [sanitizer, *tool, *OPTIONS, sys.executable, str(FOLDER / f"{name}.py")]
    command += [PTX] if name.endswith("_from_ptx") else []
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_wrong_access(name, runs):
    done = runs[name, MEMORY].result()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "ERROR SUMMARY: 0 errors" in done.stdout + done.stderr


@pytest.mark.parametrize("name", TEAMS)
def test_no_race_in_shared_memory(name, runs):
    done = runs[name, RACES].result()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "RACECHECK SUMMARY: 0 hazards" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("how", "reported"),
    [("", True), ("cuStreamQuery", False), ("cuEventSynchronize", False), ("cuEventQuery", True)],
)
def test_it_does_not_know_that_events_pass(sanitizer, how, reported):
    """So it is not asked about memory that streams share: we see by events that work is done, and
    it takes them for unseen. Where this fails it has learned, and can be asked."""
    command = [sanitizer, *ORDERS, *OPTIONS, sys.executable, "-c", FREED, how]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    said = "potentially accessed after it is free" in done.stdout
    assert "ERROR SUMMARY" in done.stdout, done.stdout + done.stderr
    assert said == reported
