from __future__ import annotations

import ctypes
import gc
import weakref
from functools import partial

import numpy as np
import pytest

from support.fake_cuda import names
from support.interrupts import MOST_POINTS, raise_at, raise_behind
from tilewright.base.cuda_abi import CudaLaunchWord
from tilewright.base.errors import ContextError, DriverError
from tilewright.devices.cpu.run import FailureWords
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.cuda.record import REPORT_BYTES, PinnedReport, Record
from tilewright.devices.host import CPU
from tilewright.devices.protocol import Block


def kernel(device, fake, function, *slots):
    fake.kernels["work"] = function
    handle = device.load_module(b".version 7.0\n.target sm_80\n").function("work")
    return Record(device.context.handle, handle, (1, 1, 1), (1, 1, 1), 0, slots)


def reporting(device, record):
    record.report = PinnedReport(device.staging.allocate(REPORT_BYTES), 0)
    record.words[-1] = record.report.address
    return record


def test_recorded_work_runs_at_each_replay_and_not_before(device, fake):
    seen = []
    stream = device.new_stream()
    stream.begin_capture()
    assert stream.is_capturing
    stream.launch(kernel(device, fake, lambda values, grid: seen.append(values), 3), "`work`")
    assert stream.captured == 1
    replay = stream.end_capture()
    assert not seen and replay.nodes == 1 and not stream.is_capturing
    for _ in range(3):
        assert replay.put_on(stream).reports() == []
    stream.synchronize()
    assert seen == [[3]] * 3


def test_a_node_takes_other_parameters(device, fake):
    seen = []
    stream = device.new_stream()
    stream.begin_capture()
    record = kernel(device, fake, lambda values, grid: seen.append(values), 3)
    node = stream.launch(record, "`work`")
    replay = stream.end_capture()
    record.words[record.slots] = 8
    node.refill(record)
    replay.put_on(stream)
    stream.synchronize()
    assert seen == [[8]]


def test_runs_follow_each_other_on_any_streams(device, fake):
    first, second = device.new_stream(), device.new_stream()
    first.begin_capture()
    first.launch(kernel(device, fake, lambda values, grid: None), "`work`")
    replay = first.end_capture()
    fake.hold(first)
    replay.put_on(first)
    replay.put_on(second)
    assert names(fake.log).count("graph") == 2 and "wait" in names(fake.log)
    assert not second.idle()
    fake.release()
    assert second.record().wait()


def fails(values, grid):
    words = (ctypes.c_int64 * 8).from_address(values[-1])
    words[CudaLaunchWord.ERROR_TAKEN] = 1
    words[1:5] = [0, 7, 9, 4]


def test_each_run_has_its_own_reports(device, fake):
    stream = device.new_stream()
    stream.begin_capture()
    stream.launch(reporting(device, kernel(device, fake, fails, 0)), "`work`")
    replay = stream.end_capture()
    runs = [replay.put_on(stream) for _ in range(2)]
    stream.synchronize()
    for run in runs:
        ((number, raw),) = run.reports()
        assert number == 0
        assert raw.failure == FailureWords(0, 7, 9, 4)


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
def test_reports_are_read_wherever_an_interrupt_comes(device, fake, interrupt):
    stream, seen = device.new_stream(), []
    stream.begin_capture()
    for number in range(3):
        node = stream.launch(reporting(device, kernel(device, fake, fails, 0)), "`work`")
        node.after = partial(seen.append, number)
    replay = stream.end_capture()
    for point in range(1, MOST_POINTS):
        fake.hold(stream)
        run = replay.put_on(stream)
        fake.release()
        is_over = not interrupt(point, stream.synchronize)
        stream.synchronize()
        failures = [(number, raw.failure) for number, raw in run.reports()]
        assert failures == [(number, FailureWords(0, 7, 9, 4)) for number in range(3)], point
        assert list(dict.fromkeys(seen)) == [0, 1, 2] and len(seen) <= 4, point
        seen.clear()
        if is_over:
            break
    assert 10 < point < MOST_POINTS - 1


def test_a_graph_reads_the_host_at_each_run(device, fake):
    data, memory = np.array([1, 2, 3], "u1"), device.allocate(3, zeroed=True)
    held = Block(memory.address, 1, (3,), (1,), host=False)
    source = Block(data.__array_interface__["data"][0], 1, (3,), (1,), host=True)
    result = np.zeros(3, "u1")
    target = Block(result.__array_interface__["data"][0], 1, (3,), (1,), host=True)
    stream = device.new_stream()
    stream.begin_capture()
    stream.copy(held, source)
    stream.copy(target, held)
    replay = stream.end_capture()
    for start in (5, 9):
        data[:] = range(start, start + 3)
        replay.put_on(stream)
        stream.synchronize()
        assert np.array_equal(result, data)


def test_replays_are_of_one_device(device, fake):
    stream = device.new_stream()
    stream.begin_capture()
    replay = stream.end_capture()
    for other in (CPU.new_stream(), CudaDevice(fake, 0).new_stream()):
        with pytest.raises(ContextError, match="a stream of another device"):
            replay.put_on(other)


def test_captures_begin_and_end_once(device):
    stream = device.new_stream()
    with pytest.raises(DriverError, match="not being captured"):
        stream.end_capture()
    stream.begin_capture()
    with pytest.raises(DriverError, match="captured already"):
        stream.begin_capture()
    stream.end_capture()


def test_graphs_end_with_their_objects(device, fake):
    stream = device.new_stream()
    stream.begin_capture()
    replay = stream.end_capture()
    del replay
    gc.collect()
    device.new_stream()
    assert [what for what, _ in fake.ended] == ["graph"]


@pytest.mark.usefixtures("in_finalizers_too")
def test_runs_follow_each_other_wherever_an_interrupt_comes(device, fake):
    first, second = device.new_stream(), device.new_stream()
    first.begin_capture()
    first.launch(kernel(device, fake, lambda values, grid: None), "`work`")
    replay = first.end_capture()
    put = 0
    for point in range(1, MOST_POINTS):
        fake.hold(first)
        before = names(fake.log).count("graph")
        is_interrupted = raise_at(point, partial(replay.put_on, first))
        is_submitted = names(fake.log).count("graph") > before
        put += is_interrupted and is_submitted
        replay.put_on(second)
        assert not (is_submitted and second.idle()), point
        fake.release()
        device.synchronize()
        if not is_interrupted:
            break
    assert put > 1 and point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
def test_a_graph_lives_wherever_an_interrupt_comes(device, fake):
    stream, put = device.new_stream(), 0
    for point in range(1, MOST_POINTS):
        stream.begin_capture()
        stream.launch(kernel(device, fake, lambda values, grid: None), "`work`")
        replay = stream.end_capture()
        fake.hold(stream)
        alive, before = weakref.ref(replay), len(fake.queues[stream.handle])
        is_interrupted = raise_at(point, partial(replay.put_on, stream))
        del replay
        if len(fake.queues[stream.handle]) > before:
            put += is_interrupted
            assert alive() is not None, point
        fake.release()
        stream.synchronize()
        if not is_interrupted:
            break
    assert put > 1 and point < MOST_POINTS - 1
