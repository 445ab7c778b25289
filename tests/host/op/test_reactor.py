from __future__ import annotations

import threading

import pytest

from op_kit import HAND, WATCHDOG, HandDevice, HandEvent, HandStream
from tilewright.devices.null import NullDevice
from tilewright.devices.protocol import Block
from tilewright.op.reactor import Reactor
from tilewright.op.signals import Signal


@pytest.fixture
def reactor():
    return Reactor()


def test_it_calls_when_the_event_has_passed_from_one_thread(reactor):
    events, threads, all_called = [HandEvent() for _ in range(50)], [], threading.Event()

    def note():
        threads.append(threading.current_thread())
        if len(threads) == len(events):
            all_called.set()

    for event in events:
        reactor.when(event, note)
    assert threads == []
    for event in reversed(events):
        event.passed.set()
    assert all_called.wait(WATCHDOG)
    assert len(set(threads)) == 1
    assert threads[0].daemon
    assert threads[0].name == "tilewright-reactor"


def test_it_wakes_up_again(reactor):
    for _ in range(3):
        event, called = HandEvent(), threading.Event()
        event.passed.set()
        reactor.when(event, called.set)
        assert called.wait(WATCHDOG)


def test_a_signal_needs_no_watching(reactor):
    signal, called = Signal(), []
    reactor.when(signal, lambda: called.append(True))
    signal.set()
    assert called == [True]
    assert reactor._thread is None


def test_an_event_that_fails_counts_as_passed(reactor):
    class Broken(HandEvent):
        def done(self):
            raise RuntimeError("the device is lost")

    called = threading.Event()
    reactor.when(Broken(), called.set)
    assert called.wait(WATCHDOG)


def test_it_sleeps_on_the_devices_progress(reactor):
    device, called = NullDevice(), [threading.Event() for _ in range(3)]
    device.hold()
    streams = device.streams()
    for stream, each in zip(streams, called, strict=False):
        stream.fill(Block(0, 4, (1,), (4,), host=False), bytes(4))
        reactor.when(stream.record(), each.set)
    for i in (1, 2, 0):
        assert not called[i].is_set()
        device.release(streams[i])
        assert called[i].wait(WATCHDOG)


def test_events_of_several_devices(reactor):
    devices, called = [NullDevice("a"), NullDevice("b")], threading.Semaphore(0)
    for device in devices:
        device.hold()
        device.streams()[0].fill(Block(0, 4, (1,), (4,), host=False), bytes(4))
        reactor.when(device.streams()[0].record(), called.release)
    assert not called.acquire(blocking=False)
    for device in devices:
        device.release()
        assert called.acquire(timeout=WATCHDOG)


def test_a_new_event_wakes_it_while_it_sleeps(reactor):
    asleep, awake, called = NullDevice(), NullDevice(), threading.Event()
    asleep.hold()
    asleep.streams()[0].fill(Block(0, 4, (1,), (4,), host=False), bytes(4))
    reactor.when(asleep.streams()[0].record(), called.set)
    while reactor._asleep is None:
        pass
    other = threading.Event()
    reactor.when(awake.streams()[0].record(), other.set)
    assert other.wait(WATCHDOG)
    assert not called.is_set()
    asleep.release()
    assert called.wait(WATCHDOG)


def test_functions_go_on_in_a_small_pool(reactor):
    together = threading.Barrier(5)
    for _ in range(4):
        reactor.continue_soon(lambda: together.wait(WATCHDOG))
    together.wait(WATCHDOG)


def test_a_child_begins_anew(reactor):
    # As a child finds it: a thread that does not run, held locks, events of the parent.
    reactor._thread = threading.Thread(target=lambda: None)
    reactor._wake.acquire()
    reactor._begin_anew()
    event, called = HandEvent(), threading.Event()
    event.passed.set()
    reactor.when(event, called.set)
    assert called.wait(WATCHDOG)


class Flickering(Reactor):
    """Its thread wakes up between two looks of another one."""

    looks = 0

    @property
    def _asleep(self):
        self.looks += 1
        return HAND.progress if self.looks == 1 else None

    @_asleep.setter
    def _asleep(self, progress):
        pass


def test_the_thread_may_wake_up_while_it_is_told_of_an_event():
    called, event = threading.Event(), HandEvent()
    event.passed.set()
    Flickering().when(event, called.set)
    assert called.wait(WATCHDOG)


def test_a_device_that_cannot_be_watched_does_not_end_the_reactor():
    class Lost(HandDevice):
        @property
        def progress(self):
            class Fails:
                def wait(self, seen, timeout=None):
                    raise RuntimeError("the device was lost")

            return Fails()

        @progress.setter
        def progress(self, progress):
            pass

    reactor, called = Reactor(), [threading.Event(), threading.Event()]
    events = [HandEvent(HandStream(Lost())) for _ in called]
    for event, each in zip(events, called, strict=True):
        reactor.when(event, each.set)
        event.passed.set()
        assert each.wait(WATCHDOG)


@pytest.fixture
def threads(monkeypatch):
    """Whether threads can be started: a list that is empty where they cannot."""
    start, there = threading.Thread.start, []

    def start_or_refuse(self):
        if not there:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_or_refuse)
    return there


def test_without_a_thread_the_caller_waits_for_the_event(reactor, threads):
    callers, event, later = [], HandEvent(), threading.Event()
    event.passed.set()
    reactor.when(event, lambda: callers.append(threading.current_thread()))
    assert callers == [threading.current_thread()] and reactor._thread is None
    threads.append("there")
    reactor.when(event, later.set)
    assert later.wait(WATCHDOG) and reactor._thread is not None


def test_without_a_thread_the_caller_goes_on_itself(reactor, threads):
    callers, later = [], threading.Event()

    def note():
        callers.append(threading.current_thread())

    reactor.continue_soon(note)
    assert callers == [threading.current_thread()]
    threads.append("there")
    reactor.continue_soon(note)  # what was refused is not there any more
    reactor.continue_soon(later.set)
    assert later.wait(WATCHDOG) and len(callers) == 2


def test_one_thread_does_what_others_would(reactor, threads):
    threads.append("there")
    busy, go_on, callers, later = threading.Event(), threading.Event(), [], threading.Event()
    reactor.continue_soon(lambda: (busy.set(), go_on.wait(WATCHDOG)))
    assert busy.wait(WATCHDOG)
    threads.clear()
    reactor.continue_soon(lambda: (callers.append(threading.current_thread()), later.set()))
    assert not callers
    go_on.set()
    assert later.wait(WATCHDOG) and callers != [threading.current_thread()]


def test_what_the_pool_raises_otherwise_is_raised(reactor):
    reactor.continue_soon(threading.Event().set)
    reactor._crew.close()
    with pytest.raises(RuntimeError, match="shutdown"):
        reactor.continue_soon(threading.Event().set)
