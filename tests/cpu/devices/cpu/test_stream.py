"""Streams as native queues: order, waits, overlap, calls that fall due, many threads."""

from __future__ import annotations

import gc
import signal
import threading
import time
import weakref
from itertools import pairwise

import numpy as np
import pytest

from cpu.devices.cpu.gate import PATIENCE, Gate
from cpu.devices.cpu.kernels import (
    FAIL_AT_17,
    MEET,
    PRINT,
    SCRATCH_SUM,
    SPIN,
    USLEEP,
    WRITE_BLOCK,
    kernel,
    sleep_then_write,
    slots,
)
from support.numbers import fresh_rng
from tilewright.base import config
from tilewright.base.errors import DriverError
from tilewright.devices.cpu.pool import Pool, _Process
from tilewright.devices.cpu.run import FailureWords, Launcher
from tilewright.devices.cpu.stream import MOST_WAITING
from tilewright.devices.host import CPU, REFERENCE


def launcher_of(body, out, blocks, scratch_bytes=0, prints=0):
    return Launcher(kernel(body, USLEEP), slots(out).tolist(), (blocks,), scratch_bytes, prints)


def put(stream, launcher, **how):
    record = launcher.record()
    return record, stream.launch(record, **how)


def wait(stream):
    assert stream.record().wait(PATIENCE)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("blocks", [0, 1, 2, 7, 1000, 20_011])
def test_queued_launches_run_every_block_once(blocks, threads):
    stream, out = CPU.new_stream(), np.full(blocks + 1, -1)
    with config.override(num_threads=threads):
        launcher = launcher_of(WRITE_BLOCK, out, blocks)
        records = [put(stream, launcher)[0] for _ in range(3)]
        wait(stream)
    assert [launcher.report(record).problem for record in records] == [None] * 3
    assert np.array_equal(out[:-1], 3 * np.arange(blocks) - 1)
    assert out[-1] == -1


def test_work_of_a_stream_runs_in_order():
    stream, gate, out = CPU.new_stream(), Gate(), np.zeros(1, np.int64)
    gate.put_on(stream)
    first = stream.record()
    put(stream, launcher_of(WRITE_BLOCK.replace("%block\n  store", "1\n  store"), out, 1))
    second = stream.record()
    assert not first.done() and not second.done() and not stream.idle()
    assert out[0] == 0
    assert not second.wait(0.01)
    gate.open()
    assert second.wait(PATIENCE)
    assert first.done() and stream.idle()
    assert out[0] == 1


def test_an_idle_stream_runs_inline_work_on_the_caller():
    stream, out = CPU.new_stream(), np.zeros(1, np.int64)
    _, over = put(stream, launcher_of(WRITE_BLOCK, out, 1), inline=True)
    assert over and stream.idle() and stream.record().done()


def test_a_busy_stream_queues_inline_work():
    stream, gate, out = CPU.new_stream(), Gate(), np.zeros(3, np.int64)
    gate.put_on(stream)
    _, over = put(stream, launcher_of(WRITE_BLOCK, out, 3), inline=True)
    assert not over
    gate.open()
    wait(stream)
    assert out.tolist() == [0, 1, 2]


def test_a_stream_waits_for_an_event_of_another():
    first, second, gate, out = CPU.new_stream(), CPU.new_stream(), Gate(), np.zeros(3, np.int64)
    gate.put_on(first)
    second.wait_for(first.record())
    _, over = put(second, launcher_of(WRITE_BLOCK, out, 3), inline=True)
    behind = second.record()
    assert not over and not behind.wait(0.01) and not second.idle()
    gate.open()
    assert behind.wait(PATIENCE)
    assert out.tolist() == [0, 1, 2]


def test_a_point_behind_a_wait_alone():
    first, second, gate = CPU.new_stream(), CPU.new_stream(), Gate()
    gate.put_on(first)
    second.wait_for(first.record())
    assert not second.idle() and not second.record().done()
    gate.open()
    wait(second)


