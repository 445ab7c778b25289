"""Raw handles of other libraries: streams, contexts, modules and functions."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ContextError, SchedulingError
from tilewright.devices.cuda.calls import Calls


class Owner:
    """Keeps a handle valid."""


@pytest.fixture
def theirs(fake_gpu, fake_cuda: Calls):
    """A stream, a module and a function that another library has made."""
    fake_cuda.kernels["scale"] = lambda values, grid: None
    context = fake_gpu.context
    module = context.call(fake_cuda.load_module, b"code")
    return (
        context.call(fake_cuda.create_stream), module,
        context.call(fake_cuda.find_function, module, "scale"),
    )  # fmt: skip


def test_work_runs_on_a_borrowed_stream(fake_gpu, fake_cuda, theirs):
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(theirs[0], fake_gpu)
    assert isinstance(stream, tw.Stream) and stream.device is fake_gpu
    t = tw.from_numpy(np.arange(5, dtype="f4"), device=fake_gpu).sync_on(stream)
    assert ("copy_in", 20, theirs[0]) in fake_cuda.log
    future = t.dup().schedule(tw.SingleStream(stream))
    assert np.array_equal(future.result().to_numpy(), np.arange(5))
    with tw.with_default_device_policy(tw.SingleStream(stream)):
        assert t.dup().sync().to_numpy().sum() == 10
    del stream, future
    gc.collect()
    assert ("stream", theirs[0]) not in fake_cuda.ended


def test_kernels_of_borrowed_code_are_launched(fake_gpu, fake_cuda, theirs):
    seen = []
    fake_cuda.kernels["scale"] = lambda values, grid: seen.append((values, grid))
    with tw.unsafe():
        module = tw.Module.borrow_raw(theirs[1], "cuda")
        function = tw.Function.borrow_raw(theirs[2], module)
    assert isinstance(module, tw.Module) and isinstance(function, tw.Function)
    assert function.name == "scale" and repr(function) == "Function('scale')"
    for each in (function, module.load_function("scale")):
        launch = tw.AsyncKernelLaunch(each).push_arg(tw.u32(7))
        launch.set_launch_config(tw.LaunchConfig((3,))).sync_on(fake_gpu.streams()[0])
    assert seen == [([7], (3, 1, 1))] * 2
    del module, function, each, launch
    gc.collect()
    fake_gpu.new_stream()
    assert ("module", theirs[1]) not in fake_cuda.ended


def test_owners_live_as_long_as_what_was_borrowed(fake_gpu, theirs):
    owners = [Owner() for _ in range(4)]
    with tw.unsafe():
        device = tw.Device.borrow_raw(70, 0, owner=owners[0])
        stream = tw.Stream.borrow_raw(theirs[0], fake_gpu, owner=owners[1])
        module = tw.Module.borrow_raw(theirs[1], fake_gpu, owner=owners[2])
        function = tw.Function.borrow_raw(theirs[2], module, owner=owners[3])
    alive = [weakref.ref(owner) for owner in owners]
    owners.clear()
    del module
    gc.collect()
    assert None not in [owner() for owner in alive], "a function keeps its module, and its owner"
    del device, stream, function
    gc.collect()
    assert [owner() for owner in alive] == [None] * 4


def test_the_primary_context_is_the_device(fake_gpus):
    first, second = fake_gpus
    with tw.unsafe():
        assert tw.Device.borrow_raw(first.context.handle, 0) is first
        assert tw.Device.borrow_raw(second.context.handle, 1, 1) is second


def test_another_context_has_memory_and_streams_of_its_own(fake_gpu, fake_cuda):
    with tw.unsafe():
        device = tw.Device.borrow_raw(70, 0)
    assert device is not fake_gpu and isinstance(device, tw.Device)
    fake_cuda.current = []
    t = tw.from_numpy(np.arange(5, dtype="f4"), device=device).sync()
    assert t.device is device and np.array_equal(t.to_numpy(), np.arange(5))
    assert {fake_cuda.contexts[stream.handle] for stream in device.streams()} == {70}
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(device.streams()[0].handle, device)
    assert t.dup().sync_on(stream).device is device


def test_raw_handles_are_unsafe(fake_gpu, theirs):
    with tw.unsafe():
        module = tw.Module.borrow_raw(theirs[1], fake_gpu)
    for borrow in (
        lambda: tw.Device.borrow_raw(70, 0),
        lambda: tw.Stream.borrow_raw(theirs[0], fake_gpu),
        lambda: tw.Module.borrow_raw(theirs[1], fake_gpu),
        lambda: tw.Function.borrow_raw(theirs[2], module),
    ):
        with pytest.raises(ContextError, match=r"is borrowed inside `tw.unsafe\(\)`"):
            borrow()


def test_what_does_not_belong_there_is_refused(fake_gpus, theirs):
    with tw.unsafe():
        with pytest.raises(ContextError, match="a stream of another device") as caught:
            tw.Stream.borrow_raw(theirs[0], fake_gpus[1])
        assert (caught.value.expected, caught.value.got) == (
            "a stream of cuda:1", "a stream of cuda:0",
        )  # fmt: skip
        with pytest.raises(ContextError, match="can only be borrowed on a GPU"):
            tw.Stream.borrow_raw(theirs[0], "cpu")
        with pytest.raises(ContextError, match="no GPU of the number 2"):
            tw.Device.borrow_raw(70, 2)


class Theirs:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


def test_foreign_streams_are_streams_wherever_one_is_taken(fake_gpu, fake_cuda, theirs):
    stream = Theirs(theirs[0])
    t = tw.from_numpy(np.arange(5, dtype="f4"), device=fake_gpu).sync_on(stream)
    assert t.dup().start_on(stream).to_numpy().sum() == 10
    assert t.dup().schedule(tw.SingleStream(stream)).result().to_numpy().sum() == 10

    class Policy:
        def next_stream(self):
            return stream

    assert t.dup().schedule(Policy()).result().to_numpy().sum() == 10
    z = tw.zeros((5,), device=fake_gpu).sync()
    graph = tw.memcpy(z.borrow_mut(), t).graph_on(stream)
    graph.launch().sync_on(stream)
    assert z.to_numpy().sum() == 10
    with tw.CudaGraph.scope(stream) as scope:
        scope.record(tw.memcpy(z.borrow_mut(), t))
    put = {entry[-1] for entry in fake_cuda.log if entry[0] in ("copy_in", "copy_within", "graph")}
    assert theirs[0] in put


def test_a_stream_of_another_device_than_the_tensors(fake_gpus, fake_cuda):
    first, second = fake_gpus
    t = tw.from_numpy(np.arange(5, dtype="f4"), device=first).sync()
    other = Theirs(second.context.call(fake_cuda.create_stream))
    before = len(fake_cuda.log)
    for end in (
        lambda op: op.sync_on(other),
        lambda op: op.start_on(other),
        lambda op: op.schedule(tw.SingleStream(other)),
    ):
        with pytest.raises((SchedulingError, ContextError), match="another device"):
            end(t.dup())
    assert len(fake_cuda.log) == before


def test_what_is_no_stream_is_refused(fake_gpu):
    with pytest.raises(SchedulingError, match="`sync_on` takes a stream") as caught:
        tw.zeros((3,), device=fake_gpu).sync_on(7)
    assert caught.value.expected == "a Stream, or an object with __cuda_stream__"
