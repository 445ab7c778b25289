"""Ops are to a device what futures are to input and output."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same, scale, scaled


def test_b094_nothing_runs_before_an_ending(device):
    """An op describes work and does none until it is driven."""
    calls = []
    z = tw.zeros((4,)).sync()
    op = scale(z.partition_mut((4,)), tw.ones((4,)), 2.0).inspect(lambda *_: calls.append(1))
    assert calls == []
    op.sync()
    assert calls == [1]
    same(z, np.full(4, 2))


def test_b095_sync_sync_on_and_await_drive_an_op(rng, device):
    """`sync`, `sync_on` and `await` run an op, with the same result."""
    data = numbers(rng, 64)
    x, stream = put(data), device.new_stream()

    async def awaited():
        return await scaled(x, 2.0)

    for found in (scaled(x, 2.0).sync(), scaled(x, 2.0).sync_on(stream), asyncio.run(awaited())):
        same(found, np.float32(2) * data)


def test_b096_ops_are_chained_as_futures_are(rng, device):
    """`then` and `map` chain ops as they chain futures."""
    data = numbers(rng, 64)
    found = scaled(put(data), 2.0).then(scaled, 3.0).map(lambda t: (t.shape, t)).sync()
    assert found[0] == (64,)
    same(found[1], np.float32(3) * (np.float32(2) * data))


def test_b097_zip_fans_in_and_unzip_fans_out(rng, device):
    """`zip` is `join`; `unzip` has no counterpart among futures."""
    a, b = numbers(rng, 8), numbers(rng, 8)
    left, right = tw.zip(tw.from_numpy(a), tw.from_numpy(b)).unzip()
    same(right.sync(), b)
    same(left.sync(), a)


def test_b098_results_come_as_exceptions_or_values(device):
    """Endings give a `Result`: the value or a `DeviceError`.

    Differs: results-and-exceptions
    """
    assert tw.value(3).sync() == 3
    with pytest.raises(tw.DeviceError):
        tw.zeros((4,)).then(lambda t: tw.value(tw.ones((4,)).sync())).sync()


def test_b099_a_future_asks_whether_the_device_is_done(null_device):
    """A future asks whether the device is done; its work starts when it is first polled.

    Differs: futures-start-at-once
    """
    null_device.hold()
    future = tw.ones((4,)).into_future()
    assert not future.done()
    null_device.release()
    assert future.result(timeout=60).shape == (4,) and future.done()


def test_b100_await_suspends_the_task_alone(null_device):
    """While an op is awaited, other tasks of the loop run."""
    null_device.hold()
    order = []

    async def waiting():
        await tw.ones((4,))
        order.append("op")

    async def other():
        await asyncio.sleep(0)
        order.append("other")
        null_device.release()

    async def both():
        await asyncio.gather(waiting(), other())

    asyncio.run(both())
    assert order == ["other", "op"]


def test_b101_executing_pushes_to_the_device(null_device):
    """Running an op puts its work on a stream; nobody has to poll for it to go on."""
    t = tw.zeros((3,)).sync()
    null_device.hold()
    future = t.dup().into_future()
    assert [entry.kind for entry in null_device.entries] == ["copy"]
    assert not future.done()
    null_device.release()
    assert future.result(timeout=60).shape == (3,)
