"""A pool whose threads cannot be started, or whose start is interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from cpu.devices.cpu.gate import PATIENCE, Gate
from cpu.devices.cpu.kernels import WRITE_BLOCK, kernel, slots
from support.interrupts import in_quick_succession, raise_at, raise_behind
from tilewright.base import config
from tilewright.devices.cpu import pool
from tilewright.devices.cpu.pool import Pool
from tilewright.devices.cpu.record import Record
from tilewright.devices.cpu.stream import CpuStream
from tilewright.devices.host import CPU

START = threading.Thread.start


@pytest.fixture
def own(monkeypatch):
    """A pool for one test, whose threads end with it."""
    made = Pool()
    monkeypatch.setattr(pool._Process, "pool", made)
    yield made
    made.stop()


def refuse(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.fixture
def no_threads(monkeypatch):
    """No thread can be started; how often that was tried."""
    tried: list[threading.Thread] = []

    def count(self: threading.Thread) -> None:
        tried.append(self)
        refuse(self)

    monkeypatch.setattr(threading.Thread, "start", count)
    return tried


@pytest.mark.parametrize("inline", [True, False])
def test_without_threads_the_caller_does_the_work(own, no_threads, inline):
    out, stream = np.zeros(5000, np.int64), CpuStream(CPU, 0)
    with config.override(num_threads=4):
        for _ in range(3):
            record = Record(kernel(WRITE_BLOCK).address, slots(out), (5000,), 5000)
            out[:] = 0
            assert stream.launch(record, inline=inline)
            assert stream.idle() and np.array_equal(out, np.arange(5000))
    assert len(no_threads) <= 1, "it is tried again after a while only"
    assert (own.is_alone() or inline) and not own.workers


def test_without_threads_streams_wait_for_each_other(own, no_threads):
    out, one, other = np.zeros(64, np.int64), CpuStream(CPU, 0), CpuStream(CPU, 1)
    one.launch(Record(kernel(WRITE_BLOCK).address, slots(out), (64,), 64))
    other.wait_for(one.record())
    other.launch(Record(kernel(WRITE_BLOCK).address, slots(out), (64,), 64))
    other.synchronize()
    assert np.array_equal(out, 2 * np.arange(64))


def test_without_threads_a_stream_waits_for_what_another_thread_runs(own, no_threads):
    """Nobody serves the queue: the caller waits before it puts anything there."""
    out, one, other, gate = np.zeros(64, np.int64), CpuStream(CPU, 0), CpuStream(CPU, 1), Gate()
    record = gate.launcher.record()
    runs = threading.Thread(target=lambda: one.launch(record, inline=True, keep=gate))
    opens = threading.Timer(0.2, gate.open)
    START(runs)
    while one.idle():
        time.sleep(0.001)
    START(opens)
    other.wait_for(one.record())
    assert gate.word[0] == 1
    other.launch(Record(kernel(WRITE_BLOCK).address, slots(out), (64,), 64))
    other.synchronize()
    runs.join()
    opens.join()
    assert np.array_equal(out, np.arange(64))


def test_threads_are_started_as_soon_as_there_are_any(own, no_threads, monkeypatch):
    own.have(2)
    assert not own.workers
    monkeypatch.setattr(threading.Thread, "start", START)
    own.have(2)
    assert not own.workers, "for some time it is not tried"
    own._again = 1e-9
    own.have(2)
    assert len(own.workers) == 2 and not own.is_alone()


def test_a_worker_whose_start_is_interrupted_is_counted(own):
    """Signals that come in quick succession lose none: there are never more than were asked for."""
    before = {thread.ident for thread in threading.enumerate()}
    for point in range(1, 40):
        in_quick_succession(point, lambda: own.have(3))
    own.have(3)
    named = [t for t in threading.enumerate() if t.ident not in before]
    assert len(own.workers) == 3 and set(named) == set(own.workers)


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
def test_what_a_trace_function_raises_leaves_no_worker_uncounted(monkeypatch, interrupt):
    """Nor a pool that takes itself for alone: it would have work of others run on the caller."""
    for point in range(1, 40):
        own, before = Pool(), threading.active_count()
        is_over = not interrupt(point, lambda own=own: own.have(2))
        own.have(2)
        assert not own.is_alone(), point
        assert len(own.workers) == 2 == threading.active_count() - before, point
        own.stop()
        if is_over:
            break
    assert 1 < point < 39


def test_a_stream_that_waits_for_another_looks_for_threads_again(own, monkeypatch):
    """No thread was to be had a while ago; that is no reason to hold up the caller now."""
    one, other, gate = CpuStream(CPU, 0), CpuStream(CPU, 1), Gate()
    with monkeypatch.context() as refused:
        refused.setattr(threading.Thread, "start", refuse)
        own.have(1)
        runs = threading.Thread(target=lambda: one.launch(gate.launcher.record(), inline=True))
    assert own.is_alone()
    runs.start()
    while one.idle():
        time.sleep(0.001)
    own._again = 1e-9  # that while is over
    other.wait_for(one.record())
    assert gate.word[0] == 0 and own.workers and not other.idle()
    gate.open()
    runs.join()
    other.synchronize()


REFUSED = """
import asyncio, sys, threading
import tilewright as tw
import tilewright.lang as tl
from tilewright import i32
from tilewright.base import config


@tw.entry
def bump(z: tl.TensorMut[i32]) -> None:
    z.store(z.load() + 1)


def refuse_threads() -> None:
    # No address space has room for such a stack, so pthread_create itself fails.
    threading.stack_size(1 << 60)
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return
    sys.exit("a thread was started all the same")


async def awaited(op):
    return await op


ENDINGS = {
    "sync": lambda op: op.sync(),
    "start": lambda op: op.start(),
    "sync_on": lambda op: op.sync_on(tw.default_device().new_stream()),
    "start_on": lambda op: op.start_on(tw.default_device().new_stream()),
    "into_future": lambda op: op.into_future().result(),
    "asyncio": lambda op: asyncio.run(awaited(op)),
    "then": lambda op: op.then(lambda z: tw.value(z)).sync(),
    "graph": lambda op: op.graph().launch().sync(),
}
first = ENDINGS.pop(sys.argv[1])
z = tw.zeros((100_000,), i32).sync()
with config.override(num_threads=4):
    refuse_threads()
    for count, ending in enumerate([first, *ENDINGS.values(), first], start=1):
        ending(bump(z.partition_mut((64,))))
        values = z.to_numpy()
        assert values.min() == values.max() == count, (count, values.min(), values.max())
assert threading.active_count() == 1
"""


@pytest.mark.parametrize("first", ["sync", "start", "asyncio"])
def test_where_the_system_refuses_threads_the_caller_runs_what_ends_an_op(tmp_path, first):
    program = tmp_path / "program.py"  # kernels are read from a file
    program.write_text(REFUSED)
    ended = subprocess.run(
        [sys.executable, str(program), first],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
