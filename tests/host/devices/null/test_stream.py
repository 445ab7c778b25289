"""The null device: everything is noted, nothing is done, events pass when the test says so."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tilewright.base.errors import DriverError
from tilewright.devices.host import REFERENCE
from tilewright.devices.null import Entry, NullDevice
from tilewright.devices.protocol import Block, Device, Event, Stream
from tilewright.devices.registry import get_device


def block(shape=(3, 4), itemsize=4, host=True):
    return Block(64, itemsize, shape, (0,) * len(shape), host)


def test_it_is_a_device_of_its_own_name():
    device: Device = NullDevice()
    stream: Stream = device.new_stream()
    event: Event = stream.record()
    assert device.name == "null" == get_device("null").name
    assert [s.number for s in device.streams()] == [0, 1, 2, 3]
    assert stream.number == 4 and stream.device is device and event.stream is stream


def test_what_is_put_there_is_noted_in_order():
    device = NullDevice()
    first, second = device.streams()[:2]
    first.launch("add over (4,)")
    second.copy(block(host=False), block(()))
    first.fill(block((7,), 2), b"\x00\x3c")
    assert device.entries[0] == Entry(0, "launch", "add over (4,)")
    assert [str(entry) for entry in device.entries] == [
        "stream 0: launch add over (4,)",
        "stream 1: copy host scalar of 4 bytes to device 3x4 of 4 bytes",
        "stream 0: fill host 7 of 2 bytes with 003c",
    ]
    assert first.idle() and first.record().done()
    with pytest.raises(DriverError, match="expected: an element of 4 bytes"):
        first.fill(block(), b"")


def test_memory_is_zero_and_stays_so():
    device = NullDevice()
    memory = device.allocate(100, zeroed=False)
    assert memory.nbytes == 100 and memory.address % 64 == 0
    device.synchronize()


def test_held_events_pass_when_released():
    device, seen = NullDevice(), []
    stream = device.streams()[0]
    device.hold()
    stream.launch("a")
    first = stream.record()
    stream.after(lambda: seen.append("a"))
    stream.launch("b")
    stream.after(lambda: seen.append("b"))
    stream.sweep()
    assert not first.done() and not stream.idle() and not first.wait(0.01) and seen == []
    assert device.new_stream().idle()
    device.release()
    stream.sweep()
    assert first.done() and stream.idle() and seen == ["a", "b"]
    stream.launch("c")
    stream.after(lambda: seen.append("c"))
    assert seen == ["a", "b", "c"]


def test_streams_are_held_one_by_one():
    device = NullDevice()
    first, second, third = device.streams()[:3]
    device.hold(first)
    first.launch("a")
    second.launch("b")
    second.wait_for(first.record())
    second.launch("c")
    third.wait_for(second.record())
    assert not first.idle() and not second.idle() and not third.idle()
    assert str(device.entries[2]) == "stream 1: wait for Event(stream=0, number=1)"
    device.release(second)
    assert not second.idle()
    device.release(first)
    assert first.idle() and second.idle() and third.idle()


def test_all_are_held_and_one_released():
    device = NullDevice()
    first, second = device.streams()[:2]
    device.hold()
    first.launch("a")
    second.launch("b")
    device.release(second)
    assert second.idle() and not first.idle()
    device.release()
    assert first.idle()


def test_waits_that_are_over_are_not_noted():
    device = NullDevice()
    first, second = device.streams()[:2]
    second.wait_for(first.record())
    device.hold()
    first.launch("a")
    first.wait_for(first.record())
    first.wait_for(REFERENCE.streams()[0].record())
    assert len(device.entries) == 1


def test_another_thread_may_release():
    device = NullDevice()
    stream = device.streams()[0]
    device.hold()
    stream.launch("a")
    threading.Timer(0.01, device.release).start()
    assert stream.record().wait(60.0)


def test_progress_tells_of_watched_events():
    device = NullDevice()
    stream = device.streams()[0]
    assert device.progress.wait(0, 0.01) == 0
    device.hold()
    stream.launch("a")
    device.progress.watch(stream.record())
    assert device.progress.wait(0, 0.01) == 0
    device.release()
    assert device.progress.wait(0, 60.0) == 1
    device.progress.watch(stream.record())
    assert device.progress.wait(1, 60.0) == 2
    device.progress.poke()
    assert device.progress.wait(2) == 3


def test_captured_work_is_noted_at_each_replay():
    device = NullDevice()
    stream, other = device.streams()[:2]
    stream.begin_capture()
    assert stream.is_capturing
    with pytest.raises(DriverError, match="captured already"):
        stream.begin_capture()
    stream.launch("a")
    stream.copy(block(), block())
    assert stream.captured == 2
    replay = stream.end_capture()
    assert device.entries == [] and replay.nodes == 2 and replay.entries[0] == ("launch", "a", ())
    with pytest.raises(DriverError, match="not being captured"):
        stream.end_capture()
    device.hold()
    replay.put_on(stream)
    assert replay.put_on(other).reports() == ()
    assert [entry.kind for entry in device.entries] == ["replay", "wait", "replay"]
    device.release()
    assert other.idle()


def test_many_threads_put_work_there():
    device = NullDevice()

    def work():
        for i in range(200):
            stream = device.streams()[i % 4]
            stream.launch(str(i))
            stream.wait_for(device.streams()[(i + 1) % 4].record())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([e for e in device.entries if e.kind == "launch"]) == 800
    assert all(stream.idle() for stream in device.streams())
    assert np.array_equal(
        sorted(int(e.text) for e in device.entries if e.kind == "launch"),
        np.repeat(np.arange(200), 4),
    )
