from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import called_launches
from tilewright.base.errors import DriverError, LaunchError
from tilewright.devices import registry


@tw.entry
def added(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], y: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def picked(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], where: tl.Tensor[tw.i32]) -> None:
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@pytest.fixture
def gpu(monkeypatch):
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (device,) = registry._Gpus.found
    with tw.device(device):
        yield device


def array(count, start=0):
    return np.arange(start, start + count, dtype=np.float32)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 31])
def test_the_core_copies_arrays_of_the_host(gpu, monkeypatch, count):
    z, y = tw.zeros((count,), tw.f32).sync(), tw.from_numpy(array(count, 5)).sync()
    added(z.partition_mut(8), array(count), y).sync()  # is compiled
    called = called_launches(monkeypatch)
    for start in (1, 2):
        x = array(count, start)
        added(z.partition_mut(8), x, y).sync()
        np.testing.assert_array_equal(z.to_numpy(), x + array(count, 5))
    added(z.partition_mut(8), array(count), array(count, 9)).sync()
    np.testing.assert_array_equal(z.to_numpy(), array(count) + array(count, 9))
    assert called == []


@pytest.mark.parametrize("cut", [np.s_[::2], np.s_[::-1], np.s_[3:], np.s_[::-3]])
def test_arrays_with_gaps(gpu, cut):
    x = array(24)[cut]
    z, y = tw.zeros((len(x),), tw.f32).sync(), tw.zeros((len(x),), tw.f32).sync()
    for _ in range(3):
        added(z.partition_mut(4), x, y).sync()
        np.testing.assert_array_equal(z.to_numpy(), x)
        x += 1


def test_an_array_has_been_read_when_the_launch_was_started(gpu):
    stream = gpu.new_stream()
    z, y = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync()
    added(z.partition_mut(8), array(8), y).sync()
    gpu.context.calls.hold(stream)
    x = array(8)
    added(z.partition_mut(8), x, y).start_on(stream)
    x[:] = -1
    del x
    others = [added(tw.zeros((8,), tw.f32).sync().partition_mut(8), array(8, 70), y)
              for _ in range(3)]  # fmt: skip
    for other in others:
        other.start_on(stream)
    gpu.context.calls.release()
    np.testing.assert_array_equal(z.to_numpy(), array(8))


def test_one_that_takes_long_keeps_its_copy(gpu):
    stream = gpu.new_stream()
    z, y = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync()
    added(z.partition_mut(8), array(8), y).sync()
    gpu.context.calls.hold(stream)
    threading.Timer(0.05, gpu.context.calls.release).start()
    added(z.partition_mut(8), array(8, 3), y).sync_on(stream)
    np.testing.assert_array_equal(z.to_numpy(), array(8, 3))


def test_a_tensor_of_the_host_is_refused_as_before(gpu):
    z, y = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync()
    added(z.partition_mut(8), array(8), y).sync()
    elsewhere = tw.zeros((8,), tw.f32, device="cpu").sync()
    with pytest.raises(LaunchError, match="live on different devices"):
        added(z.partition_mut(8), elsewhere, y)
    added(z.partition_mut(8), array(8), y).sync()


def test_a_kernel_with_checks_reads_arrays_too(gpu, monkeypatch):
    z, inside, outside = tw.zeros((4,), tw.f32).sync(), np.array([1], "i4"), np.array([9], "i4")
    picked(z.partition_mut(4), array(8), inside).sync()
    called = called_launches(monkeypatch)
    picked(z.partition_mut(4), array(8, 1), inside).sync()
    np.testing.assert_array_equal(z.to_numpy(), [5, 6, 7, 8])
    with pytest.raises(LaunchError, match="out of range"):
        picked(z.partition_mut(4), array(8), outside).sync()
    assert called == []


def test_a_copy_that_the_driver_refuses(gpu):
    z, y = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync()
    added(z.partition_mut(8), array(8), y).sync()
    gpu.context.calls.fail("copy_in", 1)
    with pytest.raises(DriverError, match="the launch of `added`"):
        added(z.partition_mut(8), array(8, 1), y).sync()
    added(z.partition_mut(8), array(8, 1), y).sync()
    np.testing.assert_array_equal(z.to_numpy(), array(8, 1))


def test_what_the_cpu_writes_is_waited_for(gpu):
    """Memory of the host that a stream of the CPU has yet to write."""
    z, y = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync()
    x = array(8)
    added(z.partition_mut(8), x, y).sync()
    with tw.device("cpu"):
        shared = tw.from_numpy(array(8)).sync()
        seen = np.from_dlpack(shared)
    for _ in range(2):
        added(z.partition_mut(8), seen, y).sync()
        np.testing.assert_array_equal(z.to_numpy(), array(8))


def test_large_arrays_are_copied_in_pieces(gpu, monkeypatch):
    called = called_launches(monkeypatch)
    z, where = tw.zeros((4,), tw.f32).sync(), tw.from_numpy(np.array([1], "i4")).sync()
    x = np.zeros((16 << 20) // 4 + 4, np.float32)
    x[4:8] = 7
    for _ in range(2):
        picked(z.partition_mut(4), x, where).sync()
        np.testing.assert_array_equal(z.to_numpy(), 4 * [7])
    assert len(called) == 2
