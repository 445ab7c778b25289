from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from tilewright.devices.host import CPU
from tilewright.interop.cuda import free_async, malloc_async, memcpy_dtoh_async, memcpy_htod_async


def test_memory_comes_and_goes_in_the_order_of_a_stream(fake_gpu, fake_cuda):
    data = fresh_rng().random(1000, np.float32)
    found = np.full(1000, np.nan, np.float32)

    def put(ctx):
        with tw.unsafe():
            address = malloc_async(data.nbytes, ctx.stream)
            memcpy_htod_async(address, data, ctx.stream)
            memcpy_dtoh_async(found, address, ctx.stream)
        return tw.value(address)

    def free(ctx):
        with tw.unsafe():
            free_async(address, ctx.stream)
        return tw.value(None)

    with tw.device(fake_gpu):
        before = len(fake_cuda.memory)
        address = tw.with_context(put).sync()
        np.testing.assert_array_equal(found, data)
        assert address in fake_cuda.memory
        tw.with_context(free).sync()
        assert len(fake_cuda.memory) == before


def test_copies_run_when_their_stream_does(fake_gpu, fake_cuda):
    stream = fake_gpu.new_stream()
    found = np.zeros(4, np.int32)
    with tw.unsafe():
        address = malloc_async(16, stream)
        fake_cuda.hold(stream)
        memcpy_htod_async(address, np.arange(4, dtype=np.int32), stream)
        memcpy_dtoh_async(found, address, stream)
        assert not found.any()
        fake_cuda.release()
        stream.synchronize()
        assert found.tolist() == [0, 1, 2, 3], "the array was kept, though nobody else had it"
        free_async(address, stream)


def test_what_is_refused(fake_gpu, fake_cuda):
    stream, data = fake_gpu.new_stream(), np.zeros(8, np.float32)
    with pytest.raises(tw.LaunchError, match="malloc_async is an unchecked driver call"):
        malloc_async(16, stream)
    fixed = data.copy()
    fixed.flags.writeable = False
    with tw.unsafe():
        with pytest.raises(tw.ContextError, match="memcpy_htod_async takes a stream of a GPU"):
            memcpy_htod_async(64, data, CPU.new_stream())
        with pytest.raises(tw.ShapeError, match="copies contiguous bytes"):
            memcpy_htod_async(64, data[::2], stream)
        with pytest.raises(tw.ShapeError, match="read-only"):
            memcpy_dtoh_async(fixed, 64, stream)
        stream.begin_capture()
        with pytest.raises(tw.DriverError, match="malloc_async cannot be recorded in a graph"):
            malloc_async(16, stream)
        with pytest.raises(tw.DriverError, match="free_async cannot be recorded in a graph"):
            free_async(64, stream)
        stream.end_capture()
    assert not [entry for entry in fake_cuda.log if "copy" in entry[0]]