def test_waits_go_through_many_streams():
    """A chain of waits, put in an order that passes each only when the one before has."""
    streams, gate = [CPU.new_stream() for _ in range(20)], Gate()
    gate.put_on(streams[0])
    for before, after in pairwise(streams):
        after.wait_for(before.record())
    assert not any(stream.idle() for stream in streams)
    gate.open()
    for stream in reversed(streams):
        wait(stream)


def test_waits_for_what_is_past_and_for_oneself_are_free():
    stream, other = CPU.new_stream(), CPU.new_stream()
    stream.wait_for(other.record())
    stream.wait_for(stream.record())
    stream.wait_for(REFERENCE.streams()[0].record())
    assert stream.idle()


def test_an_event_of_another_driver_is_waited_for_here():
    waited = []

    class Foreign:
        stream = REFERENCE.streams()[0]

        def done(self):
            return False

        def wait(self, timeout=None):
            waited.append(timeout)
            return True

    CPU.new_stream().wait_for(Foreign())
    assert waited == [None]


def test_streams_overlap(monkeypatch):
    """Two jobs of one block each wait for each other; neither could end if they took turns."""
    pool = Pool()
    monkeypatch.setattr(_Process, "pool", pool)
    first, second, out = CPU.new_stream(), CPU.new_stream(), np.zeros(3, np.int64)
    with config.override(num_threads=2):
        for i, stream in enumerate((first, second)):
            body = MEET.replace("%block\n  %met", f"{i}\n  %met")
            put(stream, launcher_of(body, out, 1))
        wait(first)
        wait(second)
    pool.stop()
    assert out.tolist() == [1, 1, 2]


def test_a_long_job_lets_another_stream_start():
    """All workers are in the first job, which does not end before the second one has run."""
    first, second, out = CPU.new_stream(), CPU.new_stream(), np.zeros(2, np.int64)
    body = UNTIL_OPEN_BLOCKS
    with config.override(num_threads=2):
        put(first, launcher_of(body, out, 1_000_000))
        put(second, launcher_of("\n  store i64 1, ptr %out", out, 1))
        wait(second)
        wait(first)
    assert out[0] == 1


UNTIL_OPEN_BLOCKS = """
  ; a block of 10 us, or of nothing once the gate is open
  %open = load atomic i64, ptr %out seq_cst, align 8
  %shut = icmp eq i64 %open, 0
  br i1 %shut, label %nap, label %over
nap:
  call i32 @usleep(i32 10)
  br label %over
over:"""


@pytest.mark.parametrize("inline", [False, True])
def test_failures_and_prints_stay_readable(inline):
    stream, out = CPU.new_stream(), np.zeros(40, np.int64)
    failing, printing = launcher_of(FAIL_AT_17, out, 40), launcher_of(PRINT, out, 3, 0, 4096)
    gate = Gate()
    if not inline:
        gate.put_on(stream)
    failed, _ = put(stream, failing, inline=inline)
    printed, _ = put(stream, printing, inline=inline)
    reports = []
    stream.after(lambda: reports.append(failing.report(failed)))
    stream.after(lambda: reports.append(printing.report(printed)))
    gate.open()
    stream.synchronize()
    failure = reports[0].failure
    assert failure == FailureWords(3, failure.block, -5, 4) and failure.block >= 17
    assert len(reports[1].printed) == 96


@pytest.mark.parametrize("threads", [1, 3])
def test_each_worker_has_its_own_scratch(threads):
    stream, out = CPU.new_stream(), np.full(300, -1)
    with config.override(num_threads=threads):
        put(stream, launcher_of(SCRATCH_SUM, out, 300, 4096))
        wait(stream)
    assert np.array_equal(out, np.arange(300))


