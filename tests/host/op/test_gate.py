from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import tilewright as tw
from op_kit import (
    WATCHDOG,
    Effect,
    Failing,
    FailsOnDevice,
    Give,
    HandEvent,
    HandStream,
    HostData,
    capturing,
    in_threads,
)  # fmt: skip
from tilewright.base.errors import BorrowError, Error, LaunchError
from tilewright.op.core import DeviceOp, shared, value
from tilewright.op.policy import SingleStream
from tilewright.op.running import run_here
from tilewright.op.zipping import zip


class Slow(Give):
    """Holds up who starts it until the test lets it go."""

    def __init__(self, value):
        super().__init__(value)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def execute(self, ctx):
        self.begun.set()
        assert self.may_end.wait(WATCHDOG)
        return super().execute(ctx)


ENDINGS = [
    pytest.param(lambda op: op.sync(), id="sync"),
    pytest.param(lambda op: op.into_future().result(WATCHDOG), id="future"),
    pytest.param(lambda op: op.start(), id="start"),
]


@pytest.mark.parametrize("end", ENDINGS)
def test_a_shared_op_runs_once_for_sixteen_threads(end):
    source = Slow([1])
    op = source.shared()
    threading.Timer(0.01, source.may_end.set).start()
    results = in_threads(lambda: end(op))
    assert len(source.ran) == 1
    assert all(result is source.value for result in results)


@pytest.mark.parametrize("end", ENDINGS)
def test_halves_run_their_source_once_for_sixteen_threads(end):
    source = Slow(tuple(range(16)))
    halves = list(source.unzip(16))
    threading.Timer(0.01, source.may_end.set).start()
    results = in_threads(lambda: end(halves.pop()))
    assert len(source.ran) == 1
    assert sorted(results) == list(range(16))


@pytest.mark.parametrize("end", ENDINGS)
def test_a_failure_reaches_every_clone(end):
    op = Failing().shared()
    errors = in_threads(lambda: end(op.clone()))
    assert isinstance(errors[0], ValueError)
    assert all(error is errors[0] for error in errors)


def test_a_failure_of_the_device_reaches_every_clone():
    op, errors = FailsOnDevice().shared(), []
    for stream in (HandStream(number=1), HandStream(number=2)):
        with pytest.raises(LaunchError, match="check failed") as caught:
            op.sync_on(stream)
        errors.append(caught.value)
    assert errors[0] is errors[1]


def test_users_on_other_streams_are_ordered_behind_the_run():
    one, two = HandStream(number=1, held=True), HandStream(number=2)
    op = Give(1).shared()
    assert op.start_on(one) == op.start_on(one) == op.start_on(two) == 1
    assert two.log == [("wait_for", one.events[0])]
    assert one.log == []


def test_a_suspended_source_is_waited_for_by_all():
    source = HostData(data=5)
    op = source.shared()
    futures = [op.map(lambda n, i=i: n + i).into_future() for i in range(4)]
    assert not any(future.done() for future in futures)
    source.event.passed.set()
    assert [future.result(WATCHDOG) for future in futures] == [5, 6, 7, 8]


def test_an_interrupted_source_says_so_to_the_others():
    class Interrupted(HandEvent):
        def wait(self, timeout=None):
            raise KeyboardInterrupt

    op = HostData(Interrupted()).shared()
    with pytest.raises(KeyboardInterrupt):
        op.sync()
    with pytest.raises(Error, match="`HostData` was interrupted while it was being started"):
        op.sync()


def test_an_op_that_needs_itself():
    holder = []
    op = value(1).then(lambda _: holder[0]).shared()
    holder.append(op)
    with pytest.raises(Error, match=r"`value\.then` depends on its own result"):
        op.sync()


def test_what_ran_in_a_capture_belongs_to_the_graph():
    op = Give(1).shared()
    assert run_here(op, capturing(HandStream())) == 1
    with pytest.raises(BorrowError, match="ran while a graph was captured"):
        op.start_on(HandStream())


def test_what_runs_when_a_capture_comes_is_waited_for_outside():
    op, one, two = Give(1).shared(), HandStream(held=True), HandStream(number=2)
    op.start_on(one)
    threading.Timer(0, one.release).start()
    assert run_here(op, capturing(two)) == 1
    assert two.log == []


