from __future__ import annotations

import gc
import weakref
from functools import partial

import numpy as np
import pytest

from support.fake_cuda import names
from support.interrupts import MOST_POINTS, raise_at
from tilewright.base.errors import DriverError
from tilewright.devices.cuda.record import Record
from tilewright.devices.cuda.results import SUCCESS
from tilewright.devices.cuda.stream import MANY, MOST_WAITING
from tilewright.devices.host import CPU
from tilewright.devices.protocol import Block, Stream, TimedStream


class Kept:
    """Something that work keeps alive."""


def record_of(device, fake, name="work", *slots):
    fake.kernels.setdefault(name, lambda values, grid: None)
    module = device.load_module(b".version 7.0\n.target sm_80\n")
    return Record(device.context.handle, module.function(name), (2, 3, 1), (1, 1, 1), 0, slots)


def test_is_a_stream(device):
    assert isinstance(device.new_stream(), Stream)
    assert isinstance(device.new_stream(), TimedStream)


def test_a_launch_gets_its_parameters(device, fake):
    seen = []
    fake.kernels["work"] = lambda values, grid: seen.append((values, grid))
    stream = device.new_stream()
    stream.launch(record_of(device, fake, "work", 5, -7, 1 << 40), "`work`")
    stream.synchronize()
    assert seen == [([5, -7, 1 << 40], (2, 3, 1))]
    assert not fake.current, "the thread is left as it was"


def test_work_is_in_flight_until_it_has_passed(device, fake):
    stream = device.new_stream()
    fake.hold(stream)
    kept, called = Kept(), []
    alive = weakref.ref(kept)
    stream.launch(record_of(device, fake), "`work`", kept)
    stream.after(lambda: called.append(1))
    event = stream.record()
    del kept
    assert not event.done()
    assert not event.wait(0.01)
    assert not stream.idle()
    assert alive() is not None and not called
    fake.release()
    assert event.wait()
    assert stream.idle()
    assert alive() is None
    assert called == [1]


def test_a_point_with_nothing_before_it_has_passed(device):
    stream = device.new_stream()
    assert stream.record().done()
    assert stream.record().wait()
    called = []
    stream.after(lambda: called.append(1))
    assert called == [1]


def test_a_stream_waits_for_another(device, fake):
    first, second = device.new_stream(), device.new_stream()
    order = []
    fake.kernels["first"] = lambda values, grid: order.append(1)
    fake.kernels["second"] = lambda values, grid: order.append(2)
    fake.hold(first)
    first.launch(record_of(device, fake, "first"), "`first`")
    second.wait_for(first.record())
    second.launch(record_of(device, fake, "second"), "`second`")
    assert order == []
    fake.release()
    second.synchronize()
    assert order == [1, 2]


def test_a_stream_does_not_wait_for_itself_or_for_what_has_passed(device, fake):
    first, second = device.new_stream(), device.new_stream()
    first.launch(record_of(device, fake), "`work`")
    first.wait_for(first.record())
    first.synchronize()
    second.wait_for(first.record())
    assert "wait" not in names(fake.log)


def test_the_host_waits_for_events_of_other_drivers(device):
    device.new_stream().wait_for(CPU.new_stream().record())


def test_events_are_used_again(device, fake):
    stream = device.new_stream()
    for _ in range(200):
        stream.launch(record_of(device, fake), "`work`")
        stream.synchronize()
    assert len(fake.events) < 20


def test_streams_are_used_again_without_the_collector(device, fake):
    gc.disable()
    try:
        made = {device.new_stream().handle for _ in range(10)}
    finally:
        gc.enable()
    assert len(made) == 1


def test_a_stream_with_work_lives_until_that_is_done(device, fake):
    stream = device.new_stream()
    fake.hold(stream)
    called = []
    stream.launch(record_of(device, fake), "`work`")
    stream.after(lambda: called.append(1))
    del stream
    fake.release()
    device.synchronize()
    assert called == [1]


def test_a_stream_is_full_when_much_waits(device, fake):
    stream = device.new_stream()
    fake.hold(stream)
    record = record_of(device, fake)
    for _ in range(MOST_WAITING):
        assert not stream.full()
        stream.launch(record, "`work`")
    assert stream.full()
    fake.release()
    assert not stream.full()


def test_a_refused_launch_is_an_error_with_its_reason(device, fake):
    stream = device.new_stream()
    fake.fail("launch", 701)
    with pytest.raises(DriverError, match="rejected the launch of `work`") as caught:
        stream.launch(record_of(device, fake), "`work`")
    assert "701" in caught.value.got
    assert "smaller blocks" in caught.value.hint
    stream.launch(record_of(device, fake), "`work`")
    stream.synchronize()


