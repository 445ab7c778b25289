"""Calls that fall due: in order, once, one thread at a time, complete when a sweep returns."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from tilewright.driver.dues import Dues


def test_calls_are_made_in_order_when_due():
    dues, seen = Dues(), []
    for number in (1, 1, 2, 5):
        dues.add(number, lambda number=number: seen.append(number))
    dues.sweep(0)
    assert seen == [] and dues
    dues.sweep(2)
    assert seen == [1, 1, 2] and dues
    dues.sweep(9)
    assert seen == [1, 1, 2, 5] and not dues


def test_objects_are_kept_until_then():
    class Thing:
        pass

    dues, thing = Dues(), Thing()
    alive = weakref.ref(thing)
    dues.add(1, None, thing)
    del thing
    gc.collect()
    assert alive() is not None
    dues.sweep(1)
    gc.collect()
    assert alive() is None


def test_a_sweep_inside_a_call_does_nothing():
    dues, seen = Dues(), []

    def call():
        seen.append("in")
        dues.sweep(1)
        seen.append("out")

    dues.add(1, call)
    dues.add(1, lambda: seen.append("next"))
    dues.sweep(1)
    assert seen == ["in", "out", "next"]


def test_a_sweep_waits_for_the_calls_of_another_thread():
    dues, seen = Dues(), []
    begun, go = threading.Event(), threading.Event()

    def call():
        begun.set()
        assert go.wait(60.0)
        seen.append("called")

    dues.add(1, call)
    thread = threading.Thread(target=dues.sweep, args=(1,))
    thread.start()
    assert begun.wait(60.0)
    threading.Timer(0.02, go.set).start()
    dues.sweep(1)
    assert seen == ["called"]
    thread.join()


def test_a_call_that_raises_is_not_made_again():
    dues, seen = Dues(), []

    def fail():
        raise KeyboardInterrupt

    dues.add(1, fail)
    dues.add(1, lambda: seen.append("next"))
    with pytest.raises(KeyboardInterrupt):
        dues.sweep(1)
    dues.sweep(1)
    assert seen == ["next"] and not dues
