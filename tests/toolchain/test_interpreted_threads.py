"""SIMT kernels as the PTX they become, interpreted on a simulated GPU; no assembler is needed.

Mistakes in the lowering, made by hand, fail one of a few kernels: as a wrong result, or as
behaviour that PTX leaves undefined. All tests of threads run by
`pytest --simulate=sm_90 --on cuda tests/gpu/test_threads.py`.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from fuzz import integers, test_meeting
from source_tree import ROOT
from support import simulated_cuda, tiers
from tilewright import f32, i32, simt
from tilewright.backend.cpu.emit import atomics, elementwise, kernel
from tilewright.backend.llvm.builder import Vec
from tilewright.backend.ptx import simt as thread_ops
from tilewright.devices import registry
from tilewright.ir.attrs import AtomicMode, ShuffleMode, ThreadCoordinate

SUITES = {
    "tests/gpu/test_threads.py": 20,
    "tests/cpu/launch/test_simt.py": 10,
    "tests/cpu/kernels/test_cooperative.py": 6,
    "tests/examples/test_examples.py::test_example[tile_to_simt]": 1,
}
"""Tests, and of how many one runs in the quick tier."""
PROGRAMS = tiers.count(quick=2, full=40)


@pytest.fixture(params=["sm_90", "sm_80"])
def gpu(request, monkeypatch):
    """A simulated GPU."""
    simulated_cuda.install(request.param, patch=monkeypatch.setattr)
    (found,) = registry._Gpus.found
    return found


@pytest.mark.parametrize("tests", SUITES)
def test_suites(tests):
    shard = f"--shard=1/{tiers.count(quick=SUITES[tests], full=1)}"
    options = ["-q", "--tb=short", "-n", "0", "-p", "no:cacheprovider", shard]
    command = [sys.executable, "-m", "pytest", *options, "--simulate=sm_90", "--on=cuda", tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_random_kernels_that_meet(gpu, number):
    test_meeting.check(test_meeting.seed_of(number), gpu)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_random_integers(gpu, number):
    integers.check("threads", 7000 + number, gpu)


# --- mistakes in the lowering --------------------------------------------------------------------

BLOCK = 64


def neighbours(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Everything at once: checks, branches, shared memory, warps, atomics."""
    i, t = simt.index_1d(), simt.thread_idx()
    room, sums = simt.shared(i32, (BLOCK,)), simt.shared(i32, (4,))
    mine = x[i] if i < len(x) else -7
    room[t] = mine
    if t < 4:
        sums[t] = 100
    simt.sync_threads()
    other = room[BLOCK - 1 - t]
    tl.atomic_max(sums.at(t % 4), mine)
    simt.sync_threads()
    below = simt.shuffle_up(mine, 1)
    swapped = simt.shuffle_xor(other, 3)
    votes = i32(simt.ballot(mine > other) & 255)
    least = mine if mine < below else below
    if i < len(out):
        out[i] = least * 1000 + swapped * 10 + sums[t % 4] * 3 + votes


def rows(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """Shared memory in two dimensions, and what a launch asked for."""
    i, t = simt.index_1d(), simt.thread_idx()
    room, more = simt.shared(f32, (4, 16)), simt.dynamic_shared(f32)
    room[t // 16, t % 16] = x[i] if i < len(x) else 0.0
    more[t] = f32(t)
    simt.sync_threads()
    if i < len(out):
        out[i] = room[t % 4, t // 4] * 100.0 + more[BLOCK - 1 - t]


def outcome(device):
    """What both kernels give."""
    rng = np.random.default_rng(0)
    with tw.device(device), tw.unsafe():
        numbers = rng.integers(-50, 200, 150).astype(np.int32)
        out = tw.full((150,), -1, i32).sync()
        simt.kernel(block=BLOCK, unsafe=True)(neighbours)(out.borrow_mut(), numbers).sync()
        floats = rng.random(150, np.float32)
        kernel_of_rows = simt.kernel(block=BLOCK, unsafe=True)(rows)
        second = tw.full((150,), -1.0).sync()
        kernel_of_rows(second.borrow_mut(), floats).launch_config(shared_mem_bytes=256).sync()
        return out.to_numpy().tolist(), second.to_numpy().tolist()


def no_barrier(emitter, op):
    return None


def no_offset(emitter, op):
    address = Vec(emitter.body, emitter.areas[op.one("memory")].base.name, thread_ops.SHARED, 1)
    return emitter.body.emit(f"getelementptr i8, {address}, i32 4", thread_ops.SHARED, 1)


def by_columns(emitter, op):
    memory = op.one("memory")
    kind = memory.type
    places = [emitter.scalar(index) for index in op.all("index")]
    place = places[-1]
    for extent, given in zip(reversed(kind.shape[1:]), reversed(places[:-1]), strict=True):
        place = place * extent + given
    base = emitter.areas[memory].base
    return emitter.body.emit(
        f"getelementptr {thread_ops.memory_type(kind.dtype)}, {base}, {place}", thread_ops.SHARED, 1
    )


def swapped_integers(emitter, op, args):
    return elementwise._cmpi(emitter, op, args[::-1])


MUTANTS = {
    "shuffle-down-for-up": ((thread_ops, "WORDS", {**thread_ops.WORDS, ShuffleMode.UP: "down"}),),
    "shuffle-idx-for-xor": ((thread_ops, "WORDS", {**thread_ops.WORDS, ShuffleMode.XOR: "idx"}),),
    "swapped-compare": ((kernel.COMPUTE, "cmpi", swapped_integers),),
    "min-for-max": ((atomics, "WORDS", {AtomicMode.MAX: "min"}),),
    "unsigned-max": ((atomics, "_kind", lambda mode, dtype: f"u{dtype.bits}"),),
    "shared-as-generic": ((atomics, "SPACES", {}),),
    "no-barrier": ((thread_ops.TABLE, "sync_threads", no_barrier),),
    "offset-of-the-first-element": ((thread_ops, "_shared_address", no_offset),),
    "rows-for-columns": ((thread_ops, "_shared_address", by_columns),),
    "block-for-thread": (
        (thread_ops, "REGISTERS", {**thread_ops.REGISTERS, ThreadCoordinate.THREAD: "ctaid"}),
    ),
    "y-for-x": ((thread_ops, "AXES", "yxz"),),
    "first-lane-alone": ((thread_ops, "ALL_LANES", 1),),
}


def test_the_kernels_are_right(gpu):
    assert outcome(gpu) == outcome("reference")


@pytest.mark.thinned(6)
@pytest.mark.parametrize("gpu", ["sm_90"], indirect=True)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mistakes_in_the_lowering_are_noticed(gpu, mutant, monkeypatch):
    expected = outcome("reference")
    for place, name, value in MUTANTS[mutant]:
        if isinstance(place, dict):
            monkeypatch.setitem(place, name, value)
        else:
            monkeypatch.setattr(place, name, value)
    try:
        got = outcome(gpu)
    except (tw.DeviceError, tw.LaunchError):
        return
    assert got != expected, f"nobody notices {mutant}"
