"""Which launches may be spawned: those that own what they use."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import WATCHDOG
from tilewright import f32
from tilewright.base.errors import BorrowError
from tilewright.op.core import Composite
from tilewright.op.signals import Signal


@tw.entry
def increase(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) + 1)


class Late(Composite):
    """An op that waits for a signal."""

    def __init__(self, signal):
        self._signal = signal

    def steps(self, ctx):
        yield self._signal


@pytest.fixture(autouse=True)
def on_the_reference_device():
    with tw.device("reference"):
        yield


def made():
    return tw.ones((4,)).sync()


def out():
    return tw.empty((4,)).partition((4,))


def empty_partition():
    return tw.empty((4,)).sync().partition((4,))


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda x: increase(out(), tw.move(x)), id="moved"),
        pytest.param(lambda x: increase(out(), tw.Arc(x)), id="arc"),
        pytest.param(lambda x: increase(out(), made()), id="nobody-holds-it"),
        pytest.param(lambda x: increase(empty_partition(), made()), id="no-ops-among-arguments"),
        pytest.param(lambda x: increase(out(), tw.from_numpy(np.ones(4, "f4"))), id="array-copied"),
        pytest.param(lambda x: tw.fill(tw.move(x), 2), id="fill"),
        pytest.param(lambda x: tw.memcpy(tw.move(x), np.ones(4, "f4")), id="memcpy"),
        pytest.param(lambda x: tw.value(made()), id="value-nobody-holds"),
        pytest.param(lambda x: increase(tw.value(x.partition((4,))), tw.ones((4,))), id="given"),
        pytest.param(lambda x: out().then(increase, tw.Arc(x)), id="bound-arc"),
        pytest.param(
            lambda x: increase(out(), made()).then(lambda p, _: increase(out(), p.unpartition())),
            id="result-of-the-chain",
        ),
        pytest.param(
            lambda x: increase(out(), tw.ones((4,))).then(lambda p, y: increase(out(), y)),
            id="argument-of-the-function",
        ),
        pytest.param(lambda x: tw.ones((4,)).to_numpy().map(np.sum), id="host-data"),
        pytest.param(lambda x: tw.zip(out(), tw.ones((4,))).then(increase), id="then-kernel"),
    ],
)
def test_these_own_what_they_use(build):
    x = made()
    tw.spawn(build(x)).result(WATCHDOG)


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda x: increase(out(), x), id="tensor"),
        pytest.param(lambda x: increase(empty_partition(), x), id="no-ops-among-arguments"),
        pytest.param(lambda x: increase(out(), x[1:]), id="view"),
        pytest.param(lambda x: increase(x.partition_mut((4,)), made()), id="partition_mut"),
        pytest.param(
            lambda x: increase(out(), made()).then(lambda *_: increase(out(), x)), id="captured"
        ),
        pytest.param(lambda x: increase(out(), made()).then(lambda *_: x.dup()), id="dup"),
        pytest.param(lambda x: x.to_host_vec(), id="to_host_vec"),
        pytest.param(lambda x: tw.memcpy(x, tw.ones((4,))), id="memcpy"),
        pytest.param(lambda x: increase(out(), np.ones(4, np.float32)), id="array"),
        pytest.param(lambda x: increase(empty_partition(), np.ones(4, "f4")), id="array-no-ops"),
        pytest.param(lambda x: increase(out(), tw.value(np.ones(4, "f4"))), id="array-in-a-value"),
        pytest.param(lambda x: tw.fill(x, 2), id="fill"),
        pytest.param(lambda x: tw.fill(tw.value(x), 2), id="fill-of-a-value"),
        pytest.param(lambda x: tw.fill(x.borrow_mut(), 2), id="fill-of-a-borrow"),
        pytest.param(lambda x: tw.fill(tw.move(x).borrow_mut(), 2), id="fill-of-a-moved-borrow"),
        pytest.param(lambda x: tw.convert(x, tw.i32), id="convert"),
        pytest.param(lambda x: tw.convert(tw.value(x), tw.i32), id="convert-of-a-value"),
        pytest.param(lambda x: tw.value((1, x)), id="value-of-a-tuple"),
        pytest.param(lambda x: tw.value(x.borrow_mut()), id="value-of-a-borrow"),
        pytest.param(lambda x: tw.ones((4,)).map(lambda a, b: a, x), id="bound"),
        pytest.param(lambda x: tw.zip(out(), x).then(increase), id="zip"),
        pytest.param(lambda x: increase(out(), tw.shared(x)), id="shared-value"),
        pytest.param(lambda x: increase(out(), tw.zip(x, 1).first()), id="zip-in-an-argument"),
    ],
)
def test_these_borrow(build):
    x = made()
    with pytest.raises(BorrowError, match=r"cannot be spawned: it borrows"):
        tw.spawn(build(x)).result(WATCHDOG)
    assert np.array_equal(x.to_numpy(), np.ones(4, np.float32))


def test_a_launch_can_be_unzipped():
    p, x = increase(out(), tw.ones((4,))).unzip()
    assert np.array_equal(p.unpartition().sync().to_numpy(), np.full(4, 2, np.float32))
    assert np.array_equal(x.sync().to_numpy(), np.ones(4, np.float32))
    _, y = tw.zip(out(), tw.ones((4,))).then(increase).unzip()
    assert y.sync().shape == (4,)


def test_a_launch_is_lengthy_until_it_is_compiled():
    @tw.entry
    def fresh(out: tl.TensorMut[f32]) -> None:
        out.store(tl.zeros(out.shape, f32))

    first, again = fresh(empty_partition()), fresh(empty_partition())
    assert first.is_lengthy()
    first.sync()
    assert not again.is_lengthy()
    again.close()


def test_a_graph_is_borrowed_by_its_launches():
    graph = increase(out(), tw.Arc(made())).graph()
    with pytest.raises(BorrowError, match="it borrows the graph it launches"):
        tw.spawn(graph.launch())
    with pytest.raises(BorrowError, match="it borrows the graph it launches"):
        tw.spawn(tw.zip(graph.launch(), 1))


def test_an_array_is_read_before_spawn_returns_however_late_the_op_runs():
    a, b = np.full(4, 3, "f4"), np.full(4, 4, "f4")
    signal, target = Signal(), made()
    future = tw.spawn(tw.zip(Late(signal), tw.from_numpy(a), tw.move(target).copy_from(b)))
    assert not future.done()
    a[:] = b[:] = 9
    signal.set()
    _, one, other = future.result(WATCHDOG)
    assert np.array_equal(one.to_numpy(), np.full(4, 3, "f4"))
    assert np.array_equal(other.to_numpy(), np.full(4, 4, "f4"))


def test_what_was_spawned_is_let_go_of_when_it_is_done():
    with tw.device("cpu"):
        arc = tw.Arc(made())
        tw.spawn(increase(out(), arc.clone())).result(WATCHDOG)
        deadline = time.monotonic() + WATCHDOG
        while arc.value.owners() > 1 and time.monotonic() < deadline:
            time.sleep(0.001)
        assert arc.value.owners() == 1
