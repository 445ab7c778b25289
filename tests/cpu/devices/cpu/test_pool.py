"""The pool: threads, Ctrl-C, signals, fork, exit, several launches at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

from cpu.devices.cpu.gate import PATIENCE
from cpu.devices.cpu.kernels import (
    MEET,
    SCRATCH_SUM,
    SPIN,
    UNTIL_OPEN,
    USLEEP,
    WRITE_BEGIN,
    WRITE_BLOCK,
    kernel,
    sleep_then_write,
    slots,
)
from support.execute import execute
from support.processes import run_program
from tilewright.base import config
from tilewright.devices.cpu import pool
from tilewright.devices.cpu.pool import Arena, Pool
from tilewright.devices.cpu.record import LONG, Record
from tilewright.devices.cpu.run import Launcher
from tilewright.devices.cpu.stream import CpuStream
from tilewright.devices.host import CPU


@pytest.fixture
def own(monkeypatch):
    """A pool for one test, whose threads end with it."""
    made = Pool()
    monkeypatch.setattr(pool._Process, "pool", made)
    yield made
    made.stop()


def run_here(record):
    """Run a launch on a new stream and this thread."""
    assert CpuStream(CPU, 0).launch(record, inline=True)


def test_the_result_does_not_depend_on_the_number_of_threads():
    results = []
    for threads in (1, 2, 5):
        out = np.zeros(20_000, np.int64)
        with config.override(num_threads=threads):
            execute(kernel(SPIN), slots(out), (out.size,))
        results.append(out)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_many_launches_in_a_row():
    """Jobs open and close while helpers come late, wake and fall asleep."""
    out = np.zeros(300, np.int64)
    with config.override(num_threads=4):
        for i in range(300):
            blocks = 1 + i % 300
            execute(kernel(SPIN), slots(out), (blocks,))
            if i % 50 == 0:
                time.sleep(0.002)


def test_several_threads_launch_at_once():
    failures: list[str] = []

    def launch_many(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(40):
            blocks = int(rng.integers(1, 400))
            out = np.full(blocks, -1)
            execute(kernel(SCRATCH_SUM, USLEEP), slots(out), (blocks,), scratch_bytes=4096)
            if not np.array_equal(out, np.arange(blocks)):
                failures.append(f"thread {seed}, {blocks} blocks")

    with config.override(num_threads=3):
        threads = [threading.Thread(target=launch_many, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures


def test_a_long_launch_does_not_hold_up_a_short_one():
    """The long one does not end before the short one has."""
    gate, out = np.zeros(1, np.int64), np.zeros(40, np.int64)
    long = kernel(UNTIL_OPEN)
    thread = threading.Thread(target=lambda: execute(long, slots(gate), (50_000_000,)))
    thread.start()
    execute(kernel(WRITE_BLOCK), slots(out), (40,))
    assert thread.is_alive()
    gate[0] = 1
    thread.join()
    assert np.array_equal(out, np.arange(40))


def test_python_runs_while_a_kernel_does():
    """The launch gives up the interpreter lock."""
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    out = np.zeros(4, np.int64)
    with config.override(num_threads=1):
        execute(kernel(sleep_then_write(100_000), USLEEP), slots(out), (4,))
    stop.set()
    thread.join()
    assert ticks > 10


@pytest.mark.parametrize("threads", [1, 4])
def test_ctrl_c(threads):
    """A launch that would take minutes ends soon after the signal; the next one works."""
    text = run_program(f"""
        slow = kernel(sleep_then_write(5_000), USLEEP)
        out = np.zeros(200_000, np.int64)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with config.override(num_threads={threads}):
            try:
                execute(slow, slots(out), (out.size,))
            except KeyboardInterrupt:
                frozen = out.copy()
                time.sleep(0.1)
                assert np.array_equal(out, frozen), "blocks still run after the interrupt"
                ran = np.flatnonzero(out)
                assert 0 < ran.size < out.size, ran.size
                again = np.zeros(1000, np.int64)
                execute(kernel(WRITE_BLOCK), slots(again), (1000,))
                assert np.array_equal(again, np.arange(1000))
                print("interrupted")
            else:
                print("not interrupted")
    """)
    assert text == "interrupted\n"


def test_fork():
    """A child forked after the pool was used has a pool of its own."""
    text = run_program("""
        out = np.zeros(2000, np.int64)
        with config.override(num_threads=3):
            execute(kernel(SPIN), slots(out), (2000,))
            expected = out.copy()
            parent_pool = pool.default()
            child = os.fork()
            out[:] = 0
            execute(kernel(SPIN), slots(out), (2000,))
            assert np.array_equal(out, expected)
            assert (pool.default() is parent_pool) == (child != 0)
        if child:
            _, status = os.waitpid(child, 0)
            assert status == 0, status
            print("both")
    """)
    assert text == "both\n"


def test_fork_while_another_thread_launches():
    text = run_program("""
        slow_out, out = np.zeros(100, np.int64), np.zeros(3000, np.int64)
        slow, quick = kernel(sleep_then_write(5_000), USLEEP), kernel(SPIN)
        with config.override(num_threads=3):
            thread = threading.Thread(target=lambda: execute(slow, slots(slow_out), (100,)))
            thread.start()
            time.sleep(0.05)
            child = os.fork()
            execute(quick, slots(out), (3000,))
        if child:
            _, status = os.waitpid(child, 0)
            assert status == 0, status
            thread.join()
            assert np.array_equal(slow_out, np.arange(100))
            print("both")
    """)
    assert text == "both\n"


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "del kernel; import gc; gc.collect()"])
def test_exit_with_idle_workers(ending):
    text = run_program(f"""
        out = np.zeros(5000, np.int64)
        with config.override(num_threads=4):
            execute(kernel(SPIN), slots(out), (5000,))
        print(threading.active_count(), flush=True)
        {ending}
    """)
    assert text == "4\n"


def test_exit_while_a_daemon_thread_launches():
    """The launch takes minutes: a program that waited for it would be ended as one that hangs."""
    run_program("""
        out = np.zeros(1_000_000, np.int64)
        slow = kernel(sleep_then_write(1_000), USLEEP)
        with config.override(num_threads=3):
            threading.Thread(
                target=lambda: execute(slow, slots(out), (out.size,)), daemon=True
            ).start()
        time.sleep(0.2)
    """)


def test_a_launch_at_exit_still_works():
    text = run_program("""
        import atexit
        out = np.zeros(5000, np.int64)

        @atexit.register
        def last():
            execute(kernel(SPIN), slots(out), (5000,))
            print("done", bool(out.any()))

        with config.override(num_threads=4):
            execute(kernel(SPIN), slots(out), (5000,))
            out[:] = 0
    """)
    assert text == "done True\n"


def test_the_setting_limits_the_threads():
    text = run_program("""
        out = np.zeros(5000, np.int64)
        with config.override(num_threads=1):
            execute(kernel(SPIN), slots(out), (5000,))
        assert threading.active_count() == 1
        with config.override(num_threads=3):
            execute(kernel(SPIN), slots(out), (5000,))
        assert threading.active_count() == 3
        with config.override(num_threads=2):
            execute(kernel(SPIN), slots(out), (5000,))
        assert threading.active_count() == 3
    """)
    assert text == ""


def test_a_tiny_launch_starts_no_threads():
    """Tiny: over before helpers would be called; on a busy machine that takes some patience."""
    text = run_program("""
        pool.ALONE = 2_000_000_000
        out = np.zeros(4, np.int64)
        execute(kernel(WRITE_BLOCK), slots(out), (4,))
        print(threading.active_count())
    """)
    assert text == "1\n"


def test_a_launch_that_was_long_calls_helpers_first(own):
    """Two blocks wait for each other: they meet only if the second one need not wait its turn."""
    out = np.zeros(3, np.int64)
    record = Record(kernel(MEET, USLEEP).address, slots(out), (2,), 2)
    record.words[LONG] = 1
    own.have(1)
    with config.override(num_threads=2):
        run_here(record)
    assert out.tolist() == [1, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="threads cannot be told where to run")
@pytest.mark.parametrize("held", [False, True])
def test_a_helper_on_the_launching_threads_processor_moves_if_it_may(own, held):
    """Either way the blocks meet, and the helper may run where it was allowed to before."""
    allowed = os.sched_getaffinity(0)
    here = {min(allowed)}
    out = np.zeros(3, np.int64)
    record = Record(kernel(MEET, USLEEP).address, slots(out), (2,), 2)
    record.words[LONG] = 1
    own.have(1)
    helper = own.workers[0].native_id
    assert helper is not None
    try:
        os.sched_setaffinity(0, here)
        os.sched_setaffinity(helper, here)
        if not held:
            os.sched_setaffinity(helper, allowed)
        with config.override(num_threads=2):
            run_here(record)
        assert os.sched_getaffinity(helper) == (here if held else allowed)
    finally:
        os.sched_setaffinity(0, allowed)
    assert out.tolist() == [1, 1, 2]


def test_how_long_a_launch_was_is_remembered(monkeypatch):
    out = np.zeros(4, np.int64)
    record = Record(kernel(sleep_then_write(100), USLEEP).address, slots(out), (4,), 4)
    for alone, long in ((pool.ALONE, 1), (1 << 60, 0)):
        # Nothing takes longer than the second: helpers would not have been worth it.
        monkeypatch.setattr(pool, "ALONE", alone)
        made = Pool()
        made.have(1)
        monkeypatch.setattr(pool._Process, "pool", made)
        with config.override(num_threads=2):
            run_here(record)
        made.stop()
        assert record.words[LONG] == long
    assert np.array_equal(out, 2 * np.arange(4))


@pytest.mark.parametrize(
    ("threads", "blocks", "together", "first"),
    [(1, 10, 4, 4), (1, 3, 4, 3), (1, 10, 1, 1), (2, 64, 4, 4), (2, 16, 4, 2), (2, 7, 4, 1)],
)
def test_blocks_that_share_work_are_taken_together(own, threads, blocks, together, first):
    """As many as are wanted, but several pieces per thread."""
    out = np.full(blocks, -1)
    code = kernel(WRITE_BEGIN).address
    record = Record(code, slots(out), (blocks,), blocks, together=together)
    record.words[LONG] = 1
    own.have(threads - 1)
    with config.override(num_threads=threads):
        run_here(record)
    assert np.count_nonzero(out == 0) == first
    assert np.all(out >= 0)


def test_until_helpers_are_called_blocks_are_taken_one_by_one(own):
    out = np.full(64, -1)
    record = Record(kernel(WRITE_BEGIN).address, slots(out), (64,), 64, together=4)
    own.have(1)
    with config.override(num_threads=2):
        run_here(record)
    assert np.count_nonzero(out == 0) == 1


def test_arena_grows_and_is_trimmed():
    arena = Arena()
    address, memory = arena.reserve(1000)
    assert address % 64 == 0
    assert memory.size >= 1000
    assert arena.reserve(500)[0] == address
    _, larger = arena.reserve(100_000)
    assert larger.size >= 100_000
    assert memory.size == 1000, "memory in use stays while it is held"
    arena.trim(200_000)
    assert arena.reserve(1)[1] is larger
    arena.trim(10_000)
    assert arena.reserve(1)[1] is not larger


def test_stop_is_final_and_can_be_repeated(own):
    own.have(2)
    own.stop()
    own.stop()
    assert not any(thread.is_alive() for thread in own.workers)


def launcher_of(body, out, blocks, scratch_bytes=0):
    return Launcher(kernel(body), slots(out).tolist(), (blocks,), scratch_bytes, 0)


def waits_by_launch(stream, launcher, record):
    """It is put behind what the stream does."""
    assert not stream.launch(record, inline=True, keep=launcher)
    return stream.record().wait(PATIENCE)


def waits_elsewhere(stream, launcher, record):
    """On another stream, which waits for that one."""
    other = CPU.new_stream()
    other.wait_for(stream.record())
    return waits_by_launch(other, launcher, record)


def waits_shortly(stream, launcher, record):
    stream.launch(record, keep=launcher)
    last, end = stream.record(), time.monotonic() + PATIENCE
    while not (is_over := last.wait(1e-3)) and time.monotonic() < end:
        pass
    return is_over


@pytest.mark.parametrize("wait_for_it", [waits_by_launch, waits_elsewhere, waits_shortly])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("scratch_bytes", [0, 1 << 20])
@pytest.mark.parametrize("raises", [False, True])
def test_the_handler_of_a_signal_can_wait_for_what_it_interrupts(
    wait_for_it, threads, scratch_bytes, raises
):
    """It goes on with that: no other thread would."""
    stream, word, out = CPU.new_stream(), np.zeros(1, np.int64), np.full(3, 5)
    long = launcher_of(UNTIL_OPEN, word, 50_000_000, scratch_bytes)
    behind, waited = launcher_of(WRITE_BLOCK, out, 2, 2 * scratch_bytes), []

    def handle(number, frame):
        word[0] = 1
        waited.append(wait_for_it(stream, behind, behind.record()))
        if raises:
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with config.override(num_threads=threads):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(TimeoutError) if raises else nullcontext():
                record = long.record()
                assert stream.launch(record, inline=True)
                assert long.report(record).problem is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert waited == [True] and out.tolist() == [5, 6, 5]
    assert stream.record().wait(PATIENCE)
    assert stream.launch(behind.record(), inline=True), "the stream is idle"
    assert stream._pool.native.unfinished == 0


def test_who_goes_on_with_something_has_left_it():
    """What another thread runs, and has left, is not this one's."""
    stream, word = CPU.new_stream(), np.zeros(1, np.int64)
    long, seen = launcher_of(UNTIL_OPEN, word, 50_000_000), []
    its, left, go = stream._pool, threading.Event(), threading.Event()

    def run():
        record = long.record()
        scratch, _ = its.reserve(0)
        assert stream.native.run_inline(record.address, scratch, 1) == 1
        seen.append(stream.native.unfinished_of_caller() == (record.address, 0))
        left.set()
        assert go.wait(PATIENCE)
        while its.go_on(10**6):
            pass
        seen.append(stream.idle())
        seen.append(stream.native.resume(record.address, scratch, 1))

    thread = threading.Thread(target=run)
    thread.start()
    assert left.wait(PATIENCE)
    assert stream.native.unfinished_of_caller() is None and not its.go_on(1)
    word[0] = 1
    go.set()
    thread.join(PATIENCE)
    assert seen == [True, True, 0] and its.native.unfinished == 0
