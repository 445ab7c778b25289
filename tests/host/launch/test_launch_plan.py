from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.numbers import fresh_rng
from tilewright._core import set_launch_classes
from tilewright.devices.native_records import PlanWord
from tilewright.devices.timeline import UNSUBMITTED
from tilewright.launch.launch_plan import CalledPlan, called_plan
from tilewright.launch.operation import CORE_CLASSES


@pytest.fixture(autouse=True)
def reference():
    with tw.device("reference") as device:
        yield device


@tw.entry
def scaled(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], by: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z, padding=tl.zero) * by)


@tw.entry
def counted(n: tw.i32) -> None:
    print(n)


def poisoned(size):
    return tw.full((size,), np.nan).sync()


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 13])
@pytest.mark.parametrize("given", ["tensor", "array", "strided"])
def test_the_core_begins_what_python_runs(size, given, reference, monkeypatch):
    data = fresh_rng().random(2 * size, "f4")
    wide = data[::2] if given == "strided" else data[:size]
    x = tw.from_numpy(wide).sync() if given == "tensor" else wide
    called, stream = called_launches(monkeypatch), reference.new_stream()
    for by in (2.0, -0.5):
        z = poisoned(size)
        called.clear()
        scaled(z.partition_mut(4), x, by).sync_on(stream)
        assert len(called) == 1 and stream.timeline.pending == {}
        np.testing.assert_array_equal(z.to_numpy(), wide * np.float32(by))


def test_kernels_without_memory(capsys):
    for n in (3, -7):
        counted(n).grid((2,)).sync()
    assert capsys.readouterr().out.split() == ["3", "3", "-7", "-7"]


def test_an_interrupt_before_python_begins_holds_nobody_up(reference):
    """The work has its number then, and nobody has enqueued it."""

    def interrupted(*given):
        raise KeyboardInterrupt

    x = tw.from_numpy(fresh_rng().random(5, "f4")).sync()
    z, stream = poisoned(5), reference.new_stream()
    set_launch_classes({**CORE_CLASSES, "start": interrupted})
    try:
        with pytest.raises(KeyboardInterrupt):
            scaled(z.partition_mut(4), x, 2.0).sync_on(stream)
    finally:
        set_launch_classes(dict(CORE_CLASSES))
    assert stream.timeline.pending == {} and stream.timeline.words[UNSUBMITTED] == 0
    scaled(z.partition_mut(4), x, 3.0).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * np.float32(3))


def test_plans_count_what_a_launch_uses():
    op = scaled(poisoned(4).partition_mut(4), poisoned(4), 1.0)
    args = op._bound.form.args
    op.close()
    for plan in (called_plan(args), CalledPlan(2, 1)):
        assert (plan._words[PlanWord.TENSORS], plan._words[PlanWord.WRITTEN]) == (2, 1)
