"""Ops, combinators and endings as programs use them: the types of all results are known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, NamedTuple, assert_type

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32, i32

Array = np.ndarray[Any, Any]


@tw.entry
def neg(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(-tl.load_tile_like(x, out))


class Pair(NamedTuple):
    """A result that is one value."""

    left: int
    right: str


t = tw.zeros((4, 4))
assert_type(t, tw.DeviceOp[tw.Tensor[f32]])
x = tw.ones((4, 4)).sync()
stream = tw.default_device().streams()[0]
a: Array = np.ones((4, 4), np.float32)
n = int("1")
s = str(n)
pair = (n, s)

# Endings
assert_type(tw.value(1).sync(), int)
assert_type(tw.value(1).sync_on(stream), int)
assert_type(tw.value("a").start(), str)
assert_type(tw.value("a").start_on(stream), str)
assert_type(tw.value(1).into_future(), tw.DeviceFuture[int])
assert_type(tw.value(1).into_future().result(), int)
assert_type(tw.value(1).into_future().result(timeout=1.0), int)
assert_type(tw.value(1).into_future().exception(), BaseException | None)
assert_type(tw.value(1).into_future().done(), bool)
assert_type(tw.value(1).schedule(tw.SingleStream(stream)), tw.DeviceFuture[int])
assert_type(tw.spawn(tw.value(1.5)), tw.DeviceFuture[float])
assert_type(tw.DeviceFuture.scheduled(tw.value(1), tw.ExecutionContext(stream)).result(), int)
tw.DeviceFuture.failed(ValueError("no")).exception()
tw.value(1).into_future().add_done_callback(lambda future: print(future.result() + 1))


class Halves(tw.DeviceOp[tw.Tensor[f32]]):
    """Runs other ops."""

    def execute(self, ctx: tw.ExecutionContext) -> tw.Tensor[f32]:
        """Knows what they give."""
        assert_type(ctx.run(tw.value(1)), int)
        return ctx.run(tw.ones((4,)))


# then, map, inspect
assert_type(tw.value(1).map(str), tw.DeviceOp[str])
assert_type(tw.value(1).map(lambda n: n + 1), tw.DeviceOp[int])
assert_type(tw.value(pair).map(lambda n, s: s * n), tw.DeviceOp[str])
assert_type(tw.value((1, "a", 2.0)).map(lambda n, s, f: f + n), tw.DeviceOp[float])
assert_type(tw.value(pair).map(lambda n, s, k: n + k, n), tw.DeviceOp[int])
assert_type(tw.value(1).map(lambda n, k: n + k, 2), tw.DeviceOp[int])
assert_type(tw.value(Pair(1, "a")).map(lambda pair: pair.right), tw.DeviceOp[str])
assert_type(tw.value([1, 2]).map(sum), tw.DeviceOp[int])
assert_type(tw.value(1).then(lambda n: tw.value(str(n))), tw.DeviceOp[str])
assert_type(tw.value(pair).then(lambda n, s: tw.value(s * n)), tw.DeviceOp[str])
assert_type(tw.value(1).then(lambda n, k: tw.value(n + k), 2), tw.DeviceOp[int])
with tw.unsafe():
    assert_type(tw.value(1).then_unchecked(lambda n: tw.value(n)), tw.DeviceOp[int])
    assert_type(tw.value((1, 2)).then_unchecked(lambda n, k: tw.value(n + k)), tw.DeviceOp[int])
assert_type(tw.value(1).inspect(print), tw.DeviceOp[int])
assert_type(tw.value(pair).inspect(lambda n, s: print(s)), tw.DeviceOp[tuple[int, str]])
device_op: tw.DeviceOp[tw.Device] = tw.with_context(lambda ctx: tw.value(ctx.device))
assert_type(tw.value(1).boxed(), tw.DeviceOp[int])

# Several results
assert_type(tw.zip(t, tw.value(1)), tw.DeviceOp[tuple[tw.Tensor[f32], int]])
assert_type(tw.zip(tw.value(1), tw.value("a"), tw.value(2.0)), tw.DeviceOp[tuple[int, str, float]])
assert_type(tw.zip(tw.value("a")), tw.DeviceOp[tuple[str]])
assert_type(tw.zip(x, 5), tw.DeviceOp[tuple[tw.Tensor[f32], int]])
assert_type(tw.zip(x, tw.ones((2,), f16)), tw.DeviceOp[tuple[tw.Tensor[f32], tw.Tensor[f16]]])
assert_type(tw.zip(a, x, 2.5), tw.DeviceOp[tuple[Array, tw.Tensor[f32], float]])
assert_type(tw.zip(tw.zip(tw.value(1), tw.value("a")), tw.value(2)),
            tw.DeviceOp[tuple[tuple[int, str], int]])  # fmt: skip
assert_type(tw.zip(tw.arange(3), x), tw.DeviceOp[tuple[tw.Tensor[i32], tw.Tensor[f32]]])
assert_type(tw.zip(tw.from_numpy(a), x), tw.DeviceOp[tuple[tw.Tensor[Any], tw.Tensor[f32]]])
assert_type(tw.zip(tw.from_numpy(a), 5), tw.DeviceOp[tuple[tw.Tensor[Any], int]])
assert_type(tw.zip(n, s, [n], None), tw.DeviceOp[tuple[int, str, list[int], None]])
assert_type(tw.zip(t, t, n, x, a), tw.DeviceOp[tuple[tw.Tensor[f32], tw.Tensor[f32], int,
                                                     tw.Tensor[f32], Array]])  # fmt: skip
assert_type(tw.zip(*[t, t]), tw.DeviceOp[tuple[Any, ...]])
assert_type(tw.arange(0.0, 1.0, 0.5), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.arange(3, dtype=f16), tw.DeviceOp[tw.Tensor[f16]])
assert_type(t.try_partition((2, 2)), tw.DeviceOp[tw.Partition[f32]])
assert_type(tw.ones((4,)).shared().try_partition((2,)), tw.DeviceOp[tw.Partition[f32]])
assert_type(tw.value(pair).first(), tw.DeviceOp[int])
assert_type(tw.value(pair).last(), tw.DeviceOp[str])
assert_type(tw.value((n, s, 2.5)).last(), tw.DeviceOp[float])
assert_type(tw.value((n,)).first(), tw.DeviceOp[int])
assert_type(tw.value((n,)).last(), tw.DeviceOp[int])
one, two = tw.value(pair).unzip()
assert_type(one, tw.DeviceOp[int])
assert_type(two, tw.DeviceOp[str])
assert_type(tw.value((n, s, 2.5)).unzip(3)[2], tw.DeviceOp[float])
four = tw.value((n, s, 2.5, a)).unzip()
assert_type(four[1], tw.DeviceOp[str])
assert_type(four[3], tw.DeviceOp[Array])

# Sharing
shared = tw.ones((4,)).shared()
assert_type(shared, tw.SharedOp[tw.Arc[f32]])
assert_type(shared.clone().sync(), tw.Arc[f32])
assert_type(shared.clone().unwrap_arc(), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.value("a").shared(), tw.SharedOp[str])
assert_type(tw.shared(tw.Arc(x)), tw.SharedOp[tw.Arc[f32]])
assert_type(tw.value(tw.Arc(x)).unwrap_arc().sync(), tw.Tensor[f32])
arc = tw.Arc(x)
assert_type(arc.reshape((16,)), tw.Arc[f32])
assert_type(arc.reinterpret(i32), tw.Arc[i32])
assert_type(arc.reinterpret("u4"), tw.Arc[Any])
assert_type(arc.view((16,)), tw.Tensor[f32])
assert_type(arc[1:], tw.Tensor[f32])
assert_type((arc.size, arc.strides, arc.ndim), tuple[int, tuple[int, ...], int])
assert_type(arc.device_pointer(), tw.DevicePointer[f32])
assert_type(shared.reshape((2, 2)), tw.DeviceOp[tw.Arc[f32]])
assert_type(shared.reinterpret(i32), tw.DeviceOp[tw.Arc[i32]])
assert_type(shared.slice(range(2)), tw.DeviceOp[tw.Tensor[f32]])
assert_type(shared.to_numpy(), tw.DeviceOp[np.ndarray[Any, Any]])
assert_type(shared.partition((2,)), tw.DeviceOp[tw.Partition[f32]])
assert_type(t.unwrap_arc(), tw.DeviceOp[tw.Tensor[f32]])
assert_type(t.partition((2, 2)).map((1, 1), 4), tw.DeviceOp[tw.MappedPartition[f32]])

# What forwards to the result
assert_type(t.reshape((2, 8)), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.zeros((4, 4)).partition((2, 2)), tw.DeviceOp[tw.Partition[f32]])
assert_type(tw.zeros((4, 4)).partition((2, 2)).unpartition(), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.zeros((4, 4), i32).to_numpy(), tw.DeviceOp[np.ndarray[Any, Any]])
assert_type(tw.zeros((4,), i32).item(), tw.DeviceOp[i32])
assert_type(tw.zeros((4,), i32).dup(), tw.DeviceOp[tw.Tensor[i32]])
assert_type(tw.zeros((4,)).reinterpret(i32), tw.DeviceOp[tw.Tensor[i32]])
assert_type(tw.zeros((4,)).to("cpu"), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.zeros((4, 4)).to_numpy().map(lambda array: bool(array.any())).sync(), bool)
assert_type(tw.zeros((4, 4)).view((16,)).sync().shape, tuple[int, ...])

# Launches
launch = neg(tw.empty((4, 4)).partition((2, 2)), tw.ones((4, 4)))
assert_type(launch.then(lambda out, x: neg(tw.empty((4, 4)).partition((2, 2)), out.unpartition())),
            tw.DeviceOp[tuple[tw.Partition[f32], tw.Tensor[f32]]])  # fmt: skip
outs, ins = neg(tw.empty((4, 4)).partition((2, 2)), x).unzip()
assert_type(outs, tw.DeviceOp[tw.Partition[f32]])
assert_type(ins.sync(), tw.Tensor[f32])
assert_type(neg(tw.empty((4, 4)).partition((2, 2)), x).last(), tw.DeviceOp[tw.Tensor[f32]])
assert_type(tw.zip(tw.empty((4, 4)).partition((2, 2)), x).then(neg).first().unpartition().sync(),
            tw.Tensor[f32])  # fmt: skip


# Awaiting
async def awaiting() -> None:
    assert_type(await tw.value(1), int)
    assert_type(await tw.value(pair).map(lambda n, s: s), str)
    assert_type(await tw.value(1).into_future(), int)
    assert_type(await asyncio.create_task(tw.value(1)), int)
    assert_type(await asyncio.wait_for(tw.value("a"), 1), str)
    assert_type(await asyncio.gather(tw.value(1), tw.value("a")), tuple[int, str])
    async with asyncio.TaskGroup() as group:
        assert_type(group.create_task(tw.value(1)), asyncio.Task[int])
    assert_type(await shared, tw.Arc[f32])


coroutine: Coroutine[Any, Any, int] = tw.value(1)
awaitable: Awaitable[int] = tw.value(1).into_future()
assert_type(asyncio.run(tw.value(1)), int)


# Stores of compiled code
class Kept:
    """A store of one's own, that names its parameters as it likes."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.entries[key] = data

    def contains(self, key: str) -> bool:
        return key in self.entries

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def clear(self) -> None:
        self.entries.clear()