def test_a_lost_device_names_who_was_under_way_and_fails_fast(device, fake):
    stream, other = device.new_stream(), device.new_stream()
    fake.hold(stream)
    done = []
    other.launch(record_of(device, fake), "`good`")
    other.synchronize()
    stream.launch(record_of(device, fake), "`bad`")
    stream.after(lambda: done.append(1))
    fake.lost = 700
    with pytest.raises(DriverError, match="`bad` has failed on cuda:0") as caught:
        stream.synchronize()
    assert "700" in caught.value.got and "restart the process" in caught.value.hint
    calls = len(fake.log)
    for use in (
        lambda: other.launch(record_of(device, fake), "`next`"),
        lambda: device.allocate(8, zeroed=True),
        lambda: stream.record().done(),
        lambda: other.copy(block(8), block(8)),
    ):
        with pytest.raises(DriverError, match="`bad` has failed"):
            use()
    assert len(fake.log) == calls, "the driver is not asked again"
    stream.sweep()
    assert done == [1], "calls fall due all the same"


def test_every_kernel_under_way_is_suspect(device, fake):
    streams = device.new_stream(), device.new_stream()
    fake.hold(*streams)
    for stream, name in zip(streams, ("`a`", "`b`"), strict=True):
        stream.launch(record_of(device, fake), name)
        stream.launch(record_of(device, fake), "`later`")
    fake.lost = 719
    with pytest.raises(DriverError) as caught:
        streams[0].synchronize()
    assert "`a`" in caught.value.message and "`b`" in caught.value.message
    assert "`later`" not in caught.value.message


def test_stamps(device, fake):
    stream = device.new_stream()
    first = stream.stamp()
    second = stream.stamp()
    stream.synchronize()
    assert 0.0 <= second.since(first) < 10.0
    assert second.host_time() is None


def block(n, address=64):
    return Block(address, 1, (n,), (1,), host=False)


def test_other_libraries_see_the_stream(device):
    stream = device.new_stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert np.issubdtype(type(stream.handle), np.integer) or isinstance(stream.handle, int)


def kept_for_work(device, fake, stream):
    """Something that a launch put there just now keeps alive, and nobody else."""
    kept = Kept()
    stream.launch(record_of(device, fake), "`work`", kept)
    return weakref.ref(kept)


def test_two_threads_that_wait_let_go_of_nothing_that_came_after(device, fake):
    """Both have seen the same things kept; the second must not take later ones for them."""
    stream = device.new_stream()
    alive = kept_for_work(device, fake, stream)
    one, other = stream.point(), stream.point()
    stream.waited(one, SUCCESS, None, None)
    assert alive() is None
    fake.hold(stream)
    later = kept_for_work(device, fake, stream)
    stream.waited(other, SUCCESS, None, None)
    assert later() is not None
    del one, other  # they hold the list
    fake.release()
    stream.synchronize()
    assert later() is None


def test_what_is_put_while_the_driver_is_asked_stays_alive(device, fake, monkeypatch):
    stream = device.new_stream()
    first, asked, later = kept_for_work(device, fake, stream), fake.idle, []

    def meanwhile(context, handle):
        answer = asked(context, handle)
        if not later:  # others look as well, and put something there
            later.append(None)
            assert stream.idle()
            fake.hold(stream)
            later.append(kept_for_work(device, fake, stream))
        return answer

    monkeypatch.setattr(fake, "idle", meanwhile)
    stream.idle()
    assert first() is None and later[1]() is not None
    fake.release()
    stream.synchronize()
    assert later[1]() is None


# An interrupt anywhere in a call


def add_stream(streams, device):
    streams.append(device.new_stream())


def work_of(stream, fake):
    """How much waits on a stream that is held."""
    return len(fake.queues[stream.handle])


