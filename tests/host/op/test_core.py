from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings

import numpy as np
import pytest

from op_kit import Borrowing, HostData
from tilewright.base.errors import BorrowError, Error
from tilewright.devices.host import CPU, REFERENCE
from tilewright.op.context import ExecutionContext
from tilewright.op.core import Composite, DeviceOp, value
from tilewright.op.endings import spawn
from tilewright.op.running import Steps


class Double(DeviceOp[int]):
    """What a user writes: only `execute`."""

    def __init__(self, n):
        self.n = n

    def execute(self, ctx):
        return 2 * self.n


class Effect(Double):
    effect = True


class Failing(DeviceOp[int]):
    def execute(self, ctx):
        raise ValueError("no")


def test_execute_is_all_a_subclass_needs():
    assert Double(4).sync() == 8
    assert Double(4).sync_on(REFERENCE.streams()[0]) == 8


def test_execute_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        DeviceOp()


def test_nothing_runs_before_the_ending():
    ran = []
    op = value(1).map(lambda n: ran.append(n))
    assert ran == []
    op.sync()
    assert ran == [1]


def test_then_runs_the_op_its_function_returns():
    assert Double(1).then(Double).then(Double).sync() == 8


def test_tuples_arrive_as_separate_arguments_and_extras_after_them():
    assert value((1, 2)).map(lambda a, b: a + 10 * b).sync() == 21
    assert value((1, 2)).map(lambda a, b, c: (a, b, c), 3).sync() == (1, 2, 3)
    assert value(1).then(lambda a, b: value(a + b), 5).sync() == 6
    assert value([1, 2]).map(lambda items: items).sync() == [1, 2]
    assert value(()).map(lambda: "none").sync() == "none"


def test_first():
    assert value((7, 8, 9)).first().sync() == 7


def test_a_chain_runs_on_one_context():
    seen = []

    class Look(DeviceOp[int]):
        def execute(self, ctx):
            seen.append(ctx.stream)
            return 0

    Look().then(lambda _: Look()).sync_on(REFERENCE.streams()[0])
    assert seen == [REFERENCE.streams()[0]] * 2
    assert ExecutionContext(CPU.streams()[0]).device is CPU


def test_then_wants_an_op():
    with pytest.raises(TypeError, match="must return a DeviceOp, got int; use `map`"):
        value(1).then(lambda n: n).sync()


def test_combinators_want_functions():
    op = value(1)
    with pytest.raises(TypeError, match="`map` takes a function, got int"):
        op.map(3)
    assert op.sync() == 1  # refused, so not used up


def test_an_op_is_used_once(golden, places):
    op = Double(1)
    op.sync()
    with pytest.raises(BorrowError) as caught:
        op.sync()
    golden(places(caught.value))


def test_composing_is_a_use():
    op = Double(1)
    longer = op.map(str)
    with pytest.raises(BorrowError, match=r"already used by `Double\.map`"):
        op.sync()
    assert longer.sync() == "2"


def test_one_of_many_threads_gets_to_use_an_op():
    op, wins, losses = Double(1), [], []

    def attempt():
        try:
            wins.append(op.sync())
        except BorrowError as error:
            losses.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wins == [2]
    assert len(losses) == 15


def test_running_inside_a_function_is_refused(golden):
    with pytest.raises(Error) as caught:
        Double(1).map(lambda n: Double(n).sync()).sync()
    golden(str(caught.value))


def test_a_refused_nested_run_leaves_the_op_usable_and_the_thread_free():
    inner = Double(3)
    with pytest.raises(Error):
        value(1).map(lambda n: inner.sync()).sync()
    assert inner.sync() == 6


def test_errors_carry_the_chain():
    with pytest.raises(ValueError, match="no") as caught:
        value(1).then(lambda n: Failing()).map(str).sync()
    notes = caught.value.__notes__
    assert [note.split(",")[0] for note in notes] == [
        "while running `Failing`",
        "while running `value.then`",
        "while running `value.then.map`",
    ]
    assert all("test_core.py" in note for note in notes)


