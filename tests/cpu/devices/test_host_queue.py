"""Functions of the host in the order of streams."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
from tilewright.devices.host_queue import HostQueue

START = threading.Thread.start


@pytest.fixture
def queue():
    made = HostQueue("test")
    yield made
    made.close()


@pytest.mark.cpu_alone
def test_work_waits_for_a_function_and_a_function_for_work(queue):
    stream, opened, seen = tw.default_device().new_stream(), threading.Event(), []
    x = tw.zeros((100_000,)).start_on(stream)
    queue.put(stream, lambda: seen.append(x.to_numpy().sum()))
    queue.put(stream, lambda: (opened.wait(), seen.append("opened")))
    y = tw.ones((3,)).start_on(stream)
    assert not stream.idle()
    assert "in flight" in repr(y)  # the host goes on, the device waits
    opened.set()
    np.testing.assert_array_equal(y.to_numpy(), [1, 1, 1])
    assert seen == [0.0, "opened"]


@pytest.mark.cpu_alone
def test_functions_run_in_the_order_of_the_queue_and_prepare_before_the_stream(queue):
    device, seen, opened = tw.default_device(), [], threading.Event()
    streams = [device.new_stream() for _ in range(3)]
    other = HostQueue("other")
    other.put(streams[0], opened.wait)
    prepared = threading.Event()
    queue.put(streams[0], lambda: seen.append(0), prepared.set)
    queue.put(streams[1], lambda: seen.append(1))
    assert prepared.wait(5)
    assert seen == []
    opened.set()
    for stream in streams:
        stream.synchronize()
    assert seen == [0, 1]
    other.close()


@pytest.mark.cpu_alone
def test_an_abandoned_function_lets_its_stream_pass_and_ends_when_it_can(queue):
    stream, hangs, called, skipped = tw.default_device().new_stream(), threading.Event(), [], []
    begun = threading.Event()
    queue.put(stream, lambda: (begun.set(), hangs.wait(20)), skip=lambda: skipped.append(0))
    queue.put(stream, lambda: called.append(1), skip=lambda: skipped.append(1))
    thread = queue._thread
    assert begun.wait(20)
    queue.abandon()
    stream.synchronize()
    assert skipped == [0, 1]
    queue.close()  # does not wait for what hangs
    queue.put(stream, lambda: called.append(2))
    stream.synchronize()
    queue.outlast(0.01)
    assert thread.is_alive()
    hangs.set()
    queue.outlast(20)
    assert not thread.is_alive()
    assert called == [2] and skipped == [0, 1]


def test_a_stream_without_gates_runs_it_in_the_call(queue):
    seen = []
    with tw.device("reference") as reference:
        queue.put(reference.new_stream(), lambda: seen.append(1))
    assert seen == [1]


@pytest.mark.cpu_alone
def test_a_capture_refuses_functions(queue):
    stream = tw.default_device().new_stream()
    stream.begin_capture()
    with pytest.raises(tw.SchedulingError, match="a graph cannot contain"):
        queue.put(stream, list)
    stream.end_capture()


@pytest.mark.cpu_alone
def test_a_closed_queue_starts_again(queue):
    stream, seen = tw.default_device().new_stream(), []
    for number in range(3):
        queue.put(stream, lambda number=number: seen.append(number))
        queue.close()
    stream.synchronize()
    assert seen == [0, 1, 2]


@pytest.fixture
def no_threads(monkeypatch):
    """A block in which no thread can be started."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as refused:
        refused.setattr(threading.Thread, "start", refuse)
        yield refused


def test_without_a_thread_the_caller_calls_the_function(queue, no_threads):
    """It is tried again for the next one; nothing waits for a thread that never began."""
    stream, seen = tw.default_device().new_stream(), []
    x = tw.ones((3,)).start_on(stream)
    queue.put(stream, lambda: seen.append((threading.current_thread(), x.to_numpy().sum())))
    assert seen == [(threading.current_thread(), 3.0)]
    stream.synchronize()
    no_threads.undo()
    called = threading.Event()
    queue.put(stream, called.set)
    assert called.wait(20)
    stream.synchronize()
    assert queue._thread is not None


def test_a_thread_calls_a_function_behind_what_a_caller_calls(queue, no_threads):
    streams = [tw.default_device().new_stream() for _ in range(2)]
    begun, opened, seen = threading.Event(), threading.Event(), []
    caller = threading.Thread(
        target=lambda: queue.put(
            streams[0], lambda: (begun.set(), opened.wait(20), seen.append("caller"))
        )
    )
    START(caller)
    assert begun.wait(20)
    no_threads.undo()
    queue.put(streams[1], lambda: seen.append("thread"))
    assert not seen
    opened.set()
    caller.join(20)
    streams[1].synchronize()
    assert seen == ["caller", "thread"]
