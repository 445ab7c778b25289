"""Mistakes with ops, endings and policies: each marked line has an error, no other line."""

from __future__ import annotations

import asyncio

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def neg(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(-tl.load_tile_like(x, out))


t = tw.zeros((4, 4))
x = tw.ones((4, 4)).sync()
stream = tw.default_device().streams()[0]
pair = tw.value((1, "a"))

wrong_1: str = tw.value(1).sync()  # error: the result is an int
wrong_2: int = tw.value(1).into_future()  # error: a future is not its result
wrong_3: int = tw.value(1).map(str).sync()  # error: map changes the type
wrong_4: tw.DeviceOp[str] = tw.value(1)  # error: another type of result
wrong_5: tw.Tensor[f32] = tw.ones((2,))  # error: an op is not its result
wrong_6: tw.Tensor[f32] = tw.ones((2,)).shared().sync()  # error: it comes as an Arc
wrong_7: tuple[int, str] = pair.first().sync()  # error: one of two
wrong_8: int = pair.last().sync()  # error: the other one
wrong_9: tw.Tensor[f32] = t.partition((2, 2)).sync()  # error: a partition is no tensor
wrong_10: tw.DeviceOp[int] = tw.zip(tw.value(1), tw.value(2))  # error: a tuple
wrong_11: tw.DeviceFuture[str] = tw.value(1).schedule(tw.SingleStream(stream))  # error: of int

tw.ExecutionContext(stream).run(x)  # error: a tensor is no op
wrong_12: str = tw.ExecutionContext(stream).run(tw.value(1))  # error: the result is an int
tw.value(1).sync_on("cpu")  # error: not a stream
tw.value(1).start_on()  # error: no stream
tw.value(1).schedule(stream)  # error: a stream is no policy
tw.value(1).schedule(lambda: stream)  # error: a function is no policy
tw.SingleStream(tw.default_device())  # error: a device is no stream
tw.StreamPoolRoundRobin(4)  # error: the device is missing
tw.ExecutionContext()  # error: the stream is missing
tw.spawn(x)  # error: a tensor is no op
tw.spawn(tw.value(1).into_future())  # error: it runs already
tw.value(1).into_future().result("soon")  # error: seconds are numbers
tw.value(1).then(str)  # error: then wants an op
tw.value(1).then(lambda n: n + 1)  # error: then wants an op
tw.value("a").map(lambda s: s + 1)  # error: str + int
pair.map(lambda n, s: n.upper())  # error: the int is first
pair.then(lambda n, s: tw.value(s.real))  # error: the str is last
pair.inspect(lambda n, s: s.real)  # error: the str is last
tw.value(1).map(lambda n, k: n + k, "a")  # error: int + str
tw.value(1).map()  # error: no function
tw.value(1).map(5)  # error: no function
tw.value(1).first()  # error: one result is not several
tw.value("a").last()  # error: one result is not several
one, two, three = pair.unzip()  # error: two results
pair.unzip("2")  # error: a number
tw.value(1).unwrap_arc()  # error: not an Arc
tw.value(1).to_numpy()  # error: not a tensor
t.unpartition()  # error: not a partition
tw.value(x).partition((2, 2)).to_numpy()  # error: a partition is no tensor
print(pair.shape)  # error: an op is not its result
pair[0]  # error: an op is not its result
len(t)  # error: an op is not its result
float(tw.value(1.0))  # error: an op is not its result
for each in pair:  # error: an op is not its result
    pass
with tw.value(1):  # error: an op is no context manager
    pass
with tw.trace(5):  # error: a path is text
    pass
with tw.device(stream):  # error: a stream is no device
    pass
tw.with_context(lambda: tw.value(1))  # error: the function is given the context
tw.with_context(lambda ctx: ctx.nonsense)  # error: there is no such thing
neg(t.partition((2, 2)), x).then(lambda out: out.shape)  # error: then wants an op
neg(t.partition((2, 2)), x).first().to_numpy()  # error: a partition is no tensor
tw.set_default_policy(stream)  # error: a stream is no policy


async def awaiting() -> None:
    text: str = await tw.value(1)  # error: the result is an int
    both: tuple[str, str] = await asyncio.gather(tw.value(1), tw.value("a"))  # error: int, str
    await x  # error: a tensor is there already
    await asyncio.create_task(tw.value(1).into_future())  # error: a future is no coroutine
    print(text, both)


class Wrong(tw.DeviceOp[int]):
    def execute(self, ctx: tw.ExecutionContext) -> str:  # error: it promised an int
        return "text"


class Policy:
    def next_stream(self) -> str:
        return "stream 0"


tw.value(1).schedule(Policy())  # error: it gives no stream


class Forgetful:
    def get(self, name: str) -> str | None:
        return None

    def put(self, name: str, entry: bytes) -> None: ...
    def contains(self, name: str) -> bool:
        return False

    def delete(self, name: str) -> None: ...
    def clear(self) -> None: ...


tw.jit_cache.enable(Forgetful())  # error: an entry is bytes, not text
tw.jit_cache.enable({})  # error: a dict is no store