store: tw.jit_cache.JitStore = Kept()
tw.jit_cache.enable(store)
with tw.jit_cache.using(Kept()), tw.jit_cache.using(None):
    assert_type(tw.jit_cache.stats().hits, int)
assert_type(tw.jit_cache.is_enabled(), bool)


# Devices and policies
class Own:
    """A policy of one's own."""

    def next_stream(self) -> tw.Stream:
        return stream


policy: tw.SchedulingPolicy = Own()
with tw.with_default_device_policy(policy) as chosen:
    assert_type(chosen, tw.SchedulingPolicy)
chosen_stream: tw.Stream = tw.with_default_device_policy(lambda policy: policy.next_stream())
next_stream: tw.Stream = tw.StreamPoolRoundRobin(tw.default_device(), 2).next_stream()
tw.set_default_policy(tw.SingleStream(stream), "cpu")
tw.synchronize()
with tw.trace() as trace:
    assert_type(trace, tw.Trace)
assert_type(tw.as_op(3), tw.DeviceOp[Any])


class Scale(tw.DeviceOp[tw.Tensor[f32]]):
    """An op of one's own, whose ending is its own too."""

    def __init__(self, x: tw.Tensor[f32]) -> None:
        self.x = x

    def execute(self, ctx: tw.ExecutionContext) -> tw.Tensor[f32]:
        return self.x if ctx.waits else tw.move(self.x)


assert_type(Scale(x).partition((2, 2)).sync(), tw.Partition[f32])
ops: list[tw.DeviceOp[Any]] = [tw.value(1), Scale(x), launch]
