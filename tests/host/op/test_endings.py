from __future__ import annotations

import asyncio
import gc

import pytest

import tilewright as tw
from op_kit import (
    Borrowing,
    Effect,
    Failing,
    FailsOnDevice,
    Give,
    HandEvent,
    HandStream,
    HostData,
)  # fmt: skip
from tilewright.base.errors import BorrowError, Error, LaunchError, SchedulingError
from tilewright.op.core import value, with_context
from tilewright.op.endings import spawn
from tilewright.op.future import DeviceFuture
from tilewright.op.nesting import THREAD
from tilewright.op.policy import SingleStream
from tilewright.op.zipping import zip


def test_sync_waits_for_the_device():
    stream = HandStream(held=True)
    op = Give(5)
    stream.record = lambda: released(stream)
    assert op.sync_on(stream) == 5
    assert not stream.held


def released(stream):
    stream.release()
    event = HandEvent(stream)
    event.passed.set()
    return event


def test_start_gives_the_value_in_flight():
    stream = HandStream(held=True)
    assert Give(5).map(str).start_on(stream) == "5"
    assert stream.held
    assert value(3).start() == 3


def test_host_data_is_not_given_in_flight(golden, places):
    op = HostData().map(str)
    with pytest.raises(Error) as caught:
        op.start()
    golden(places(caught.value))
    assert op.used_by is None


def test_host_data_that_a_function_brings_is_refused_when_it_comes():
    with pytest.raises(Error, match="the result of `HostData` is host data"):
        value(1).then(lambda _: HostData()).start()


def test_schedule_takes_the_policys_stream():
    stream, op = HandStream(), Give(1)
    assert op.schedule(SingleStream(stream)).result() == 1
    assert op.ran[0].stream is stream


@pytest.mark.parametrize("ending", ["sync_on", "start_on"])
def test_only_streams_are_streams(ending):
    with pytest.raises(SchedulingError, match=f"`{ending}` takes a stream"):
        getattr(value(1), ending)("stream")


NESTED = [
    pytest.param(lambda op: op.sync(), id="sync"),
    pytest.param(lambda op: op.start(), id="start"),
    pytest.param(lambda op: op.into_future(), id="into_future"),
    pytest.param(lambda op: spawn(op), id="spawn"),
    pytest.param(lambda op: asyncio.run(op), id="await"),
]


@pytest.mark.parametrize("run", NESTED)
def test_no_ending_inside_a_function(run):
    inner = Give(1)
    with pytest.raises(tw.DeviceError, match=r"`Give` cannot be run here: `value\.map` is being"):
        value(1).map(lambda _: run(inner)).sync()
    assert THREAD.starting is None
    assert inner.ran == []


@pytest.mark.parametrize("run", NESTED)
def test_then_unchecked_lets_its_function_run_ops(run):
    inner = Give(1)
    with tw.unsafe():
        op = value(1).then_unchecked(lambda n: value(run(inner)))
    assert op.map(lambda _: n_ran(inner)).sync()


def test_then_unchecked_is_unsafe():
    op = value(1)
    with pytest.raises(tw.DeviceError, match=r"`value\.then_unchecked` is unsafe") as caught:
        op.then_unchecked(value)
    assert "then_unchecked(value)" in str(caught.value) and "tw.unsafe()" in str(caught.value.hint)
    assert op.sync() == 1, "the op was not used by that"


def n_ran(op):
    return len(op.ran) == 1


@pytest.mark.filterwarnings("error")
def test_who_was_told_that_it_is_unsafe_is_not_warned_as_well():
    z = tw.zeros((4,)).sync()
    op = tw.fill(z, 1.0)
    with pytest.raises(tw.DeviceError, match="is unsafe"):
        op.then_unchecked(value)
    del op
    gc.collect()


def test_the_lock_holds_again_after_then_unchecked():
    with tw.unsafe():
        op = value(1).then_unchecked(value).then(lambda n: value(Give(n).sync()))
    with pytest.raises(Error, match="may only build ops"):
        op.sync()


def test_a_refused_function_of_then_unchecked_leaves_the_lock_in_order():
    with pytest.raises(ValueError, match="no"), tw.unsafe():
        value(1).then_unchecked(lambda n: Failing().sync()).sync()
    assert THREAD.starting is None


def test_closing_an_op_that_was_used_changes_nothing():
    op = value(1)
    op.sync()
    op.close()
    assert op.used_by == "sync()"


# Spawning


def test_spawn_starts_and_gives_the_future():
    future = spawn(Give(4))
    assert isinstance(future, DeviceFuture)
    assert future.result() == 4


@pytest.mark.parametrize("build", [Borrowing, lambda: value(1).then(lambda _: Borrowing())])
def test_spawn_refuses_borrows(build):
    op = build()
    with pytest.raises(
        BorrowError, match=r"cannot be spawned: it borrows `x`, and a spawned op must own"
    ):
        spawn(op).result()


def test_spawn_refuses_a_borrow_inside_before_anything_starts(golden, places):
    first = Give(1)
    op = zip(first, Borrowing()).map(lambda *_: None)
    with pytest.raises(BorrowError) as caught:
        spawn(op)
    golden(places(caught.value))
    assert first.ran == []


def test_a_spawned_op_that_was_refused_does_not_warn(recwarn):
    class Writing(Borrowing):
        effect = True

    with pytest.raises(BorrowError):
        spawn(Writing())
    assert not recwarn.list


def test_with_context_sees_the_stream():
    stream = HandStream()
    assert with_context(lambda ctx: value(ctx.stream)).sync_on(stream) is stream


def test_errors_of_the_device_reach_the_ending():
    for run in (
        lambda op: op.sync_on(HandStream()),
        lambda op: op.schedule(SingleStream(HandStream())).result(),
    ):
        with pytest.raises(LaunchError, match="check failed"):
            run(FailsOnDevice().map(str))


def test_an_unused_op_warns_and_says_await():
    ops = [Effect()]
    with pytest.warns(RuntimeWarning, match=r"was never run; add \.sync\(\) or await it"):
        ops.clear()
