"""Recorded work: runs as one entry, in order, again and again; failures belong to a run."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.devices.cpu.kernels import (
    FAIL_AT_17,
    PRINT,
    SCRATCH_SUM,
    SPIN,
    USLEEP,
    WRITE_BLOCK,
    kernel,
    slots,
)
from cpu.devices.cpu.test_stream import COUNT, Gate
from tilewright.base import config
from tilewright.base.errors import ContextError, DriverError
from tilewright.devices.cpu.record import SLOTS
from tilewright.devices.cpu.run import Launcher
from tilewright.devices.host import CPU, REFERENCE
from tilewright.devices.protocol import Block


def launcher_of(body, out, blocks, scratch_bytes=0, prints=0):
    return Launcher(kernel(body, USLEEP), slots(out).tolist(), (blocks,), scratch_bytes, prints)


def recorded(*launchers):
    stream = CPU.new_stream()
    stream.begin_capture()
    for launcher in launchers:
        assert stream.launch(launcher.record(), inline=True, keep=launcher) is False
    return stream.end_capture()


@pytest.mark.parametrize("inline", [False, True])
def test_recorded_work_runs_at_each_replay(inline):
    out, stream = np.zeros(5, np.int64), CPU.new_stream()
    replay = recorded(*[launcher_of(WRITE_BLOCK, out, 5)] * 3)
    assert replay.nodes == 3 and not out.any()
    for i in range(4):
        run = replay.put_on(stream, inline=inline)
        stream.synchronize()
        assert run.reports() == []
        assert out.tolist() == [3 * (i + 1) * n for n in range(5)]


def test_nodes_run_in_order():
    counter, seen = np.zeros(1, np.int64), np.full(1000, -1)
    nodes = [
        Launcher(kernel(COUNT), [counter.ctypes.data, seen[i:].ctypes.data], (1,), 0, 0)
        for i in range(seen.size)
    ]
    replay, stream = recorded(*nodes), CPU.new_stream()
    replay.put_on(stream)
    stream.synchronize()
    assert np.array_equal(seen, np.arange(seen.size))


def test_runs_follow_each_other_on_any_streams():
    counter, seen = np.zeros(1, np.int64), np.full(100, -1)
    nodes = [
        Launcher(kernel(COUNT), [counter.ctypes.data, seen[i:].ctypes.data], (1,), 0, 0)
        for i in range(seen.size)
    ]
    replay, gate = recorded(*nodes), Gate()
    streams = [CPU.new_stream() for _ in range(3)]
    gate.put_on(streams[0])
    for i in range(9):
        replay.put_on(streams[i % 3])
    assert not streams[1].idle()
    gate.open()
    CPU.synchronize()
    assert counter[0] == 900
    assert np.array_equal(seen, 800 + np.arange(100)), "no run began before the last one's end"


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_big_nodes_call_helpers(inline, threads):
    big, scratch, stream = np.zeros(3000, np.int64), np.full(300, -1), CPU.new_stream()
    expected = np.zeros(3000, np.int64)
    with config.override(num_threads=threads):
        stream.launch(launcher_of(SPIN, expected, 3000).record(), inline=True)
        replay = recorded(
            launcher_of(SPIN, big, 3000), launcher_of(SCRATCH_SUM, scratch, 300, 4096)
        )
        replay.put_on(stream, inline=inline)
        stream.synchronize()
    assert np.array_equal(big, expected)
    assert np.array_equal(scratch, np.arange(300))


def test_a_failure_belongs_to_its_run():
    out, stream = np.zeros(40, np.int64), CPU.new_stream()
    failing = launcher_of(FAIL_AT_17, out, 40)
    replay = recorded(launcher_of(WRITE_BLOCK, out, 4), failing, launcher_of(WRITE_BLOCK, out, 3))
    first = replay.put_on(stream)
    second = replay.put_on(stream)
    stream.synchronize()
    for run in (first, second):
        [(number, report)] = run.reports()
        assert number == 1 and report.failure is not None and report.failure.block >= 17
    assert out[2] >= 4, "the node behind the failure ran"


def test_prints_of_each_run():
    out, stream = np.zeros(3, np.int64), CPU.new_stream()
    replay, seen = recorded(launcher_of(PRINT, out, 3, 0, 4096)), []
    for _ in range(3):
        run = replay.put_on(stream)
        stream.after(lambda run=run: seen.extend(run.reports()))
    stream.synchronize()
    assert [(number, len(report.printed)) for number, report in seen] == [(0, 96)] * 3


def test_copies_are_recorded():
    source, target, stream = np.arange(50.0), np.zeros(50), CPU.new_stream()
    blocks = [Block(a.ctypes.data, 8, a.shape, a.strides, host=True) for a in (target, source)]
    stream.begin_capture()
    stream.copy(blocks[0], blocks[1])
    stream.copy(blocks[0], blocks[0])
    replay = stream.end_capture()
    assert not target.any()
    source += 1
    replay.put_on(stream)
    stream.synchronize()
    np.testing.assert_array_equal(target, source)


def test_arguments_of_a_node_can_be_changed():
    out, other, stream = np.zeros(4, np.int64), np.zeros(4, np.int64), CPU.new_stream()
    replay = recorded(launcher_of(WRITE_BLOCK, out, 4))
    replay.put_on(stream)
    with replay.settled():
        replay._listed.nodes[0].record.words[SLOTS] = other.ctypes.data
    replay.put_on(stream)
    stream.synchronize()
    assert out.tolist() == other.tolist() == [0, 1, 2, 3]


def test_an_empty_recording_does_nothing():
    replay, stream = recorded(), CPU.new_stream()
    replay.put_on(stream)
    replay.put_on(stream, inline=True)
    stream.synchronize()
    assert replay.nodes == 0 and stream.idle()


def test_misuse_is_refused():
    stream = CPU.new_stream()
    with pytest.raises(DriverError, match="is not being captured"):
        stream.end_capture()
    stream.begin_capture()
    assert stream.is_capturing
    with pytest.raises(DriverError, match="captured already"):
        stream.begin_capture()
    replay = stream.end_capture()
    with pytest.raises(ContextError, match="stream of another device"):
        replay.put_on(REFERENCE.streams()[0])


def test_waiting_while_capturing_is_done_by_the_host():
    stream, other, gate = CPU.new_stream(), CPU.new_stream(), Gate()
    gate.put_on(other)
    event = other.record()
    stream.begin_capture()
    gate.open()
    stream.wait_for(event)
    assert event.done() and stream.end_capture().nodes == 0
