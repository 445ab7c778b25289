"""Compilations leave nothing to the garbage collector, which would hold the GIL for long."""

from __future__ import annotations

import gc
from collections import Counter

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from tilewright import CompileError, f32, simt
from tilewright.base.config import override
from tilewright.base.threads import NEVER
from tilewright.compile import cache
from tilewright.devices import registry


@pytest.fixture(params=["reference", "cpu", "gpu"])
def where(request, monkeypatch):
    if request.param != "gpu":
        return request.param
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (found,) = registry._Gpus.found
    return found


def tiles():
    @tw.entry
    def closures(z: tl.TensorMut, x: tl.Tensor, n: int) -> None:
        scale = 3.0

        def scaled(v):
            return v * scale

        def twice(f):
            return lambda v: f(f(v))

        a = twice(scaled)(tl.load_tile_like(x, z))
        for i in range(n):
            if i == 2:
                break
            a = a + 1.0
        total = tl.reduce(a, 0, 0.0, lambda p, q: p + q)
        z.store(a + total)

    return closures


def threads():
    @simt.kernel
    def loops(z: simt.DisjointSlice[f32], x: simt.Slice[f32], n: int) -> None:
        i = simt.index_1d()
        if i >= len(z):
            return
        a = x[i]
        for k in range(n):
            if k == 3:
                continue
            a = a + 1.0
        while a < 40.0:
            a = a * 2.0
            if a > 30.0:
                break
        z[i] = a

    return loops


def blocks():
    @simt.kernel(block=64, unsafe=True)
    def turned(z: simt.DisjointSlice[f32], x: simt.Slice[f32], n: int) -> None:
        i = simt.index_1d()
        shared = simt.shared(f32, 64)
        for _ in range(n):
            shared[simt.thread_idx()] = x[i] if i < len(x) else 0.0
            simt.sync_threads()
        if i < len(z):
            z[i] = shared[63 - simt.thread_idx()]

    return turned


def launched(make, device):
    x = np.arange(64, dtype=np.float32)
    with tw.device(device), tw.unsafe():
        z = tw.zeros((64,)).sync()
        if make is tiles:
            return make()(z.partition((64,)), x, 4)
        return make()(z.borrow_mut(), x, 2)


OF_COMPILATIONS = tuple(
    f"tilewright.{name}"
    for name in ("ir", "frontend.interp", "frontend.semantics", "analysis", "passes", "backend")
)


MACHINE = "simulator.ptx"
"""The simulated GPU's."""


def garbage_of(act) -> Counter[str]:
    """The objects of a compilation that only the collector can free, by type."""
    gc.collect()
    gc.freeze()  # the collection to come looks at new objects only
    gc.disable()
    flags = gc.get_debug()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        act()
        gc.collect()
        kinds = [type(each) for each in gc.garbage if not type(each).__module__.startswith(MACHINE)]
        return Counter(k.__qualname__ for k in kinds if k.__module__.startswith(OF_COMPILATIONS))
    finally:
        gc.garbage.clear()
        gc.set_debug(flags)
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("make", [tiles, threads, blocks])
def test_no_ir_is_left_in_cycles(make, where):
    with override(cache_dir="off"):
        launched(make, where).sync()  # what a first use makes stays
        op = launched(make, where)
        assert not garbage_of(op.sync)


def test_a_kernel_that_fails_leaves_nothing():
    def fail():
        @tw.entry
        def wrong(z: tl.TensorMut, x: tl.Tensor) -> None:
            def inner(v):
                return v + undefined  # noqa: F821

            z.store(inner(tl.load_tile_like(x, z)))

        z = tw.zeros((64,)).sync()
        try:
            wrong(z.partition((64,)), np.ones(64, np.float32)).sync()
        except CompileError as error:
            assert "undefined" in str(error)  # noqa: PT017

    fail()
    assert not garbage_of(fail)


def long_kernel():
    @tw.entry
    def long(z: tl.TensorMut, x: tl.Tensor) -> None:
        a = tl.load_tile_like(x, z)
        for k in tl.static_range(300):
            a = a * (k % 7 + 0.5) + 1.0
        z.store(a)

    return long


def old() -> int:
    """How many objects full collections alone would visit."""
    return len(gc.get_objects(generation=2))


def test_objects_of_a_compilation_do_not_age(monkeypatch):
    """Else a full collection is due behind each compilation, wherever the program is by then."""
    monkeypatch.setattr(cache, "_without_ir", note := Noting(cache._without_ir))
    with tw.device("cpu"), override(cache_dir="off"):
        for _ in range(2):
            op = long_kernel()(tw.zeros((64,)).sync().partition((64,)), np.ones(64, np.float32))
            gc.collect()
            before, counts = old(), gc.get_count()[2]
            op.sync()
        assert old() - before < 500
        assert gc.get_count()[2] - counts <= 1
        # There was something to age: the middle generation was never collected, the young one was.
        assert note.thresholds[1:] == (NEVER, NEVER) and note.collections > 5


class Noting:
    """Notes the settings when a compilation has ended, and how often young objects were visited."""

    def __init__(self, act):
        self._act = act

    def __call__(self, *given):
        self.thresholds, self.collections = gc.get_threshold(), gc.get_count()[1]
        return self._act(*given)
