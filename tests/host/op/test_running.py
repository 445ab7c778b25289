from __future__ import annotations

import weakref

import pytest

import tilewright as tw
from op_kit import Failing, Give, HandEvent, HandStream, HostData, capturing
from tilewright.base.errors import Error
from tilewright.op.context import ExecutionContext
from tilewright.op.core import value
from tilewright.op.nesting import THREAD
from tilewright.op.running import ELSEWHERE, Progress, run_here
from tilewright.op.zipping import zip


def test_a_chain_may_be_as_long_as_memory_allows():
    op = value(0)
    for _ in range(10_000):
        op = op.then(lambda n: value(n + 1))
    assert op.map(lambda n: n + 1).sync() == 10_001


def test_an_op_may_give_the_next_one_ten_thousand_times():
    def step(n):
        return value(n + 1).then(step) if n < 10_000 else value(n)

    assert value(0).then(step).sync() == 10_000


def test_long_chains_of_shared_ops():
    op = value(0).shared()
    for _ in range(2_000):
        op = op.map(lambda n: n + 1).shared()
    assert op.sync() == 2_000


def test_the_names_of_long_chains_stay_short():
    op = value(0)
    for _ in range(1000):
        op = op.map(str)
    assert op.name.startswith("value. … .map")
    assert len(op.name) < 80


def test_an_error_names_the_ops_next_to_it():
    op = Failing()
    for _ in range(100):
        op = op.map(str)
    with pytest.raises(ValueError, match="no") as caught:
        op.sync()
    assert len(caught.value.__notes__) == 8
    assert caught.value.__notes__[0].startswith("while running `Failing`, built at")


@pytest.mark.parametrize("method", ["map", "inspect", "then", "then_unchecked"])
def test_a_function_that_stops_an_iteration_has_failed(method):
    def stop(n):
        raise StopIteration(n)

    with pytest.raises(StopIteration) as caught, tw.unsafe():
        getattr(value(7), method)(stop).map(str).sync()
    assert len(caught.value.__notes__) == 2
    with pytest.raises((StopIteration, RuntimeError)), tw.unsafe():
        zip(getattr(value(7), method)(stop), value(8)).sync()


def test_an_op_lets_go_of_its_function_once_it_has_run():
    class Thing:
        def __call__(self, n):
            return n

    def gone(build):
        thing = Thing()
        op, known = build(thing), weakref.ref(thing)
        assert op.sync() == 7
        del thing
        return known() is None

    assert gone(lambda thing: value(7).map(thing))
    assert gone(lambda thing: value(7).inspect(thing))
    assert gone(lambda thing: value(7).then(lambda n: value(thing(n))))


@pytest.mark.parametrize("then", ["then", "then_unchecked"])
def test_a_chain_keeps_no_result_that_it_has_passed_on(then):
    class Thing:
        pass

    class Look(Give):
        def execute(self, ctx):
            return made[0]() is None

    made = []

    def make():
        thing = Thing()
        made.append(weakref.ref(thing))
        return thing

    with tw.unsafe():
        op = getattr(value(()).map(make), then)(lambda thing: Look())
    assert op.then(lambda gone: value(gone)).sync()


def test_progress_stops_at_events_and_frees_the_thread():
    event = HandEvent()
    progress = Progress(HostData(event).map(str.upper), ExecutionContext(HandStream()))
    assert progress.advance() is event
    assert THREAD.starting is None
    event.passed.set()
    assert progress.advance() is None
    assert progress.result == "DATA"


def test_an_abandoned_chain_closes_its_steps():
    closed = []

    class Careful(HostData):
        def steps(self, ctx):
            try:
                yield self.event
            finally:
                closed.append(True)

    progress = Progress(Careful().map(str), ExecutionContext(HandStream()))
    progress.advance()
    progress.abandon()
    assert closed == [True]


def test_a_graph_cannot_wait_for_host_data():
    with pytest.raises(
        Error, match=r"the result of `HostData\.map` is host data, which a graph cannot"
    ):
        run_here(HostData().map(str), capturing(HandStream()))


def test_a_lengthy_op_is_left_to_another_thread_when_a_loop_waits():
    op = Give(7)
    op.is_lengthy = lambda: True
    ctx = ExecutionContext(HandStream())
    ctx.on_loop = True
    progress = Progress(op.map(str), ctx)
    assert progress.advance() is ELSEWHERE
    assert op.ran == []
    assert progress.advance() is None
    assert progress.result == "7"


def test_an_interrupt_leaves_the_thread_free():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        value(1).map(interrupt).sync()
    assert THREAD.starting is None
    assert value(1).sync() == 1


def test_an_interrupt_while_waiting_leaves_the_thread_free():
    class Interrupted(HandEvent):
        def wait(self, timeout=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HostData(Interrupted()).map(str).sync()
    assert value(1).sync() == 1
