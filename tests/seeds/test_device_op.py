"""Ops of one's own."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.conftest import PTX
from seeds.foreign import ScaleKernel
from seeds.kernels import numbers, put, same, scaled
from tilewright import Arc, DeviceFuture, DeviceOp, ExecutionContext, f32


@tw.entry
def tile_add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


class Twice(DeviceOp):
    """Twice a tensor; notes the context it ran in."""

    def __init__(self, x):
        self.x, self.seen = x, []

    def execute(self, ctx):
        self.seen.append(ctx)
        return ctx.run(scaled(self.x, 2.0))


def test_a25_a_class_with_execute_is_an_op(rng, device):
    """A class that says how it is executed is an op."""
    x = put(numbers(rng, 64))
    same(Twice(x).sync(), np.float32(2) * x.to_numpy())


def test_a26_an_op_gives_what_execute_gives(scale_function, rng):
    """The op's result is what `execute` gives, here both tensors it was given."""
    data = numbers(rng, 300)
    source, output = Arc(put(data)), tw.zeros((300,)).sync()
    back, written = ScaleKernel(scale_function, 3.0, source, output).sync()
    assert back is source
    same(written, np.float32(3) * data)


def test_a27_execute_puts_work_on_the_stream_of_its_context(rng, device):
    """`execute` is given the context, whose stream the work goes to."""
    op, stream = Twice(put(numbers(rng, 64))), device.new_stream()
    op.sync_on(stream)
    (ctx,) = op.seen
    assert isinstance(ctx, ExecutionContext) and ctx.stream is stream and ctx.device is device


def test_a28_execute_does_not_wait(scale_function, rng, fake_gpu, fake_cuda):
    """`execute` enqueues without waiting, and is therefore unsafe to call.

    Differs: execute-is-safe
    """
    stream = fake_gpu.new_stream()
    op = ScaleKernel(scale_function, 3.0, Arc(put(numbers(rng, 300))), tw.zeros((300,)).sync())
    fake_cuda.hold(stream)
    future = op.schedule(tw.SingleStream(stream))
    assert op.seen and not future.done()
    fake_cuda.release()
    future.result(timeout=60)


def test_a29_execute_runs_other_ops_in_its_context(rng, device):
    """Other ops are executed in the same context, by `ctx.run(op)`."""
    seen = []

    class Outer(DeviceOp):
        def execute(self, ctx):
            seen.append(ctx.run(tw.with_context(lambda c: tw.value(c.stream))))
            return ctx.stream

    assert Outer().sync() is seen[0]


def test_a30_no_boilerplate_is_needed(rng, device):
    """An op of one's own implements the conversion to a future, so that it can be awaited.

    Differs: custom-ops
    """
    x = put(numbers(rng, 64))

    async def main():
        return await Twice(x)

    for found in (asyncio.run(main()), Twice(x).into_future().result()):
        same(found, np.float32(2) * x.to_numpy())


def test_a31_a_wrapped_kernel_is_safe_to_call(scale_function, rng):
    """Who uses the op writes no unsafe block; its fields have types."""
    data = numbers(rng, 256)
    _, out = ScaleKernel(scale_function, 0.5, Arc(put(data)), tw.zeros((256,)).sync()).sync()
    same(out, np.float32(0.5) * data)


def test_a32_own_ops_compose(rng, device):
    """Ops of one's own have all combinators."""
    x = put(numbers(rng, 64))
    a, b = tw.zip(Twice(x), Twice(x).then(lambda t: Twice(t))).sync()
    same(a, np.float32(2) * x.to_numpy())
    same(b, np.float32(4) * x.to_numpy())
    assert Twice(x).map(lambda t: t.shape).sync() == (64,)


def test_a33_the_policy_in_force_is_given_to_a_function(device):
    """`with_default_device_policy(f)` calls f with the policy, whose streams f may take."""
    stream = tw.with_default_device_policy(lambda policy: policy.next_stream())
    assert isinstance(stream, tw.Stream) and stream.device is device


def test_a34_a_future_is_scheduled_in_a_context(rng, device):
    """`DeviceFuture.scheduled(op, ExecutionContext(stream))` starts an op on a stream."""
    x, stream = put(numbers(rng, 64)), device.new_stream()
    op = Twice(x)
    future = DeviceFuture.scheduled(op, ExecutionContext(stream))
    same(future.result(), np.float32(2) * x.to_numpy())
    assert op.seen[0].stream is stream


def test_a35_a_future_that_has_failed():
    """`DeviceFuture.failed(error)` is a future that raises."""
    future = DeviceFuture.failed(tw.SchedulingError("no stream"))
    with pytest.raises(tw.SchedulingError, match="no stream"):
        future.result()


@pytest.mark.cpu_alone
def test_a36_tile_kernels_and_foreign_ones_in_one_pipeline(assembler, simulated_gpu, rng):
    """A tile kernel adds, a foreign one scales what it wrote, on one stream and one memory."""
    a, b = numbers(rng, 512), numbers(rng, 512)
    function = tw.load_module_from_ptx(PTX).load_function("scale")
    x, y = Arc(put(a)), Arc(put(b))

    async def main():
        z_part, _x, _y = await tile_add(
            tw.zeros((512,)).sync().partition((256,)), x.clone(), y.clone()
        )
        z = z_part.unpartition()
        w = await tw.zeros((512,))
        return await ScaleKernel(function, 3.0, Arc(z), w)

    _, w = asyncio.run(main())
    same(w, np.float32(3) * (a + b))


@pytest.mark.cpu_alone
def test_a37_one_chain_of_both_kinds(assembler, simulated_gpu, rng):
    """The same pipeline as one chain needs no wait in between."""
    a, b = numbers(rng, 512), numbers(rng, 512)
    function = tw.load_module_from_ptx(PTX).load_function("scale")
    w = tw.zeros((512,)).sync()
    op = tile_add(tw.zeros((512,)).partition((256,)), put(a), put(b)).then(
        lambda z, *_: ScaleKernel(function, 3.0, Arc(z.unpartition()), w)
    )
    _, found = op.sync()
    same(found, np.float32(3) * (a + b))
