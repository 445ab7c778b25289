"""Calls that fall due: in order, once, one thread at a time, complete when a sweep returns.

Where an interrupt comes they are made again.
"""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from tilewright.devices.completion_callbacks import CompletionCallbacks


def test_calls_are_made_in_order_when_due():
    callbacks, seen = CompletionCallbacks(), []
    for number in (1, 1, 2, 5):
        callbacks.add(number, lambda number=number: seen.append(number))
    callbacks.sweep(0)
    assert seen == [] and callbacks
    callbacks.sweep(2)
    assert seen == [1, 1, 2] and callbacks
    callbacks.sweep(9)
    assert seen == [1, 1, 2, 5] and not callbacks


def test_objects_are_kept_until_then():
    class Thing:
        pass

    callbacks, thing = CompletionCallbacks(), Thing()
    alive = weakref.ref(thing)
    callbacks.add(1, None, thing)
    del thing
    gc.collect()
    assert alive() is not None
    callbacks.sweep(1)
    gc.collect()
    assert alive() is None


def test_a_sweep_inside_a_call_does_nothing():
    callbacks, seen = CompletionCallbacks(), []

    def call():
        seen.append("in")
        callbacks.sweep(1)
        seen.append("out")

    callbacks.add(1, call)
    callbacks.add(1, lambda: seen.append("next"))
    callbacks.sweep(1)
    assert seen == ["in", "out", "next"]


def test_a_sweep_waits_for_the_calls_of_another_thread():
    callbacks, seen = CompletionCallbacks(), []
    begun, go = threading.Event(), threading.Event()

    def call():
        begun.set()
        assert go.wait(60.0)
        seen.append("called")

    callbacks.add(1, call)
    thread = threading.Thread(target=callbacks.sweep, args=(1,))
    thread.start()
    assert begun.wait(60.0)
    threading.Timer(0.02, go.set).start()
    callbacks.sweep(1)
    assert seen == ["called"]
    thread.join()


class Raising:
    """A call that raises something a few times."""

    def __init__(self, times, error):
        self.times, self.error, self.seen = times, error, []

    def __call__(self):
        self.seen.append("begun")
        if self.times:
            self.times -= 1
            raise self.error
        self.seen.append("made")


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("is_due", [False, True])
def test_a_call_that_was_interrupted_is_made_again(times, is_due):
    """Before all others, and however often that happens."""
    callbacks, call = CompletionCallbacks(), Raising(times, KeyboardInterrupt)
    if is_due:
        with pytest.raises(KeyboardInterrupt):
            callbacks.make(1, call)
    else:
        callbacks.add(1, call)
    callbacks.add(1, lambda: call.seen.append("next"))
    for _ in range(times - is_due):
        with pytest.raises(KeyboardInterrupt):
            callbacks.sweep(1)
        assert callbacks
    callbacks.sweep(1)
    assert call.seen == ["begun"] * (times + 1) + ["made", "next"] and not callbacks


@pytest.mark.parametrize("is_due", [False, True])
def test_a_call_that_raises_an_error_is_made_once_more(is_due):
    """The error may be that of the handler of a signal; or its own, and then it always raises."""
    callbacks, once, always = (
        CompletionCallbacks(),
        Raising(1, TimeoutError),
        Raising(9, ValueError),
    )
    for call in (once, always):
        if is_due:
            with pytest.raises(call.error):
                callbacks.make(1, call)
        else:
            callbacks.add(1, call)
    callbacks.add(1, lambda: once.seen.append("next"))
    raised = 0
    while callbacks:
        try:
            callbacks.sweep(1)
        except (TimeoutError, ValueError):
            raised += 1
    assert once.seen == ["begun", "begun", "made", "next"]
    assert len(always.seen) == 2
    assert raised == (1 if is_due else 3)


def test_a_call_that_is_due_is_made_at_once():
    callbacks, call = CompletionCallbacks(), Raising(0, None)
    callbacks.make(1, call)
    assert call.seen == ["begun", "made"] and not callbacks
