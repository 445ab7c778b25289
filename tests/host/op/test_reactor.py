from __future__ import annotations

import threading

import pytest

from op_kit import WATCHDOG, HandEvent, HandStream
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


def test_a_device_that_tells_of_its_progress_is_asked_to(reactor):
    class Telling:
        name = "telling"

        def __init__(self):
            self.asked = threading.Event()

        def wait_progress(self, seconds):
            self.asked.set()
            event.passed.wait(seconds)

    device, called = Telling(), threading.Event()
    event = HandEvent(HandStream(device))
    reactor.when(event, called.set)
    assert device.asked.wait(WATCHDOG)
    event.passed.set()
    assert called.wait(WATCHDOG)


def test_functions_go_on_in_a_small_pool(reactor):
    together = threading.Barrier(5)
    for _ in range(4):
        reactor.continue_soon(lambda: together.wait(WATCHDOG))
    together.wait(WATCHDOG)


def test_a_child_begins_anew(reactor):
    event, called = HandEvent(), threading.Event()
    reactor.when(event, called.set)
    reactor._begin_anew()
    event.passed.set()
    other, other_called = HandEvent(), threading.Event()
    other.passed.set()
    reactor.when(other, other_called.set)
    assert other_called.wait(WATCHDOG)
