"""Launches some of whose arguments are ops: how they are driven, and what comes back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import python_calls
from support.leaks import assert_none_left
from tilewright import _core, f32
from tilewright.devices.host import CPU
from tilewright.launch.operation import Outputs
from tilewright.op.context import ExecutionContext
from tilewright.tensors.create import Allocate

pytestmark = pytest.mark.cpu_alone

SIZE = 16


@tw.entry
def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], by: f32) -> None:
    z.store(tl.load_tile_like(x, z) * by)


@pytest.fixture
def x() -> tw.Tensor[f32]:
    with tw.device("cpu"):
        return tw.asarray(np.arange(SIZE, dtype=np.float32))


def fresh() -> tw.DeviceOp[tw.Partition[f32]]:
    return tw.empty((SIZE,), device="cpu").partition((SIZE,))


def test_ops_may_stand_for_any_argument(x):
    for z, y, by in [
        (fresh(), x, 2.0), (fresh(), tw.value(x), 2.0), (fresh(), x, tw.value(2.0)),
        (fresh().sync(), x, tw.value(2.0)), (fresh(), x.dup(), tw.value(2.0)),
    ]:  # fmt: skip
        found = scale(z, y, by).out().sync()
        assert np.array_equal(found.to_numpy(), 2 * np.arange(SIZE))


def test_such_a_launch_knows_what_it_waits_for(x):
    z = fresh()
    op: Any = double(z, x)
    assert op.made_of == (z,) and op.staged and not op.host_data
    assert op.name == "double" and op.home is CPU
    assert z.used_by == "double"
    with pytest.raises(tw.BorrowError, match="already used by `double`"):
        double(z, x)
    op.sync()
    assert op.home is None and not op.staged


def test_what_is_refused_gives_all_back(x):
    z, used = tw.zeros((SIZE,), device="cpu").sync(), tw.value(x)
    used.sync()
    with pytest.raises(tw.BorrowError, match="already used"):
        double(z.partition((SIZE,)), used)
    assert z.moved is None


def test_an_argument_that_fails_gives_the_others_back(x):
    def fail(_: Any) -> Any:
        raise ValueError("no")

    z = tw.zeros((SIZE,), device="cpu").sync()
    with pytest.raises(ValueError, match="no") as caught:
        double(z.partition((SIZE,)), tw.value(x).map(fail)).sync()
    assert [note.split("`")[1] for note in caught.value.__notes__] == ["value.map", "double"]
    assert z.moved is None
    double(z.partition_mut((SIZE,)), x).sync()


def test_steps_are_those_of_a_generator(x):
    z, ctx = tw.zeros((SIZE,), device="cpu").sync(), ExecutionContext(CPU.new_stream(), waits=True)
    for end in ("close", "throw"):
        op: Any = double(z.partition((SIZE,)), tw.value(x))
        op.claim("this test")
        steps = op.steps(ctx)
        with pytest.raises(TypeError):
            steps.throw(3)
        steps = op.steps(ctx)
        if end == "close":
            steps.close()
        else:
            with pytest.raises(ValueError, match="no"):
                steps.throw(ValueError("no"))
        op.give_back()
        assert z.moved is None
    with pytest.raises(TypeError, match="ExecutionContext"):
        op.steps(None)
    with pytest.raises(TypeError):
        type(steps)()


def test_what_was_never_initialized_is_refused():
    entry: Any = double
    blank: Any = object.__new__(entry.launches)
    for use in (
        lambda: blank.name, lambda: blank.home, lambda: blank.made_of, blank.sync, blank._defer,
        lambda: blank.map(str), blank.is_lengthy,
    ):  # fmt: skip
        with pytest.raises(AttributeError, match="no attribute"):
            use()


def test_nothing_is_left_behind(x):
    stream = CPU.new_stream()
    watched = [x, x.plain, stream, double, None, True, False, ()]

    def run() -> None:
        double(fresh(), x).out().sync_on(stream)
        with pytest.raises(tw.BorrowError):
            double(stale, x)

    stale = fresh()
    stale.sync()
    assert_none_left(run, watched, 50)


def chain(x: tw.Tensor[f32]) -> tw.DeviceOp[tw.Tensor[f32]]:
    return double(tw.empty_like(x).partition(SIZE), x).out()


def test_a_chain_runs_no_python_but_the_methods_that_were_written(x):
    for _ in range(2):
        found = chain(x).sync()
        calls = python_calls(chain(x).sync)
    assert np.array_equal(found.to_numpy(), 2 * np.arange(SIZE))
    assert calls == ["Tensor.partition"]


def test_what_the_core_has_borrowed_is_checked_when_the_others_have_run(x):
    op: Any = double(fresh(), x)
    (pledge,) = op._pledges
    assert pledge.given is x and pledge.ends_nothing
    x.partition_mut(SIZE)
    with pytest.raises(tw.BorrowError, match="borrowed for writing"):
        op.sync()


def test_memory_that_was_used_before_is_allocated_by_the_core():
    make = partial(tw.empty, (SIZE,), device="cpu")
    for _ in range(2):
        calls = python_calls(make().sync)
    assert calls == []
    assert not make().sync().region.is_written
    zeros = tw.zeros((SIZE,), device="cpu")
    assert "Allocate.execute_closely" in python_calls(zeros.sync)


def test_a_tensor_is_made_where_that_was_said():
    with pytest.raises(tw.ContextError, match="makes a tensor on 'reference'"):
        tw.empty((SIZE,), device="reference").sync_on(CPU.new_stream())


def test_wrong_arguments_of_what_makes_ops_and_takes_outputs_raise():
    layout = tw.empty((SIZE,), device="cpu").sync().region.layout
    for given in [(), ("empty",), (1, layout, CPU, True, False, False, 0)]:
        with pytest.raises(TypeError):
            _core.new_allocate(*given)
    odd = _core.new_allocate("odd", "no layout", CPU, True, False, False, 0)
    with pytest.raises(AttributeError):
        odd.sync()
    with pytest.raises(AttributeError):
        Allocate.__new__(Allocate).execute(ExecutionContext(CPU.new_stream()))
    with pytest.raises(TypeError, match="by position"):
        Outputs((0,), 1)(result=1)
    with pytest.raises(IndexError):
        Outputs((1,), 1)(1)
    with pytest.raises(TypeError, match="by position"):
        Outputs.__new__(Outputs)(1)
