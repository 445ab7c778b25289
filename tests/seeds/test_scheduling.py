"""Streams and policies."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, numbers, put, same, scale, scaled, stream_of_op


def test_b166_four_streams_in_turn(device):
    """The default policy hands out four streams in turn."""
    assert isinstance(tw.default_policy(), tw.StreamPoolRoundRobin)
    found = [stream_of_op().sync() for _ in range(4)]
    assert len(set(map(id, found))) == 4


def test_b167_the_fifth_op_is_on_the_first_stream_again(device):
    """After the last stream comes the first one."""
    found = [stream_of_op().sync() for _ in range(9)]
    assert [a is b for a, b in zip(found, found[4:], strict=False)] == [True] * 5


def test_b168_independent_ops_overlap(null_device):
    """Ops that have nothing to do with each other are in flight together."""
    a, b = tw.zeros((3,)).sync(), tw.zeros((3,)).sync()
    null_device.hold()
    futures = [a.dup().into_future(), b.dup().into_future()]
    first, second = (entry.stream for entry in null_device.entries)
    assert first is not second
    null_device.release()
    assert [future.result(timeout=60).shape for future in futures] == [(3,), (3,)]


def test_b169_a_chain_stays_on_the_stream_of_its_first_op(device):
    """Ops chained by `then` share the stream of the first."""
    seen = []
    op = stream_of_op().inspect(seen.append)
    for _ in range(5):
        op = op.then(lambda _: stream_of_op().inspect(seen.append))
    op.sync()
    assert len(seen) == 6 and len(set(map(id, seen))) == 1


def test_b170_sync_on_passes_the_policy_by(device):
    """`sync_on` asks no policy."""

    class Never:
        def next_stream(self):
            raise AssertionError("not asked")

    stream = device.new_stream()
    with tw.with_default_device_policy(Never()):
        assert stream_of_op().sync_on(stream) is stream


def test_b171_one_stream_keeps_the_order_of_calls(rng, device):
    """Ops given to one stream run in the order of the calls."""
    stream, z = device.new_stream(), tw.zeros((64,)).sync()
    x, y = put(numbers(rng, 64)), put(numbers(rng, 64))
    scale(z.partition_mut((64,)), x, 2.0).start_on(stream)
    scale(z.partition_mut((64,)), y, 3.0).start_on(stream)
    same(z, np.float32(3) * y.to_numpy())


def test_b172_a_pool_has_as_many_streams_as_are_asked_for(device):
    """`StreamPoolRoundRobin` goes round n streams."""
    policy = tw.StreamPoolRoundRobin(device, 6)
    found = [stream_of_op().schedule(policy).result() for _ in range(7)]
    assert len(set(map(id, found))) == 6 and found[0] is found[6]


def test_b173_single_stream_is_strict_order(rng, device):
    """`SingleStream` sends everything to one stream."""
    stream, data = device.new_stream(), numbers(rng, 64)
    with tw.with_default_device_policy(tw.SingleStream(stream)):
        assert all(stream_of_op().sync() is stream for _ in range(3))
        same(scaled(put(data), 2.0).sync(), np.float32(2) * data)


def test_b174_a_policy_of_ones_own(rng, device):
    """Whatever has `next_stream` is a policy."""

    class Alternating:
        def __init__(self):
            self.streams = [device.new_stream(), device.new_stream()]

        def next_stream(self):
            self.streams.reverse()
            return self.streams[0]

    policy = Alternating()
    assert isinstance(policy, tw.SchedulingPolicy)
    found = [stream_of_op().schedule(policy).result() for _ in range(3)]
    assert found[0] is not found[1] and found[0] is found[2]
    data = numbers(rng, 64)
    same(scaled(put(data), 2.0).schedule(policy).result(), np.float32(2) * data)


def test_b175_what_follows_sees_what_was_written(rng, device):
    """An op chained by `then` sees everything that the one before has written."""
    data = numbers(rng, 512)
    x = put(data)
    op = scaled(x, 2.0)
    for _ in range(8):
        op = op.then(lambda t: add(tw.empty((512,)).partition((64,)), t, x).out())
    expected = np.float32(2) * data
    for _ in range(8):
        expected = expected + data
    same(op.sync(), expected)


ENDINGS = {
    "sync": lambda op: op.sync(),
    "sync_on": lambda op: op.sync_on(tw.default_device().new_stream()),
    "into_future": lambda op: op.into_future().result(),
    "await": lambda op: asyncio.run(_awaited(op)),
    "graph": lambda op: op.graph(),
}


async def _awaited(op):
    return await op


@pytest.mark.parametrize("ending", ENDINGS)
def test_b176_functions_of_a_chain_run_no_ops(ending):
    """Running an op inside the function of a `then` is an error of the device's family."""
    inner = []

    def nested(x):
        inner.append(tw.zeros((4,)))
        return tw.value(ENDINGS[ending](inner[0]))

    with pytest.raises(tw.DeviceError):
        tw.ones((4,)).then(nested).sync()
    inner[0].close()
    assert tw.ones((4,)).sync().shape == (4,), "the thread is free again"


def test_b177_then_unchecked_is_unsafe(device):
    """`then_unchecked` is for who knows that nothing races; it needs `tw.unsafe()`."""
    op = tw.ones((4,))
    with pytest.raises(tw.Error, match=r"tw\.unsafe\(\)"):
        op.then_unchecked(lambda x: tw.value(tw.zeros((4,)).sync()))


def test_b178_then_unchecked_lets_its_function_run_ops(device):
    """The function of `then_unchecked` may run ops itself."""
    with tw.unsafe():
        op = tw.ones((4,)).then_unchecked(lambda x: tw.value(tw.zeros((4,)).sync()))
    same(op.sync(), np.zeros(4))


def test_b179_streams_that_share_memory_wait_for_each_other(rng, device):
    """Work on different streams is ordered by the program alone.

    Differs: order-between-streams
    """
    first, second = device.new_stream(), device.new_stream()
    data = numbers(rng, 512)
    x, z, w = put(data), tw.zeros((512,)).sync(), tw.zeros((512,)).sync()
    for k in (2.0, 3.0, 4.0):
        scale(z.partition_mut((64,)), x, k).start_on(first)
        scale(w.partition_mut((64,)), z, 5.0).start_on(second)
        same(w, np.float32(5) * (np.float32(k) * data))


def test_b180_the_default_holds_for_a_task_or_thread(device):
    """Defaults are those of the thread, each of which has streams of its own.

    Differs: defaults-of-a-task
    """
    stream = device.new_stream()

    async def inside():
        with tw.with_default_device_policy(tw.SingleStream(stream)):
            await asyncio.sleep(0)
            return await stream_of_op()

    async def outside():
        await asyncio.sleep(0)
        return await stream_of_op()

    async def both():
        return await asyncio.gather(inside(), outside())

    mine, other = asyncio.run(both())
    assert mine is stream and other is not stream


def test_b213_other_threads_run_ops_meanwhile(device):
    """One op at a time is started on a thread; other threads are not held up by it."""
    found = []

    def elsewhere():
        with tw.device(device):
            found.append(tw.full((4,), 3.0).sync().to_numpy())

    def function(t):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join(timeout=60)
        return tw.value(t)

    same(tw.ones((4,)).then(function).sync(), np.ones(4))
    np.testing.assert_array_equal(found, [np.full(4, 3)])
