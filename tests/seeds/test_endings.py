"""Ways to run an op."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same, scale, scaled, stream_of_op


def test_b115_sync_takes_a_stream_of_the_policy_and_blocks(rng, device):
    """`sync()` runs on the next stream of the default policy and waits."""
    policy = tw.SingleStream(device.new_stream())
    with tw.with_default_device_policy(policy):
        assert stream_of_op().sync() is policy.next_stream()
    data = numbers(rng, 1000)
    same(scaled(put(data), 2.0).sync(), np.float32(2) * data)


def test_b116_sync_on_takes_the_stream_that_is_named(rng, device):
    """`sync_on(stream)` runs on that stream and waits."""
    stream, data = device.new_stream(), numbers(rng, 1000)
    assert stream_of_op().sync_on(stream) is stream
    same(scaled(put(data), 2.0).sync_on(stream), np.float32(2) * data)


def test_b117_await_takes_a_stream_of_the_policy(rng, device):
    """`await` runs on the next stream of the default policy and suspends the task."""
    policy = tw.SingleStream(device.new_stream())

    async def main():
        with tw.with_default_device_policy(policy):
            return await stream_of_op()

    assert asyncio.run(main()) is policy.next_stream()


def test_b118_into_future_gives_a_future_at_once(null_device):
    """`into_future()` gives a `DeviceFuture` and does not wait."""
    null_device.hold()
    future = tw.ones((4,)).into_future()
    assert isinstance(future, tw.DeviceFuture) and not future.done()
    null_device.release()
    assert future.result(timeout=60).shape == (4,)


def test_b119_schedule_asks_the_policy_it_is_given(rng, device):
    """`schedule(policy)` gives a future of work on a stream of that policy."""
    stream = device.new_stream()
    future = stream_of_op().schedule(tw.SingleStream(stream))
    assert isinstance(future, tw.DeviceFuture) and future.result() is stream


def test_b120_graph_captures_on_a_stream_of_the_policy(rng, device):
    """`graph()` captures an op on a stream of the default policy."""
    data = numbers(rng, 64)
    graph = scaled(put(data), 2.0).graph()
    assert isinstance(graph, tw.CudaGraph)
    out = graph.take_output()
    graph.launch().sync()
    same(out, np.float32(2) * data)


def test_b121_graph_on_captures_on_a_named_stream(rng, device):
    """`graph_on(stream)` captures an op on that stream."""
    data, stream = numbers(rng, 64), device.new_stream()
    graph = scaled(put(data), 2.0).graph_on(stream)
    assert graph.stream is stream
    out = graph.take_output()
    graph.launch().sync_on(stream)
    same(out, np.float32(2) * data)


def test_b122_ops_that_borrow_are_run_where_they_are_built(rng, device):
    """An op that borrows is run by `sync_on` or `await`; a task of its own cannot have it."""
    data, z = numbers(rng, 64), tw.zeros((64,)).sync()
    x = put(data)
    with pytest.raises(tw.BorrowError, match="cannot be spawned"):
        tw.spawn(scale(z.partition_mut((64,)), x, 2.0))

    async def main():
        await scale(z.partition_mut((64,)), x, 2.0)

    asyncio.run(main())
    same(z, np.float32(2) * data)
    shared_x = tw.Arc(x)
    found = tw.spawn(scale(tw.zeros((64,)).partition((64,)), shared_x, 2.0).out()).result()
    same(found, np.float32(2) * data)


def test_b123_an_op_is_used_once(device):
    """An ending consumes its op."""
    op = tw.ones((4,))
    op.sync()
    with pytest.raises(tw.BorrowError, match="already used"):
        op.sync()