def test_scratch_that_cannot_be_had_is_a_problem_of_that_launch_alone():
    stream, out = CPU.new_stream(), np.zeros(4, np.int64)
    starved, fine = launcher_of(WRITE_BLOCK, out, 4, 1 << 60), launcher_of(WRITE_BLOCK, out, 4)
    records = put(stream, starved)[0], put(stream, fine)[0]
    wait(stream)
    assert "1152921504606846976 bytes of scratch" in str(starved.report(records[0]).problem)
    assert fine.report(records[1]).problem is None
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(DriverError, match="out of memory"):
        put(stream, starved, inline=True)
    assert stream.idle()


def test_calls_fall_due_in_order():
    stream, gate, seen = CPU.new_stream(), Gate(), []
    stream.after(lambda: seen.append("idle"))
    assert seen == ["idle"]
    gate.put_on(stream)
    stream.after(lambda: seen.append("first"))
    second = Gate()
    second.put_on(stream)
    stream.after(lambda: seen.append("second"))
    stream.sweep()
    assert seen == ["idle"]
    gate.open()
    while "first" not in seen:
        stream.sweep()
    assert seen == ["idle", "first"]
    second.open()
    stream.synchronize()
    assert seen == ["idle", "first", "second"]


def test_a_call_may_put_more_work_there():
    stream, out, seen = CPU.new_stream(), np.zeros(3, np.int64), []
    gate = Gate()
    gate.put_on(stream)

    def more():
        put(stream, launcher_of(WRITE_BLOCK, out, 3), inline=True)
        stream.after(lambda: seen.append(out.tolist()))

    stream.after(more)
    gate.open()
    stream.synchronize()
    stream.synchronize()
    assert seen == [[0, 1, 2]]


def test_memory_is_kept_until_the_work_has_passed():
    stream, gate = CPU.new_stream(), Gate()
    gate.put_on(stream)
    out = np.zeros(5, np.int64)
    launcher, alive = launcher_of(WRITE_BLOCK, out, 5), weakref.ref(out)
    stream.launch(launcher.record(), keep=(launcher, out))
    stream.after(lambda kept=out: None)
    del out, launcher
    gc.collect()
    assert alive() is not None
    gate.open()
    stream.synchronize()
    gc.collect()
    assert alive() is None


def test_a_stream_that_is_dropped_still_does_its_work():
    gate, out, done = Gate(), np.zeros(5, np.int64), threading.Event()
    stream = CPU.new_stream()
    gate.put_on(stream)
    put(stream, launcher_of(WRITE_BLOCK, out, 5))
    stream.after(done.set)
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    gate.open()
    CPU.synchronize()
    assert done.is_set() and out.tolist() == [0, 1, 2, 3, 4]
    gc.collect()
    assert gone() is None


def test_many_threads_put_work_on_one_stream():
    stream, out = CPU.new_stream(), np.zeros(8, np.int64)
    calls: list[int] = []

    def work(seed):
        launcher = launcher_of(WRITE_BLOCK, out, 8)
        for i in range(100):
            put(stream, launcher, inline=(seed + i) % 3 == 0)
            stream.after(lambda: calls.append(seed))
            if i % 10 == 0:
                stream.synchronize()

    with config.override(num_threads=3):
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)
        stream.synchronize()
    assert out.tolist() == [600 * i for i in range(8)], "each job adds; none ran beside another"
    assert sorted(calls) == sorted(list(range(6)) * 100)


def test_random_programs_on_streams_keep_their_order():
    """Each job adds 1 to a counter and notes what it saw; waits order jobs of all streams."""
    rng = fresh_rng()
    streams = [CPU.new_stream() for _ in range(5)]
    counter, seen = np.zeros(1, np.int64), np.full(400, -1)
    launchers = []
    last = None
    for i in range(seen.size):
        stream = streams[rng.integers(5)]
        if last is not None:
            stream.wait_for(last)
        launcher = Launcher(kernel(COUNT), [counter.ctypes.data, seen[i:].ctypes.data], (1,), 0, 0)
        launchers.append(launcher)
        put(stream, launcher)
        last = stream.record()
        if rng.integers(10) == 0:
            streams[rng.integers(5)].wait_for(last)
    assert last is not None and last.wait(PATIENCE)
    assert np.array_equal(seen, np.arange(seen.size))