def test_a_value_that_is_there_is_shared():
    op = shared([1])
    assert op.sync() is op.clone().sync()


def test_shared_tensors_are_arcs_and_each_user_an_owner():
    op = tw.ones((3,)).shared()
    first, second = op.sync(), op.sync()
    assert isinstance(first, tw.Arc)
    assert first is not second
    assert np.array_equal(first.value.to_numpy(), np.ones(3, np.float32))
    with pytest.raises(BorrowError, match=r"unwrap_arc\(\) needs the only owner"):
        value(first).unwrap_arc().sync()
    del op, second
    gc.collect()
    assert isinstance(value(first).unwrap_arc().sync(), tw.Tensor)


def test_tensors_in_a_shared_tuple_are_arcs():
    arc, number = zip(tw.ones((3,)), 5).shared().sync()
    assert isinstance(arc, tw.Arc)
    assert number == 5


@pytest.mark.parametrize(
    "build",
    [
        lambda x: zip(x, tw.ones((3,))).map(lambda x, _: x),
        lambda x: zip(value(x), 5),
        lambda x: value(1).then(lambda _: value(x)),
        lambda x: tw.fill(x, 2.0),
        lambda x: zip(x.copy_from(np.ones(3, np.float32)), 1),
    ],
    ids=["zip", "value", "then", "fill", "copy_from"],
)
def test_what_was_lent_to_a_shared_op_stays_with_its_owner(build):
    x = tw.zeros((3,)).sync()
    result = build(x).shared().sync()
    assert x is (result[0] if type(result) is tuple else result)
    assert x.to_numpy().shape == (3,)
    tw.fill(x, 1.0).sync()


# unzip


def test_unzip_of_a_zip_and_of_a_stated_number():
    a, b = zip(Give(1), 2).unzip()
    assert (b.sync(), a.sync()) == (2, 1)
    a, b = value((1, 2)).map(lambda a, b: (b, a)).unzip(2)
    assert (a.sync(), b.sync()) == (2, 1)
    (only,) = value((1,)).unzip(1)
    assert only.sync() == 1
    assert zip(1, 2).inspect(lambda a, b: None).unzip()[1].sync() == 2


def test_each_half_is_used_once():
    half, _ = zip(1, 2).unzip()
    half.sync()
    with pytest.raises(BorrowError, match="already used"):
        half.sync()


@pytest.mark.parametrize(
    ("op", "count", "message"),
    [
        (lambda: Give((1, 2)), None, "the number of results of `Give` is unknown before it runs"),
        (lambda: zip(1, 2), 3, "`zip` has 2 results, not 3"),
    ],
)
def test_numbers_that_cannot_be(op, count, message):
    op = op()
    with pytest.raises(TypeError, match=message):
        op.unzip(count)
    assert op.used_by is None


@pytest.mark.parametrize(("result", "got"), [((1, 2, 3), "3 results"), ([1, 2], "list")])
def test_numbers_that_turn_out_wrong(result, got):
    half, _ = Give(result).unzip(2)
    with pytest.raises(TypeError, match=rf"unzip\(2\) needs a tuple of 2 results, got {got}"):
        half.sync()


def test_halves_can_be_zipped_again():
    a, b = zip(1, 2).unzip()
    assert zip(b, a).sync() == (2, 1)


# Warnings


@pytest.mark.parametrize(
    "make", [lambda: Effect().shared(), lambda: Effect((1, 2)).unzip(2)], ids=["shared", "unzip"]
)
def test_what_is_behind_a_gate_warns_once_if_nobody_wants_it(make):
    ops = [make()]
    with pytest.warns(RuntimeWarning, match="`Effect` built at .* was never run") as caught:
        ops.clear()
    assert len(caught) == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda: Effect().shared().sync(),
        lambda: Effect().shared().close(),
        lambda: Effect((1, 2)).unzip(2)[0].sync(),
        lambda: [half.close() for half in Effect((1, 2)).unzip(2)],
    ],
)
def test_what_is_wanted_does_not_warn(use, recwarn):
    use()
    gc.collect()
    assert not recwarn.list


def test_a_shared_op_that_is_run_on_a_stream_of_its_policy():
    class Where(DeviceOp):
        def execute(self, ctx):
            return ctx.stream

    stream = HandStream()
    assert Where().shared().schedule(SingleStream(stream)).result() is stream
