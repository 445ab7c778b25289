from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import op_kit
from op_kit import (
    WATCHDOG,
    Failing,
    FailsOnDevice,
    Give,
    HandEvent,
    HandStream,
    HostData,
    in_threads,
)  # fmt: skip
from tilewright.base.errors import BorrowError, Error, LaunchError
from tilewright.op.context import ExecutionContext
from tilewright.op.core import DeviceOp, value
from tilewright.op.future import DeviceFuture
from tilewright.op.policy import SingleStream

NAME = contextvars.ContextVar("name", default="nobody")


def started(op, stream):
    return op.schedule(SingleStream(stream))


@pytest.fixture
def unraisable(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


def test_it_starts_now_and_is_done_when_the_device_is():
    stream, op = HandStream(held=True), Give(5)
    future = started(op, stream)
    assert len(op.ran) == 1
    assert not future.done()
    assert future.running()
    assert "running" in repr(future)
    stream.release()
    assert future.done()
    assert future.result() == 5
    assert future.exception() is None
    assert "done" in repr(future)


def test_a_result_may_be_asked_for_any_number_of_times_from_any_thread():
    stream = HandStream(held=True)
    future = started(Give([1]), stream)
    threading.Timer(0, stream.release).start()
    results = in_threads(future.result)
    assert all(result is results[0] for result in results)


def test_waiting_has_a_limit():
    stream = HandStream(held=True)
    future = started(Give(5), stream)
    with pytest.raises(TimeoutError, match="`Give` is not done after 0"):
        future.result(0)
    with pytest.raises(TimeoutError):
        future.exception(0)
    stream.release()
    assert future.result(0) == 5


def test_what_was_started_is_not_cancelled():
    future = started(Give(5), HandStream(held=True))
    assert future.cancel() is False
    assert future.cancelled() is False


@pytest.mark.parametrize(
    ("op", "error"), [(Failing, ValueError), (FailsOnDevice, LaunchError)], ids=["start", "device"]
)
def test_errors_come_out_of_the_future(op, error):
    future = started(op(), HandStream())
    assert isinstance(future.exception(), error)
    with pytest.raises(error):
        future.result()
    assert "failed" in repr(future)


def test_an_error_nobody_looked_at_is_reported_once(unraisable):
    future = started(Failing(), HandStream())
    assert future.done()
    del future
    gc.collect()
    (report,) = unraisable
    assert (
        report.exc_value.__notes__[-1]
        == "the exception of the future of `Failing` was never retrieved"
    )


@pytest.mark.parametrize("look", [DeviceFuture.result, DeviceFuture.exception])
def test_an_error_that_was_looked_at_is_not_reported(look, unraisable):
    future = started(Failing(), HandStream())
    with contextlib.suppress(ValueError):
        look(future)
    del future
    gc.collect()
    assert unraisable == []


def test_callbacks_are_called_once_with_the_future():
    stream, seen, called = HandStream(held=True), [], threading.Event()
    future = started(Give(5), stream)
    future.add_done_callback(seen.append)
    future.add_done_callback(lambda _: called.set())
    assert seen == []
    stream.release()
    assert called.wait(WATCHDOG)
    future.add_done_callback(seen.append)
    assert seen == [future, future]


def test_a_callback_that_fails_harms_nobody(unraisable):
    stream, called = HandStream(held=True), threading.Event()
    future = started(Give(5), stream)
    future.add_done_callback(lambda _: 1 / 0)
    future.add_done_callback(lambda _: called.set())
    stream.release()
    assert called.wait(WATCHDOG)
    assert future.result() == 5
    assert [report.exc_type for report in unraisable] == [ZeroDivisionError]


# Host data


def test_functions_after_host_data_run_when_it_is_there_on_a_thread_of_ours():
    source, threads = HostData(), []
    future = source.map(lambda data: (threads.append(threading.current_thread()), data)[1])
    future = started(future, HandStream())
    assert threads == []
    assert not future.done()
    source.event.passed.set()
    assert future.result(WATCHDOG) == "data"
    assert threads[0] is not threading.current_thread()
    assert threads[0].name.startswith("tilewright-continues")


def test_they_see_the_context_variables_of_who_started_them():
    source, seen = HostData(), []
    token = NAME.set("me")
    future = started(source.map(lambda _: seen.append(NAME.get())), HandStream())
    NAME.reset(token)
    source.event.passed.set()
    future.result(WATCHDOG)
    assert seen == ["me"]
    assert NAME.get() == "nobody"


def test_data_that_is_there_needs_no_other_thread():
    event = HandEvent()
    event.passed.set()
    future = HostData(event).map(lambda _: threading.current_thread()).into_future()
    assert future.result() is threading.current_thread()


def test_work_after_host_data_is_waited_for():
    source, stream = HostData(), HandStream()
    future = started(source.then(lambda _: Give(3)), stream)
    stream.hold()
    source.event.passed.set()
    called = threading.Event()
    future.add_done_callback(lambda _: called.set())
    with pytest.raises(TimeoutError):
        future.result(0.01)
    stream.release()
    assert future.result(WATCHDOG) == 3
    assert called.wait(WATCHDOG)


def test_an_error_after_host_data():
    source = HostData()
    future = started(source.map(lambda _: 1 / 0), HandStream())
    source.event.passed.set()
    with pytest.raises(ZeroDivisionError):
        future.result(WATCHDOG)


def test_a_dropped_future_goes_on():
    source, ran = HostData(), threading.Event()
    started(source.map(lambda _: ran.set()), HandStream())
    gc.collect()
    source.event.passed.set()
    assert ran.wait(WATCHDOG)


def test_functions_may_not_wait_for_futures(golden):
    other = started(Give(1), HandStream(held=True))
    with pytest.raises(Error) as caught:
        value(1).map(lambda _: other.result()).sync()
    golden(str(caught.value))


def test_functions_may_take_results_that_are_there():
    other = started(Give(4), HandStream())
    assert value(1).map(lambda n: n + other.result()).sync() == 5


def test_many_suspended_futures_finish():
    events = [HandEvent() for _ in range(200)]
    futures = [HostData(event, i).map(lambda n: n + 1).into_future() for i, event in
               enumerate(events)]  # fmt: skip
    for event in reversed(events):
        event.passed.set()
    assert [future.result(WATCHDOG) for future in futures] == list(range(1, 201))


# The seeds' words


def test_scheduled_and_failed():
    class Own(DeviceOp):
        """Writes its own ending, as the seeds show."""

        def execute(self, ctx):
            return "ran"

        def my_ending(self, policy):
            try:
                return DeviceFuture.scheduled(self, ExecutionContext(policy.next_stream()))
            except AttributeError as error:
                return DeviceFuture.failed(error)

    assert Own().my_ending(SingleStream(HandStream())).result() == "ran"
    with pytest.raises(AttributeError):
        Own().my_ending(None).result()
    op = Own()
    DeviceFuture.scheduled(op, ExecutionContext(HandStream()))
    with pytest.raises(BorrowError, match=r"already used by `into_future\(\)`"):
        op.sync()


def test_a_future_is_awaited_any_number_of_times_from_any_loop():
    stream = HandStream(held=True)
    future = started(Give([5]), stream)

    async def thrice():
        threading.Timer(0, stream.release).start()
        return [await future, *await asyncio.gather(future, future)]

    first = asyncio.run(thrice())
    assert asyncio.run(thrice()) == first == [[5]] * 3


@pytest.mark.cpu_alone
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_process_has_a_reactor_of_its_own():
    source = HostData()
    parents = started(source.map(str), HandStream())  # the parent's threads run now
    child = os.fork()
    if child == 0:
        code = 1
        try:
            event = HandEvent()
            future = HostData(event).map(str.upper).into_future()
            event.passed.set()
            code = 0 if future.result(WATCHDOG) == "DATA" else 2
            try:
                parents.result()
            except Error:
                code = code or 0
            else:
                code = 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    source.event.passed.set()
    assert parents.result(WATCHDOG) == "data"


EXITS = """
import sys, tilewright as tw
sys.path.insert(0, sys.argv[1])
from op_kit import HandStream, HostData
source = HostData()
suspended = source.map(print).into_future()     # waits for an event that never comes
suspended.add_done_callback(print)
in_flight = tw.value(1).schedule(tw.SingleStream(HandStream(held=True)))
in_flight.add_done_callback(print)
never_run = tw.fill(tw.zeros((3,)).sync(), 1)   # no warning while Python shuts down
if len(sys.argv) > 2:
    source.event.passed.set()
    suspended.result()
"""


@pytest.mark.parametrize("late", [[], ["finish"]], ids=["pending", "finished"])
def test_python_exits_with_work_pending(late):
    command = [sys.executable, "-c", EXITS, str(Path(op_kit.__file__).parent), *late]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class LostEvent(HandEvent):
    """A point of a device that is lost once the test says so."""

    lost = False

    def done(self):
        if self.lost:
            raise Error("the device was lost")
        return False


def test_a_lost_device_is_an_error_not_a_result():
    event, ran = LostEvent(), []
    future = started(HostData(event, 5).map(ran.append), HandStream())
    event.lost = True
    with pytest.raises(Error, match="the device was lost"):
        future.result(WATCHDOG)
    assert ran == []