class Place:
    """A stream that is held, and calls that put work on it or ask for a point of it."""

    def __init__(self, device, fake):
        self.device, self.fake = device, fake
        self.stream, self.other = device.new_stream(), device.new_stream()
        fake.hold(self.stream, self.other)
        self.record = record_of(device, fake)
        self.other.launch(self.record, "`other`")
        self.event = self.other.record()
        self.keep = Kept()

    def launch(self):
        self.stream.launch(self.record, "`work`", self.keep)

    def put(self):
        fill = self.fake.fill
        self.stream.put(self.keep, fill, self.device.memory.address, 0, 1, 8, self.stream.handle)

    def stamp(self):
        self.stream.stamp()

    def wait_for(self):
        self.stream.wait_for(self.event)

    def follow(self):
        self.stream.follow(self.other.handle)

    def fill(self):
        self.stream.fill(block(8, self.device.memory.address), b"\1")

    def mark(self):
        self.stream.launch(self.record, "`work`", self.keep)
        self.stream.record()

    mark_many = launch


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize(
    "what",
    ["launch", "put", "stamp", "wait_for", "follow", "fill", "mark", "mark_many"],
)
def test_work_is_counted_and_kept_wherever_an_interrupt_comes(device, fake, what):
    device.memory = device.allocate(8, zeroed=True)
    put = 0
    for point in range(1, MOST_POINTS):
        place = Place(device, fake)
        stream, alive = place.stream, weakref.ref(place.keep)
        for _ in range(MANY - 1 if what == "mark_many" else 0):
            stream.launch(place.record, "`before`")
        before = work_of(stream, fake)
        is_interrupted = raise_at(point, getattr(place, what))
        del place
        assert not fake.current, "the thread is left as it was"
        if work_of(stream, fake) > before:
            put += is_interrupted
            kept_for = {"launch", "put", "mark", "mark_many"}
            assert what not in kept_for or alive() is not None, point
            assert not stream.record().done(), point
            assert not stream.idle(), point
        last = stream.record()
        fake.release()
        assert last.wait(1), point
        stream.synchronize()
        gc.collect()
        assert alive() is None, point
        assert stream.idle() and not stream.kept, point
        if not is_interrupted:
            break
    assert put > 0 and point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
def test_a_stream_with_work_lives_wherever_an_interrupt_comes(device, fake):
    for point in range(1, MOST_POINTS):
        place = Place(device, fake)
        handle = place.stream.handle
        is_interrupted = raise_at(point, place.launch)
        is_submitted = work_of(place.stream, fake) > 0
        del place
        gc.collect()
        assert not is_submitted or handle != device.new_stream().handle, point
        fake.release()
        device.synchronize()
        if not is_interrupted:
            break
    assert is_submitted and point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize("what", ["launch", "mark", "follow", "wait_for"])
def test_no_event_or_stream_is_lost_to_an_interrupt(device, fake, what):
    """But for one that a finalizer gives back, which tells nobody where it is interrupted."""
    for point in range(1, MOST_POINTS):
        place = Place(device, fake)
        device.events._idle.clear()  # a new one is made
        known = set(fake.events)
        is_interrupted = raise_at(point, getattr(place, what))
        made = set(fake.events) - known
        marks = {mark.handle for mark in (*place.stream._marks, place.stream._last)}
        assert made <= marks | set(device.events._idle), point
        assert len(set(device.events._idle)) == len(device.events._idle), point
        fake.release()
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
def test_a_stream_is_made_or_not_wherever_an_interrupt_comes(device, fake):
    device.prepare()
    for point in range(1, MOST_POINTS):
        known = set(fake.queues)
        made = []
        is_interrupted = raise_at(point, partial(add_stream, made, device))
        gc.collect()
        assert set(fake.queues) - known <= {*device._idle, *[each.handle for each in made]}, point
        device._idle.clear()
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
def test_a_recorded_kernel_is_known_wherever_an_interrupt_comes(device, fake):
    for point in range(1, MOST_POINTS):
        place = Place(device, fake)
        stream, alive = place.stream, weakref.ref(place.keep)
        stream.begin_capture()
        is_interrupted = raise_at(point, place.launch)
        del place
        is_submitted = bool(fake.capturing[stream.handle])
        replay = stream.end_capture()
        assert not is_submitted or (replay.nodes == 1 and alive() is not None), point
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1


@pytest.mark.usefixtures("in_finalizers_too")
def test_a_stream_whose_capture_was_interrupted_is_not_used_again(device, fake):
    def capture():
        stream = device.new_stream()
        stream.begin_capture()
        stream.end_capture()

    device.prepare()
    for point in range(1, MOST_POINTS):
        is_interrupted = raise_at(point, capture)
        gc.collect()
        assert not set(device._idle) & set(fake.capturing), point
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1


def test_what_others_keep_while_a_mark_is_made_is_for_later_work(device, fake, monkeypatch):
    stream = device.new_stream()
    first, recorded, later = kept_for_work(device, fake, stream), fake.record, []

    def meanwhile(*given):
        answer = recorded(*given)
        fake.hold(stream)
        later.append(kept_for_work(device, fake, stream))  # as another thread does
        return answer

    monkeypatch.setattr(fake, "record", meanwhile)
    assert stream.record().wait(1)
    assert first() is None and later[0]() is not None
