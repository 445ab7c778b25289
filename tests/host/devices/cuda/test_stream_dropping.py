"""Streams that nobody has any more, of which the work is done: nothing keeps them alive."""

from __future__ import annotations

import gc
import weakref

import pytest

from tilewright.devices.cuda.device import FEW
from tilewright.devices.cuda.record import Record
from tilewright.devices.cuda.results import SUCCESS


@pytest.fixture(autouse=True)
def without_the_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def record(device, fake):
    fake.kernels["work"] = lambda values, grid: None
    module = device.load_module(b".version 7.0\n.target sm_80\n")
    return Record(device.context.handle, module.function("work"), (1, 1, 1), (1, 1, 1), 0, ())


@pytest.fixture
def launched(device, record):
    """A function that gives a new stream, with a launch that keeps something alive."""

    def launched():
        stream = device.new_stream()
        stream.launch(record, "`work`", object())
        return stream

    return launched


def over(stream):
    """What native code tells of when all on a stream is over."""
    stream.waited(stream.point(), SUCCESS, None, None)


SEEN = {
    "idle": lambda stream: stream.idle(),
    "waited": over,
    "synchronize": lambda stream: stream.synchronize(),
    "wait": lambda stream: stream.record().wait(),
}


@pytest.mark.parametrize("see", SEEN.values(), ids=SEEN)
def test_a_stream_that_was_seen_to_be_done_is_not_kept_alive(device, launched, see):
    stream = launched()
    alive = weakref.ref(stream)
    assert stream in device.waiting
    see(stream)
    assert not device.waiting
    del stream
    assert alive() is None


def test_one_with_calls_to_make_is(device, fake, launched):
    stream, called = launched(), []
    fake.hold(stream)
    stream.after(lambda: called.append(1))
    stream._drop(stream.kept, stream.point()[2])
    assert stream in device.waiting
    del stream
    fake.release()
    device.synchronize()
    assert called == [1] and not device.waiting


def test_one_that_keeps_something_for_later_work_is(device, fake, launched, record):
    stream = launched()
    before = stream.point()
    fake.hold(stream)
    stream.launch(record, "`work`", object())
    stream.waited(before, SUCCESS, None, None)
    assert stream in device.waiting and len(stream.kept) == 1


ADDED = {
    "a call": lambda stream: stream.after(lambda: None),
    "a mark": lambda stream: stream.record(),
    "something kept": lambda stream: stream.keep(None, object()),
}


@pytest.mark.parametrize("add", ADDED.values(), ids=ADDED)
def test_one_that_another_thread_puts_work_on_meanwhile_is(device, fake, launched, record, add):
    stream = launched()

    class Waiting(set):
        def discard(self, each):
            fake.hold(stream)
            stream.launch(record, None)
            add(stream)
            super().discard(each)

    stream._waiting = Waiting(device.waiting)
    stream.idle()
    assert stream in stream._waiting


def noted(fake, monkeypatch):
    """The streams and events that the driver is asked about from now on."""
    asked = []
    for name in ("idle", "query"):
        ask = getattr(fake, name)
        monkeypatch.setattr(
            fake,
            name,
            lambda context, handle, ask=ask: asked.append(handle) or ask(context, handle),
        )
    return asked


def test_as_many_are_made_as_work_at_once_not_as_were_started(device, launched):
    handles = {launched().handle for _ in range(20 * FEW)}
    assert len(device.waiting) <= FEW and len(handles) <= FEW + 1


def test_a_stream_at_work_stays_and_makes_new_ones_little_dearer(
    device, fake, launched, record, monkeypatch
):
    """Each is asked about a constant number of times on average, however many work."""
    count, asked, called = 20 * FEW, noted(fake, monkeypatch), []
    for _ in range(count):
        stream = launched()
        fake.hold(stream)
        stream.launch(record, "`later`", object())
        stream.after(lambda: called.append(1))
    del stream
    assert len(device.waiting) == count and not called
    assert len(asked) <= 2 * count
    fake.release()
    for _ in range(3 * count):
        launched()
    assert len(called) == count and len(device.waiting) <= 2 * FEW


def test_a_new_stream_asks_nothing_of_those_that_capture_or_are_of_others(
    device, fake, launched, record, monkeypatch
):
    """To be asked would end a capture."""
    handle = device.context.call(fake.create_stream)
    capturing, theirs = launched(), device.borrow_stream(handle, None)
    theirs.launch(record, "`work`", object())
    fake.hold(theirs, capturing)
    capturing.launch(record, "`work`", object())
    capturing.begin_capture()
    asked = noted(fake, monkeypatch)
    for _ in range(2 * FEW):
        launched()
    assert asked and {capturing.handle, theirs.handle}.isdisjoint(asked)
    assert {capturing, theirs} <= device.waiting
