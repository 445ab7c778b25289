"""Launches: every block once, failures and prints reported, bad input refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from cpu.devices.cpu.kernels import (
    FAIL_AT_17,
    GRID,
    PRINT,
    SCRATCH_SUM,
    STREAM,
    USLEEP,
    WRITE_BLOCK,
    kernel,
    sleep_then_write,
    slots,
)
from support.execute import execute, run_on
from tilewright.base import config
from tilewright.base.cpu_abi import SCRATCH_ALIGNMENT
from tilewright.base.errors import DriverError
from tilewright.devices.cpu.record import OWN_SCRATCH, SLOTS, THREADS
from tilewright.devices.cpu.run import FailureWords, Launcher, RawReport
from tilewright.devices.host import CPU

POISON = -(1 << 40)
QUIET = RawReport(failure=None, printed=b"", truncated=False)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("blocks", [0, 1, 2, 7, 1000, 100_003])
def test_every_block_runs_once(blocks, threads):
    out = np.full(blocks + 2, POISON)
    with config.override(num_threads=threads):
        assert execute(kernel(WRITE_BLOCK), slots(out[1:]), (blocks,)) == QUIET
    assert np.array_equal(out[1:-1], POISON + np.arange(blocks))
    assert out[0] == out[-1] == POISON


def test_whether_to_stream_is_handed_over():
    out = np.full(1, POISON)
    for streamed in (True, False):
        execute(kernel(STREAM), slots(out), (1,), streamed=streamed)
        assert out[0] == streamed
    execute(kernel(STREAM), slots(out), (1,))
    assert out[0] == 0


@pytest.mark.parametrize("grid", [(), (3,), (2, 3), (5, 1, 4), (1, 2, 3, 1, 2, 1, 1, 2)])
def test_the_grid_is_handed_over(grid):
    out = np.full(8, POISON)
    code = kernel(GRID, "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    execute(code, slots(out), grid)
    assert out.tolist() == [*grid, *[1] * (8 - len(grid))]


def test_an_empty_grid_runs_nothing():
    out = np.full(8, POISON)
    assert execute(kernel(WRITE_BLOCK), slots(out), (3, 0, 2)) == QUIET
    assert (out == POISON).all()


@pytest.mark.parametrize("threads", [1, 4])
def test_each_worker_has_its_own_scratch(threads):
    out = np.full(400, POISON)
    with config.override(num_threads=threads):
        execute(kernel(SCRATCH_SUM, USLEEP), slots(out), (400,), scratch_bytes=4096)
    assert np.array_equal(out, np.arange(400))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_failure_is_reported_and_stops_the_rest(threads):
    blocks = 1_000_000
    out = np.full(blocks, POISON)
    with config.override(num_threads=threads):
        report = execute(kernel(FAIL_AT_17), slots(out), (blocks,))
    assert report.failure is not None
    assert report.failure.block >= 17
    assert report.failure == FailureWords(3, report.failure.block, -5, 4)
    ran = out != POISON  # block 0 adds 0
    assert threads > 1 or ran[1:18].all(), "blocks start in increasing order"
    assert not ran.all(), "no block starts after a failure"
    out[:] = POISON
    execute(kernel(WRITE_BLOCK), slots(out), (blocks,))
    assert np.array_equal(out, POISON + np.arange(blocks)), "the pool stays usable"


def test_prints_come_back():
    out = np.full(100, 0)
    report = execute(kernel(PRINT), slots(out), (100,))
    records = np.frombuffer(report.printed, np.int64).reshape(-1, 4)
    assert not report.truncated
    assert sorted(records[:, 2]) == list(range(100))
    assert (records[:, [0, 1, 3]] == [32, 7, 99]).all()


@pytest.mark.parametrize("capacity", [0, 8, 31, 32, 100, 3199])
def test_prints_beyond_the_buffer_are_lost_and_said_so(capacity):
    out = np.full(100, 0)
    report = execute(kernel(PRINT), slots(out), (100,), print_capacity=capacity)
    assert report.truncated
    assert len(report.printed) == capacity // 32 * 32
    assert np.array_equal(out, np.arange(100))


def test_prints_do_not_leak_into_the_next_launch():
    out = np.full(100, 0)
    execute(kernel(PRINT), slots(out), (50,))
    assert execute(kernel(WRITE_BLOCK), slots(out), (50,)).printed == b""
    assert len(execute(kernel(PRINT), slots(out), (3,)).printed) == 96


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"grid": (1,) * 9}, "expected: at most 8 axes"),
        ({"grid": (2, -1)}, "got: (2, -1)"),
        ({"grid": (1 << 40, 1 << 40)}, "fewer than 2^62 in all"),
        ({"scratch_bytes": -1}, "got: scratch -1"),
        ({"scratch_bytes": 1 << 60}, "out of memory: 1152921504606846976 bytes"),
        ({"print_capacity": -8}, "print buffer -8"),
    ],
)
def test_bad_input_is_refused(change, text):
    out = np.zeros(4, np.int64)
    given = {"slots": slots(out), "grid": (2,), **change}
    with pytest.raises(DriverError) as caught:
        execute(kernel(WRITE_BLOCK), **given)
    assert text in str(caught.value)


# The same launch again and again


def run(launcher, out):
    record = launcher.record()
    record.words[SLOTS] = out.ctypes.data
    return run_on(CPU.new_stream(), launcher, record)


@pytest.mark.parametrize("blocks", [0, 1, 2, 700])
def test_a_launcher_runs_again_on_other_memory(blocks):
    launcher = Launcher(kernel(WRITE_BLOCK), [0], (blocks,), print_capacity=0)
    for _ in range(5):
        out = np.full(blocks + 1, POISON)
        assert run(launcher, out) == QUIET
        assert np.array_equal(out[:-1], POISON + np.arange(blocks))
        assert out[-1] == POISON


def test_a_launcher_forgets_failures():
    launcher = Launcher(kernel(FAIL_AT_17), [0], (40,))
    for _ in range(3):
        report = run(launcher, np.zeros(40, np.int64))
        assert report.failure is not None
        assert report.failure.block >= 17
    fine = Launcher(kernel(FAIL_AT_17), [0], (17,))
    assert [run(fine, np.zeros(40, np.int64)) for _ in range(3)] == [QUIET] * 3


def test_a_report_can_be_asked_for_again():
    """The record is used again at most once; it is not looked at when others may have it."""
    for blocks, fails in ((40, True), (17, False)):
        launcher, out = Launcher(kernel(FAIL_AT_17), [0], (blocks,)), np.zeros(40, np.int64)
        record = launcher.record()
        record.words[SLOTS] = out.ctypes.data
        assert CPU.new_stream().launch(record, inline=True)
        asked = [record]
        reports = [launcher.report_again(asked) for _ in range(3)]
        assert [report.failure is not None for report in reports] == [fails] * 3
        assert launcher.idle == ([] if fails else [record])


def test_a_launcher_prints_each_time():
    launcher = Launcher(kernel(PRINT), [0], (3,))
    assert [len(run(launcher, np.zeros(3, np.int64)).printed) for _ in range(3)] == [96] * 3


def test_the_number_of_threads_is_asked_each_time():
    launcher, out = Launcher(kernel(SCRATCH_SUM, USLEEP), [0], (40,), 4096), np.zeros(40, np.int64)
    for threads in (1, 4, 2):
        with config.override(num_threads=threads):
            record = launcher.record()
            record.words[SLOTS] = out.ctypes.data
            run_on(CPU.streams()[0], launcher, record)
            assert record.words[THREADS] == threads


def test_one_launcher_in_many_threads_at_once():
    launcher = Launcher(kernel(sleep_then_write(2_000), USLEEP), [0], (4,), print_capacity=0)
    outputs = [np.zeros(4, np.int64) for _ in range(6)]

    def launch(out):
        for _ in range(5):
            assert run(launcher, out) == QUIET

    threads = [threading.Thread(target=launch, args=(out,)) for out in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out.tolist() for out in outputs] == [[0, 5, 10, 15]] * 6


def test_a_record_that_was_given_up_is_not_used_again():
    launcher = Launcher(kernel(WRITE_BLOCK), [0], (4,), print_capacity=0)
    out = np.zeros(4, np.int64)
    record = launcher.record()
    record.words[SLOTS] = out.ctypes.data
    record.give_up()
    report = run_on(CPU.new_stream(), launcher, record)
    assert report.problem is not None
    assert "a launch was cancelled before all its blocks had run" in str(report.problem)
    run(launcher, out)
    assert out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("nbytes", [0, 1, OWN_SCRATCH, OWN_SCRATCH + 1])
def test_records_that_are_used_again_have_little_scratch_of_their_own(nbytes):
    launcher = Launcher(kernel(WRITE_BLOCK), [0], (1,), nbytes)
    record, kept_for_good = launcher.record(), launcher.new_record()
    assert (record.scratch is None) == (nbytes > OWN_SCRATCH)
    assert (kept_for_good.scratch is None) == (nbytes > 0)
    if record.scratch is not None:
        address, memory = record.scratch
        assert (address != 0) == (memory is not None) == (nbytes > 0)
        assert address % SCRATCH_ALIGNMENT == 0
