"""Calls of the driver, and handles of other libraries."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.conftest import PTX
from seeds.kernels import numbers, put, same
from tilewright import f32
from tilewright.interop import cuda

CALLS = ("malloc_async", "memcpy_htod_async", "memcpy_dtoh_async", "free_async")


@tw.entry
def on_a_borrowed_stream(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)


@pytest.fixture
def stream_handle(fake_gpu, fake_cuda):
    """A stream that another library has made."""
    return fake_gpu.context.call(fake_cuda.create_stream)


def test_a38_with_context_gives_the_stream(device):
    """`with_context(f)` calls f with the context, of which `get_cuda_stream()` is the stream.

    Differs: other-names
    """
    stream, calls = device.new_stream(), []

    def f(ctx):
        calls.append(ctx)
        return tw.value(ctx.stream)

    op = tw.with_context(f)
    assert calls == []
    assert op.sync_on(stream) is stream and len(calls) == 1


def test_a39_memory_of_the_driver(fake_gpu, rng):
    """Memory is allocated, filled and freed by calls on the op's stream."""
    data, back = numbers(rng, 1000), np.zeros(1000, "f4")

    def there(ctx):
        with tw.unsafe():
            address = cuda.malloc_async(data.nbytes, ctx.stream)
            cuda.memcpy_htod_async(address, data, ctx.stream)
        return tw.value(address)

    address = tw.with_context(there).sync()
    assert isinstance(address, int) and address

    def and_back(ctx):
        with tw.unsafe():
            cuda.memcpy_dtoh_async(back, address, ctx.stream)
            cuda.free_async(address, ctx.stream)
        return tw.value(None)

    assert tw.with_context(and_back).sync() is None
    np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize("call", CALLS)
def test_a40_calls_of_the_driver_are_unsafe(call, fake_gpu):
    """They are made inside of `tw.unsafe()` alone."""
    stream, data = fake_gpu.new_stream(), np.zeros(4, "f4")
    arguments = {
        "malloc_async": (16, stream), "free_async": (1024, stream),
        "memcpy_htod_async": (1024, data, stream), "memcpy_dtoh_async": (data, 1024, stream),
    }[call]  # fmt: skip
    with pytest.raises(tw.Error, match=r"tw\.unsafe\(\)"):
        getattr(cuda, call)(*arguments)


def test_a41_with_context_composes(rng, device):
    """Such an op is awaited, chained and zipped like others."""
    data = numbers(rng, 16)
    op = tw.with_context(lambda ctx: tw.from_numpy(data))
    found = tw.zip(op, tw.value(2)).map(lambda t, n: (t, n)).sync()
    same(found[0], data)


def test_a42_host_data_is_kept_until_the_copy_is_over(fake_gpu, fake_cuda, rng):
    """The host's data has to outlive an asynchronous copy.

    Differs: lifetimes
    """
    stream, data, back = fake_gpu.new_stream(), numbers(rng, 64), np.zeros(64, "f4")
    expected = data.copy()
    with tw.unsafe():
        address = cuda.malloc_async(data.nbytes, stream)
        fake_cuda.hold(stream)
        cuda.memcpy_htod_async(address, data, stream)
        del data
        gc.collect()
        filler = [np.zeros(64, "f4") for _ in range(20)]
        fake_cuda.release()
        cuda.memcpy_dtoh_async(back, address, stream)
        cuda.free_async(address, stream)
    stream.synchronize()
    np.testing.assert_array_equal(back, expected)
    assert not any(array.any() for array in filler)


def test_a43_a_device_is_borrowed_by_its_context(fake_gpus):
    """`Device.borrow_raw(context, device, ordinal)` is a device of a foreign context."""
    with tw.unsafe():
        own = tw.Device.borrow_raw(fake_gpus[1].context.handle, 1, 1)
        other = tw.Device.borrow_raw(70, 0, 0)
    assert own is fake_gpus[1] and isinstance(other, tw.Device)


