"""Streams, contexts, modules and functions of other libraries, used and left as they were."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng

driver = pytest.importorskip("cuda.bindings.driver")

PTX = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry put(.param .u64 p, .param .u32 n) {
.reg .u64 %a; .reg .u32 %n; .reg .f32 %f;
ld.param.u64 %a,[p]; ld.param.u32 %n,[n]; cvt.rn.f32.u32 %f,%n;
st.global.f32 [%a],%f; ret; }
"""


@tw.entry
def double(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile + tile)


def ask(call, *args):
    status, *found = getattr(driver, call)(*args)
    assert int(status) == 0, (call, status)
    return found[0] if len(found) == 1 else found


def of_torch():
    torch = pytest.importorskip("torch")
    return torch.cuda.Stream(), lambda s: s.cuda_stream, lambda s: s.synchronize()


def of_torch_default():
    torch = pytest.importorskip("torch")
    return torch.cuda.default_stream(), lambda s: 1, lambda s: s.synchronize()


def of_cupy():
    cupy = pytest.importorskip("cupy")
    return cupy.cuda.Stream(non_blocking=True), lambda s: s.ptr, lambda s: s.synchronize()


def of_cuda_core():
    core = pytest.importorskip("cuda.core")
    if not hasattr(core, "Device"):
        core = pytest.importorskip("cuda.core.experimental")
    gpu = core.Device(0)
    gpu.set_current()
    return gpu.create_stream(), lambda s: int(s.handle), lambda s: s.sync()


LIBRARIES = [of_torch, of_torch_default, of_cupy, of_cuda_core]


@pytest.fixture(params=LIBRARIES, ids=lambda make: make.__name__)
def theirs(request):
    """A stream of another library, how to find its handle, and how to wait for it."""
    return request.param()


def test_work_runs_on_streams_of_other_libraries(theirs, rng, device):
    stream, handle, wait = theirs
    data = rng.random(1000).astype("f4")
    x = tw.from_numpy(data).sync_on(stream)
    z = tw.zeros((1000,)).sync()
    double(z.partition_mut((64,)), x).sync_on(stream)
    assert np.array_equal(z.to_numpy(), 2 * data)
    again = x.dup().schedule(tw.SingleStream(stream)).result()
    assert np.array_equal(again.to_numpy(), data)
    started = x.dup().start_on(stream)
    wait(stream)
    assert np.array_equal(started.to_numpy(), data)
    with tw.with_default_device_policy(tw.SingleStream(stream)) as policy:
        assert policy.next_stream().handle == handle(stream)
        assert x.dup().sync().to_numpy().sum() == data.sum()


def test_their_stream_is_usable_when_ours_is_gone(theirs, rng):
    stream, handle, wait = theirs
    data = rng.random(1000).astype("f4")
    with tw.unsafe():
        borrowed = tw.Stream.borrow_raw(handle(stream), "cuda", owner=stream)
    x = tw.from_numpy(data).sync_on(borrowed)
    del borrowed
    gc.collect()
    wait(stream)
    assert np.array_equal(x.dup().sync_on(stream).to_numpy(), data)
    wait(stream)


def test_owners_are_kept(device):
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    handle = device.new_stream()
    with tw.unsafe():
        borrowed = tw.Stream.borrow_raw(handle.handle, device, owner=owner)
    del owner
    gc.collect()
    assert alive() is not None
    del borrowed
    gc.collect()
    assert alive() is None


def test_order_on_a_stream_of_torch_needs_no_waits():
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    z = tw.zeros((1 << 20,)).sync()
    for _ in range(5):
        with torch.cuda.stream(stream):
            x = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(20_000_000)
            x += 3
            double(z.partition_mut((1024,)), x).start_on(stream)
            seen = torch.from_dlpack(z).clone()
        stream.synchronize()
        assert (seen == 6).all()
        del seen
    assert (z.to_numpy() == 6).all()


def test_a_capture_of_torch_is_left_alone():
    torch = pytest.importorskip("torch")
    x = torch.zeros(100, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        with pytest.raises(tw.SchedulingError, match="another library is capturing"):
            tw.zeros((3,)).sync_on(torch.cuda.current_stream())
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 1).all()


def test_the_stream_of_each_thread_is_refused():
    class Stream:
        def __cuda_stream__(self):
            return 0, 2

    with pytest.raises(tw.SchedulingError, match="default stream of each thread"):
        tw.zeros((3,)).sync_on(Stream())


def test_modules_and_functions_of_the_driver(device):
    context = ask("cuDevicePrimaryCtxRetain", 0)
    ask("cuCtxSetCurrent", context)
    module = ask("cuModuleLoadData", PTX + b"\0")
    function = ask("cuModuleGetFunction", module, b"put")
    t = tw.zeros((4,)).sync()
    with tw.unsafe():
        assert tw.Device.borrow_raw(int(context), 0) is device
        ours = tw.Module.borrow_raw(int(module), device)
        found = tw.Function.borrow_raw(int(function), ours)
        assert found.name == "put" and tuple(found.parameter_sizes) == (8, 4)
        for number, each in enumerate((found, ours.load_function("put")), 1):
            launch = tw.AsyncKernelLaunch(each)
            launch.push_device_ptr(t.device_pointer()).push_arg(tw.u32(number))
            launch.set_launch_config(tw.LaunchConfig((1,))).sync()
            assert t.to_numpy()[0] == number
    del ours, found, each, launch
    gc.collect()
    tw.zeros((3,)).sync()
    device.new_stream()
    assert int(ask("cuModuleGetFunction", module, b"put")) == int(function)
    ask("cuModuleUnload", module)
    ask("cuCtxSetCurrent", 0)


def test_a_context_of_ones_own(rng):
    try:
        context = ask("cuCtxCreate", None, 0, 0)
    except TypeError:
        context = ask("cuCtxCreate", 0, 0)
    ask("cuCtxPopCurrent")
    data = rng.random(100).astype("f4")
    with tw.unsafe():
        device = tw.Device.borrow_raw(int(context), 0, owner=context)
    with tw.device(device):
        x = tw.from_numpy(data).sync()
        z = tw.zeros((100,)).sync()
        double(z.partition_mut((64,)), x).sync()
        assert z.device is device and np.array_equal(z.to_numpy(), 2 * data)


def test_two_gpus():
    gpus = [device for device in tw.devices() if device.name.startswith("cuda")]
    if len(gpus) < 2:
        pytest.skip("one GPU here")
    first, second = gpus[:2]
    data = fresh_rng().random((60, 80)).astype("f4")
    t = tw.from_numpy(data, device=first).sync()
    assert np.array_equal(t.to(second).sync().to_numpy(), data)
    assert np.array_equal(t[::2, 3:].to(second).sync().to(first).sync().to_numpy(), data[::2, 3:])
    with tw.unsafe(), pytest.raises(tw.ContextError, match="a stream of another device"):
        tw.Stream.borrow_raw(second.new_stream().handle, first)
