"""Which launches may be spawned: those that own what they use."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import WATCHDOG
from tilewright import f32
from tilewright.base.errors import BorrowError


@tw.entry
def increase(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) + 1)


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
        pytest.param(lambda x: increase(out(), np.ones(4, np.float32)), id="array"),
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
