"""What was given to ops comes back where what they are part of fails, and only there."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import WATCHDOG
from tilewright import f32
from tilewright.op.settling import Settling


@pytest.fixture(autouse=True)
def device(tilewright_device):
    return tilewright_device


@tw.entry
def double(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


@tw.entry
def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32], rows: tl.Tensor[tw.i32]) -> None:
    """Fails on the device where the row is not there."""
    at = rows.load_tile((1,), [0]).item()
    z.store(x.partition(z.shape).load([at]))


def made(value=1.0):
    return tw.full((4,), value).sync()


def failing(*results):
    raise ZeroDivisionError


def fails():
    return tw.value(1).map(failing)


def outside():
    """A launch that fails on the device."""
    rows = tw.from_numpy(np.array([9], "i4")).sync()
    return pick(tw.zeros((4,)).partition((4,)), made(), rows)


async def awaited(op):
    return await op


ENDINGS = {
    "sync": lambda op: op.sync(),
    "start": lambda op: op.start(),
    "future": lambda op: op.into_future().result(WATCHDOG),
    "await": lambda op: asyncio.run(awaited(op)),
    "graph": lambda op: op.graph(),
}
CHAINS = {
    "map": lambda y, x: double(y.partition((4,)), x).map(failing),
    "then": lambda y, x: double(y.partition((4,)), x).then(failing),
    "then a launch": lambda y, x: double(y.partition((4,)), x).then(lambda p, v: double(p, "no")),
    "a chain of launches": lambda y, x: double(y.partition((4,)), x).then(double).then(failing),
    "zip, before": lambda y, x: tw.zip(double(y.partition((4,)), x), fails()),
    "zip, after": lambda y, x: tw.zip(fails(), double(y.partition((4,)), x)),
    "zip of values": lambda y, x: tw.zip(y.partition((4,)), x, fails()),
    "zip of values, after": lambda y, x: tw.zip(fails(), y.partition((4,))),
    "value": lambda y, x: tw.value(y.partition((4,))).map(failing),
    "lazy argument": lambda y, x: double(y.partition((4,)), fails()),
    "lazy argument, before": lambda y, x: double(tw.value(y.partition((4,))), fails()),
    "lazy argument, after": lambda y, x: double(fails(), tw.move(y)),
    "input": lambda y, x: double(tw.zeros((4,)).partition((4,)), tw.move(y)).map(failing),
    "bound": lambda y, x: tw.value(1).map(failing, tw.move(y)),
    "bound, after": lambda y, x: fails().map(lambda *_: None, tw.move(y)),
    "fill": lambda y, x: tw.fill(tw.move(y), 3).map(failing),
    "fill, after": lambda y, x: tw.zip(fails(), tw.fill(tw.move(y), 3)),
    "copy": lambda y, x: tw.memcpy(tw.move(y), x).map(failing),
    "copy, after": lambda y, x: tw.zip(fails(), tw.memcpy(tw.move(y), x)),
    "dup": lambda y, x: tw.move(y).dup().map(failing),
    "convert, after": lambda y, x: tw.zip(fails(), tw.convert(tw.move(y), tw.f64)),
    "unwritten source": lambda y, x: tw.memcpy(tw.move(y), tw.empty((4,)).sync()),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("chain", CHAINS)
def test_it_comes_back_where_something_fails(chain, ending):
    y, x = made(), made(3.0)
    op = CHAINS[chain](y, x)
    try:
        ENDINGS[ending](op)
    except (ZeroDivisionError, TypeError, tw.Error) as error:
        caught = error  # whose traceback keeps all frames
        assert y.to_numpy().shape == (4,), caught
    else:
        raise AssertionError("it did not fail")
    assert double(y.partition((4,)), x).out().sync().to_numpy().tolist() == [6.0] * 4


@pytest.mark.parametrize("ending", ["sync", "start", "future", "await"])
def test_it_does_not_come_back_where_all_goes_well(ending):
    y, x = made(), made(3.0)
    ENDINGS[ending](double(y.partition((4,)), x).map(lambda *_: None))
    tw.synchronize()
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        y.to_numpy()
    z = made()
    kept = ENDINGS[ending](tw.zip(double(z.partition((4,)), x), 1))
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        z.to_numpy()
    assert kept[0][0].unpartition().to_numpy().tolist() == [6.0] * 4


@pytest.mark.parametrize("ending", ["sync", "start", "future"])
def test_what_several_may_own_comes_back_when_they_are_gone(ending):
    y = made()
    arc = tw.Arc(y)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            ENDINGS[ending](double(tw.zeros((4,)).partition((4,)), arc).map(failing))
        tw.synchronize()
        with pytest.raises(tw.BorrowError, match=r"consumed by tw\.Arc\(\)"):
            y.to_numpy()
        assert arc.to_numpy().tolist() == [1.0] * 4
    del arc
    gc.collect()
    assert y.to_numpy().tolist() == [1.0] * 4


def test_the_memory_of_what_was_given_away_is_not_kept():
    y, x = made(), made(3.0)
    region = y.region
    assert double(y.partition((4,)), x).map(lambda *_: 5).sync() == 5
    assert y.region is not region
    assert y.region.storage.is_meta


@pytest.mark.parametrize("ending", ["sync", "future", "await"])
def test_a_failure_on_the_device_gives_back_what_earlier_work_was_given(ending):
    y, x = made(), made(3.0)
    with pytest.raises(tw.LaunchError):
        ENDINGS[ending](tw.zip(double(y.partition((4,)), x), outside()))
    assert y.to_numpy().tolist() == [6.0] * 4


def test_what_a_function_kept_is_taken_back():
    y, x, kept = made(), made(3.0), []
    with pytest.raises(ZeroDivisionError):
        double(y.partition((4,)), x).inspect(lambda p, _: kept.append(p)).map(failing).sync()
    assert y.to_numpy().tolist() == [6.0] * 4
    with pytest.raises(tw.BorrowError, match="was returned to its former owner"):
        double(kept[0], x)


def test_what_a_function_kept_may_be_used_first():
    y, x, kept = made(), made(3.0), []
    with pytest.raises(ZeroDivisionError):
        double(y.partition((4,)), x).inspect(lambda p, _: kept.append(p)).map(failing).sync()
    assert double(kept[0], x).out().sync().to_numpy().tolist() == [6.0] * 4
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        y.to_numpy()


def test_an_op_that_runs_others_is_one_of_them():
    y, x = made(), made(3.0)

    class Both(tw.DeviceOp[None]):
        def execute(self, ctx):
            ctx.run(double(y.partition((4,)), x))
            failing()

    with pytest.raises(ZeroDivisionError):
        Both().sync()
    assert y.to_numpy().tolist() == [6.0] * 4


def test_a_scope_that_fails_gives_back_what_it_recorded(device):
    y, x = made(), made(3.0)

    def record(scope):
        scope.record(double(y.partition((4,)), x))
        failing()

    with pytest.raises(ZeroDivisionError):
        tw.CudaGraph.scope(device.new_stream(), record)
    assert y.to_numpy().tolist() == [1.0] * 4


def test_a_shared_op_that_another_may_still_run_keeps_what_it_was_given():
    y, x = made(), made(3.0)
    shared = double(y.partition((4,)), x).shared()
    with pytest.raises(ZeroDivisionError):
        tw.zip(fails(), shared).sync()
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        y.to_numpy()
    assert shared.sync()[0].unpartition().to_numpy().tolist() == [6.0] * 4


def test_whoever_comes_late_hears_how_it_ended():
    told: list[tuple[str, bool]] = []
    for failed in (False, True):
        settling = Settling()
        settling.add(lambda bad: told.append(("before", bad)))
        assert not told
        settling.end(failed=failed)
        settling.end(failed=not failed)
        settling.add(lambda bad: told.append(("after", bad)))
        assert told == [("before", failed), ("after", failed)]
        told.clear()