def test_wrong_arity(golden):
    with pytest.raises(TypeError) as caught:
        value((1, "b")).then(lambda only: value(only)).sync()
    golden(str(caught.value))


def test_an_unused_op_with_an_effect_warns():
    ops = [Effect(1)]
    with pytest.warns(RuntimeWarning, match=r"DeviceOp `Effect` built at .*test_core.py:\d+: ops"):
        ops.clear()


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: Double(1), id="no-effect"),
        pytest.param(lambda: Effect(1).close(), id="closed"),
        pytest.param(lambda: Effect(1).sync(), id="run"),
    ],
)
def test_other_ops_do_not_warn(build):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build()
        gc.collect()


def test_an_effect_is_inherited_through_map_and_assumed_of_then():
    for op in (Effect(1).map(str), value(1).then(Double)):
        assert op.effect
        op.close()
    assert not value(1).map(str).effect


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("unpack", lambda op: (lambda a, b: None)(*op)),
        ("shape", lambda op: op.shape),
        ("other", lambda op: op.keys),
        ("index", lambda op: op[0]),
        ("truth", lambda op: bool(op)),
        ("length", lambda op: len(op)),
        ("number", lambda op: float(op)),
        ("asarray", lambda op: np.asarray(op)),
        ("add", lambda op: op + 1),
        ("radd", lambda op: np.ones(2) + op),
        ("less", lambda op: op < 1),
    ],
)
def test_slips(name, use, golden, without_places):
    with pytest.raises((TypeError, AttributeError)) as caught:
        use(Double(1))
    golden(without_places(f"{type(caught.value).__name__}: {caught.value}"), f"slip-{name}")


def test_ops_cannot_be_copied():
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            act(Double(1))


def test_repr_says_whether_it_ran():
    op = Double(1)
    assert "not run" in repr(op)
    op.sync()
    assert "used by sync()" in repr(op)


class Event:
    def __init__(self):
        self.waited = False

    def done(self):
        return self.waited

    def wait(self):
        # The thread must be free to run other ops while a chain is suspended.
        assert Double(1).sync() == 2
        self.waited = True


class Waiting(Composite[str]):
    def __init__(self, event):
        self.event = event

    def steps(self, ctx) -> Steps[str]:
        yield self.event
        return "arrived" if self.event.waited else "too early"


def test_a_function_after_a_wait_runs_when_the_event_is_done():
    assert Waiting(Event()).map(str.upper).sync() == "ARRIVED"


def test_composites_can_be_executed_by_other_ops():
    assert Waiting(Event()).execute(ExecutionContext(CPU.streams()[0])) == "arrived"


# Ops that run others


class Twice(DeviceOp[int]):
    """Runs two ops of a kind."""

    def __init__(self, make):
        self.make = make

    def execute(self, ctx):
        return ctx.run(self.make()) + ctx.run(self.make().map(lambda n: n + 1))


def test_an_op_runs_others_in_its_context():
    seen = []

    class Where(DeviceOp[int]):
        def execute(self, ctx):
            seen.append(ctx.stream)
            return 5

    stream = REFERENCE.new_stream()
    assert Twice(Where).sync_on(stream) == 11
    assert seen == [stream, stream]


def test_what_an_op_runs_is_used():
    op = Double(3)
    assert Twice(lambda: value(1)).sync() == 3

    class Again(DeviceOp[int]):
        def execute(self, ctx):
            return ctx.run(op)

    assert Again().sync() == 6
    with pytest.raises(BorrowError, match=r"already used by `ctx\.run`"):
        Again().sync()
    with pytest.raises(TypeError, match=r"`ctx\.run` takes a DeviceOp, got int"):
        Twice(lambda: 3).sync()


def test_what_a_started_op_runs_gives_no_host_data_either():
    with pytest.raises(Error, match="is host data, which cannot be in flight"):
        Twice(HostData).start()


def test_what_a_spawned_op_runs_must_not_borrow():
    with pytest.raises(BorrowError, match="`Borrowing` cannot be spawned"):
        spawn(Twice(Borrowing)).result()
