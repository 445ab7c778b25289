"""Threads, and what is done where none can be started."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time

import pytest

from support.interrupts import Interrupt, raise_at, raise_behind
from tilewright.base.threads import Crew, called_apart

PATIENCE = 20.0


@pytest.fixture
def room(monkeypatch):
    """How many more threads can be started, in a list."""
    start, left = threading.Thread.start, [0]

    def start_or_refuse(self):
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_or_refuse)
    return left


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
def test_what_is_raised_in_the_caller_does_not_reach_what_is_called(interrupt):
    for point in range(1, 40):
        begun, done = threading.Event(), threading.Event()

        def call(begun=begun, done=done) -> None:
            begun.set()
            for i in range(10):
                str(i)
            done.set()

        is_over = not interrupt(point, lambda call=call: called_apart(call) or None)
        assert done.wait(PATIENCE) if begun.wait(0.02) else not is_over, point
        if is_over:
            break
    assert 0 < point < 39


def test_handlers_of_signals_run_when_it_is_over():
    """One that forked before would leave a child waiting for a thread that it has not."""
    seen = []

    def call() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.02)
        seen.append("called")

    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append("handled"))
    try:
        assert called_apart(call)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == ["called", "handled"]


def test_where_there_is_no_thread_nothing_is_called(monkeypatch):
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    called = []
    assert called_apart(called.append, 1) is False
    assert called == []


def test_a_crew_without_threads_leaves_the_work_to_the_caller(room):
    crew = Crew(2, "test")
    assert crew.submit(threading.current_thread).result() is threading.current_thread()
    assert crew.take(int) is False
    with pytest.raises(ZeroDivisionError):
        crew.submit(lambda: 1 // 0).result()
    room[0] = 1
    assert crew.submit(threading.current_thread).result(PATIENCE) is not threading.current_thread()
    crew.close()


def test_one_thread_of_a_crew_does_what_others_would_have(room):
    """What was submitted when the second thread was refused is done, and once."""
    room[0], opened, seen = 1, threading.Event(), []
    crew = Crew(2, "test")
    first = crew.submit(opened.wait, PATIENCE)
    others = [crew.submit(seen.append, number) for number in range(3)]
    assert seen == []
    opened.set()
    assert first.result(PATIENCE)
    for each in others:
        each.result(PATIENCE)
    assert seen == [0, 1, 2]
    crew.close()


def test_what_is_raised_in_a_crew_is_raised_where_its_result_is_asked_for():
    crew = Crew(1, "test")
    begun, opened = threading.Event(), threading.Event()

    def fail() -> None:
        raise Interrupt

    failed = crew.submit(fail)
    last = crew.submit(lambda: (begun.set(), opened.wait(PATIENCE)))
    left = [crew.submit(int) for _ in range(2)]
    with pytest.raises(Interrupt):
        failed.result(PATIENCE)
    assert begun.wait(PATIENCE)
    crew.close(wait=False)
    opened.set()
    assert last.result(PATIENCE) == (None, True)
    crew.close()
    assert not any(each.done() for each in left)