COUNT = """
  %where_at = getelementptr i64, ptr %args, i64 1
  %where = load ptr, ptr %where_at
  %old = load i64, ptr %out
  %new = add i64 %old, 1
  store i64 %new, ptr %out
  store i64 %old, ptr %where"""


def test_big_jobs_on_many_streams():
    streams = [CPU.new_stream() for _ in range(4)]
    outs = [np.zeros(3000, np.int64) for _ in streams]
    with config.override(num_threads=3):
        for _ in range(5):
            for stream, out in zip(streams, outs, strict=True):
                put(stream, launcher_of(SPIN, out, out.size))
        CPU.synchronize()
    assert outs[0].any()
    assert all(np.array_equal(out, outs[0]) for out in outs)


def test_a_wait_with_a_timeout_gives_up():
    stream, gate = CPU.new_stream(), Gate()
    gate.put_on(stream)
    event = stream.record()
    assert event.wait(0.0) is False
    assert event.wait(0.12) is False
    gate.open()
    assert event.wait(PATIENCE) is True
    assert event.wait(0.0) is True


def test_a_slow_job_is_waited_for_over_several_naps():
    stream, out = CPU.new_stream(), np.zeros(2, np.int64)
    with config.override(num_threads=1):
        put(stream, launcher_of(sleep_then_write(80_000), out, 2))
        stream.synchronize()
    assert out.tolist() == [0, 1]


# Streams do not grow without bound


def test_who_puts_more_on_a_full_stream_waits():
    stream, gate, out = CPU.new_stream(), Gate(), np.zeros(1, np.int64)
    launcher, count, more = launcher_of(WRITE_BLOCK, out, 1), [], 50
    gate.put_on(stream)

    def put_many():
        for _ in range(MOST_WAITING + more):
            put(stream, launcher)
            count.append(None)

    putting = threading.Thread(target=put_many)
    putting.start()
    end = time.monotonic() + PATIENCE
    while not stream.full():
        assert time.monotonic() < end and putting.is_alive()
    assert not putting.join(0.01) and putting.is_alive()
    assert len(count) <= MOST_WAITING - 1  # the gate is there too
    gate.open()
    putting.join(PATIENCE)
    wait(stream)
    assert len(count) == MOST_WAITING + more and not stream.full()


def test_an_interrupt_leaves_a_full_stream_as_it_was():
    stream, gate, out = CPU.new_stream(), Gate(), np.zeros(1, np.int64)
    launcher, records = launcher_of(WRITE_BLOCK, out, 1), []
    gate.put_on(stream)
    for _ in range(MOST_WAITING - 1):
        records.append(put(stream, launcher)[0])
    last = stream.record()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            put(stream, launcher)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert stream.record().number == last.number
    gate.open()
    wait(stream)


def test_stamps_tell_when_the_stream_passed_them():
    stream, gate = CPU.new_stream(), Gate()
    before = stream.stamp()
    wait(stream)
    gate.put_on(stream)
    after = stream.stamp()
    opened = time.perf_counter_ns()
    gate.open()
    wait(stream)
    assert before.host_time() <= opened <= after.host_time() <= time.perf_counter_ns()
    assert after.since(before) == pytest.approx((after.host_time() - before.host_time()) * 1e-9)


def test_a_stream_with_calls_that_another_thread_adds_meanwhile_stays_alive(monkeypatch):
    stream = CPU.new_stream()

    class Waiting(set):
        def discard(self, each):
            stream._callbacks.add(stream.native.submitted + 1, None)
            super().discard(each)

    waiting = Waiting({stream})
    monkeypatch.setattr(stream._pool, "waiting", waiting)
    stream._callbacks.add(stream.native.submitted, None)
    stream.sweep()
    assert stream in waiting