def test_a44_a_stream_is_borrowed_of_a_device(fake_gpu, stream_handle, fake_cuda):
    """`Stream.borrow_raw(handle, device)` is a foreign stream, to which work is sent."""
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(stream_handle, fake_gpu)
    same(tw.from_numpy(np.arange(5, dtype="f4")).sync_on(stream), np.arange(5))
    assert ("copy_in", 20, stream_handle) in fake_cuda.log


def test_a45_handles_are_plain_numbers(fake_gpu, stream_handle):
    """Handles are taken as numbers, whichever binding they come from."""
    with tw.unsafe():
        for handle in (stream_handle, np.uint64(stream_handle)):
            assert tw.Stream.borrow_raw(handle, fake_gpu).device is fake_gpu
        pointer = ctypes.c_void_p(stream_handle)
        assert tw.Stream.borrow_raw(pointer.value, fake_gpu).device is fake_gpu


def test_a46_borrowing_handles_is_unsafe(fake_gpu, stream_handle):
    """That a handle is valid and stays so is up to who borrows it."""
    for borrow in (
        lambda: tw.Stream.borrow_raw(stream_handle, fake_gpu),
        lambda: tw.Device.borrow_raw(70, 0),
        lambda: tw.Module.borrow_raw(70, fake_gpu),
    ):
        with pytest.raises(tw.Error, match=r"tw\.unsafe\(\)"):
            borrow()


@pytest.mark.cpu_alone
def test_a47_kernels_run_on_a_borrowed_stream(assembler, simulated_gpu, rng):
    """Tile kernels run on the borrowed stream."""
    driver, data = simulated_gpu._driver, numbers(rng, 64)
    handle = simulated_gpu.context.call(driver.create_stream)
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(handle, simulated_gpu)
    z = tw.zeros((64,)).sync()
    on_a_borrowed_stream(z.partition_mut((64,)), put(data)).sync_on(stream)
    same(z, data + np.float32(1))
    assert any(entry[0] == "launch" and entry[-1] == handle for entry in driver.log)


def test_a48_dropping_borrowed_handles_destroys_nothing(fake_gpu, fake_cuda, stream_handle):
    """Streams are not destroyed, modules not unloaded, contexts not released."""
    module_handle = fake_gpu.context.call(fake_cuda.load_module, b"code")
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(stream_handle, fake_gpu)
        module = tw.Module.borrow_raw(module_handle, fake_gpu)
        context = tw.Device.borrow_raw(70, 0)
    del stream, module, context
    gc.collect()
    fake_gpu.new_stream()
    assert not {("stream", stream_handle), ("module", module_handle)} & set(fake_cuda.ended)


def test_a49_modules_and_functions_are_borrowed(fake_gpu, fake_cuda):
    """`Module.borrow_raw` and `Function.borrow_raw` take code that is loaded already."""
    seen = []
    fake_cuda.kernels["theirs"] = lambda values, grid: seen.append((values, grid))
    module_handle = fake_gpu.context.call(fake_cuda.load_module, b"code")
    handle = fake_gpu.context.call(fake_cuda.find_function, module_handle, "theirs")
    with tw.unsafe():
        module = tw.Module.borrow_raw(module_handle, fake_gpu)
        function = tw.Function.borrow_raw(handle, module)
    launch = tw.AsyncKernelLaunch(function).push_arg(tw.u32(7))
    launch.set_launch_config(tw.LaunchConfig((3,))).sync()
    assert seen == [([7], (3, 1, 1))]
    assert tw.load_module_from_ptx(PTX).load_function("theirs").name == "theirs"


def test_a50_an_owner_is_kept_alive(fake_gpu, stream_handle):
    """Whoever lends a handle keeps it valid while it is borrowed.

    Differs: owners-of-borrowed-handles
    """

    class Owner:
        gone = False

        def __del__(self):
            Owner.gone = True

    with tw.unsafe():
        stream = tw.Stream.borrow_raw(stream_handle, fake_gpu, owner=Owner())
    gc.collect()
    assert not Owner.gone
    del stream
    gc.collect()
    assert Owner.gone
