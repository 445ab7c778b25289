"""Traces of work on streams."""

from __future__ import annotations

import time

import pytest

import tilewright as tw
import tilewright.lang as tl

LATE = 100_000_000
"""Nanoseconds by which a host may hear too late of what a device has done."""


@tw.entry
def negate(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


def test_work_is_timed_where_it_is_done():
    """Not from when the host put it there to when the host heard of it."""
    x, z = tw.ones((1000,)).sync(), tw.zeros((1000,)).sync()
    with tw.trace() as found:
        one = tw.default_device().new_stream()
        before = time.perf_counter_ns()
        negate(z.partition_mut((256,)), x).sync_on(one)
        for _ in range(5):
            negate(z.partition_mut((256,)), x).start_on(one)
        z.dup().start_on(one)
        one.synchronize()
        after = time.perf_counter_ns()
    work = [entry for entry in found.entries if entry.kind == "work"]
    assert [entry.name for entry in work] == ["negate"] * 6 + ["dup"]
    times = [time for entry in work for time in (entry.start, entry.end)]
    assert times == sorted(times), "work of one stream overlaps"
    # A device's clock is compared with the host's once, when the host has heard of it.
    late = 0 if tw.default_device().name == "cpu" else LATE
    assert before <= times[0] and times[-1] <= after + late


def negated(x):
    return negate(tw.empty_like(x).partition((256,)), x).out()


ENDINGS = {
    "sync": lambda op: op.sync(),
    "start, then read": lambda op: op.start().to_numpy(),
    "future": lambda op: op.into_future().result(),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_launches_in_chains_are_recorded_as_ops_and_as_work(ending):
    x = tw.ones((1000,)).sync()
    with tw.trace() as found:
        ENDINGS[ending](tw.value(x).then(negated).then(negated))
    entries = [e for e in found.entries if e.name == "negate" and e.kind != "compile"]
    assert sorted(entry.kind for entry in entries) == ["op", "op", "work", "work"]
    assert all(entry.start <= entry.end for entry in entries)
