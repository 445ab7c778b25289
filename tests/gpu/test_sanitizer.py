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
IN_THREADS = ("async_add",)
"""Examples whose ops go on in several threads at a time. Where the sanitizer follows the order of
streams it hangs then, with all of them in calls of the driver; without that it does not."""


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor is its package
        return False


EXAMPLES = [
    *sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in MODULES),
    *[name for name, needed in OTHERS.items() if _is_here(needed)],
]
TOOLKIT = Path("/usr/local/cuda/bin")
ERRORS = 9
SECONDS = 300
"""A watchdog: what takes longer hangs."""
# What the driver refuses is for the library to see, as when it asks for the last parameter.
OPTIONS = ("--error-exitcode", str(ERRORS), "--target-processes", "all",
           "--report-api-errors", "no")  # fmt: skip
MEMORY = ("--tool", "memcheck")
ORDERS = (*MEMORY, "--track-stream-ordered-races", "all")
TELLING = ("-P", str(ROOT / "tests" / "support" / "telling.py"))
RACES = ("--tool", "racecheck")
TEAMS = ("block_reduction", "histogram", "simt_gemm")
"""Examples whose threads share memory."""
ASKING = """
import sys
import numpy as np
from cuda.bindings import driver

def ask(name, *args):
    status, *found = getattr(driver, name)(*args)
    assert name.endswith("Query") or not int(status), (name, status)
    return found[0] if found else not int(status)

ask("cuInit", 0)
ask("cuCtxSetCurrent", ask("cuDevicePrimaryCtxRetain", ask("cuDeviceGet", 0)))
"""
FREED = f"""{ASKING}
def wait(how):
    if how.startswith("cuEvent"):
        event = ask("cuEventCreate", 2)
        ask("cuEventRecord", event, other)
        while not ask(how, event): pass
    elif how:
        while not ask(how, other): pass

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
OLDER = f"""{ASKING}
home = ask("cuStreamCreate", 1)
if sys.argv[1] == "before": other = ask("cuStreamCreate", 1)
memory = ask("cuMemAllocAsync", 1024, home)
ask("cuCtxSynchronize")
if sys.argv[1] == "after": other = ask("cuStreamCreate", 1)
ask("cuMemsetD8Async", memory, 3, 1024, other)
ask("cuCtxSynchronize")
"""
"""Uses memory on a stream that was made before it, or after."""


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
        watch = [(name, memory_tool(name)) for name in EXAMPLES] + [(name, RACES) for name in TEAMS]
        yield {key: pool.submit(watched, sanitizer, *key, folder) for key in watch}


def environment():
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "TILEWRIGHT_DEVICE": "cuda", "PYTHONPATH": path}


def memory_tool(name):
    """Streams of other libraries are not ours to tell of."""
    return MEMORY if name in OTHERS or name in IN_THREADS else ORDERS


def watched(sanitizer, name, tool, folder):
    told = TELLING if tool is ORDERS else ()
    command = [sanitizer, *tool, *OPTIONS, sys.executable, *told, str(FOLDER / f"{name}.py")]
    command += [PTX] if name.endswith("_from_ptx") else []
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_wrong_access(name, runs):
    """Nor one to memory that another stream has yet to allocate, or has freed."""
    done = runs[name, memory_tool(name)].result()
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
    """So `telling` tells it: we see by events that work is done. Where this fails, it learned."""
    said = said_of(sanitizer, FREED, how)
    assert ("potentially accessed after it is free" in said) == reported


@pytest.mark.parametrize(("when", "reported"), [("before", False), ("after", True)])
def test_streams_do_not_know_older_memory(sanitizer, when, reported):
    """So `telling` makes streams first."""
    said = said_of(sanitizer, OLDER, when)
    assert ("potentially accessed before it is allocated" in said) == reported


def said_of(sanitizer, program, word):
    command = [sanitizer, *ORDERS, *OPTIONS, sys.executable, "-c", program, word]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert "ERROR SUMMARY" in done.stdout, done.stdout + done.stderr
    return done.stdout
