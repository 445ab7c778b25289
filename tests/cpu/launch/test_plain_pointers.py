"""Launches through raw pointers by the core's own path: ordered by their memory, borrowing none."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import called_launches, python_calls
from tilewright.devices import registry


@tw.entry(unsafe=True)
def doubled(p: tl.Ptr[tw.f32], n: tw.i32) -> None:
    i = tl.arange(8) + tl.block_id(0) * 8
    tl.scatter(p, i, tl.gather(p, i, i < n) * 2.0, i < n)


@tw.entry(unsafe=True)
def filled(p: tl.Ptr[tw.f32], n: tw.i32) -> None:
    i = tl.arange(8) + tl.block_id(0) * 8
    tl.scatter(p, i, tl.full((8,), 1.0), i < n)


@tw.entry(unsafe=True)
def added(z: tl.TensorMut[tw.f32], p: tl.Ptr[tw.f32], x: tl.Tensor[tw.f32], n: tw.i32) -> None:
    i = tl.arange(8) + tl.block_id(0) * 8
    z.store(tl.gather(p, i, i < n) + tl.load_tile_like(x, z))


@tw.entry
def copied(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z))


@pytest.fixture(params=["cpu", "cuda"])
def device(request, monkeypatch):
    if request.param == "cpu":
        with tw.device("cpu") as cpu:
            yield cpu
        return
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (gpu,) = registry._Gpus.found
    with tw.device(gpu):
        yield gpu


def numbers(n=16):
    return np.arange(n, dtype=np.float32)


def doubling(t, n=None):
    with tw.unsafe():
        return doubled(t.device_pointer(), t.size if n is None else n).grid((-(-t.size // 8),))


def adding(z, p, x):
    with tw.unsafe():
        return added(z.partition_mut(8), p.device_pointer(), x, p.size)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 31])
def test_the_core_launches_them(device, monkeypatch, count):
    t = tw.from_numpy(numbers(count)).sync()
    doubling(t).sync()  # is compiled
    called = called_launches(monkeypatch)
    doubling(t).sync()
    entered = python_calls(lambda: doubling(t).sync())
    np.testing.assert_array_equal(t.to_numpy(), 8 * numbers(count))
    assert called == []
    assert not [name for name in entered if "Binder" in name or "start" in name]


@pytest.mark.parametrize("count", [1, 8, 13])
def test_beside_borrows(device, monkeypatch, count):
    z, x = tw.zeros((count,)).sync(), tw.from_numpy(numbers(count)).sync()
    p = tw.from_numpy(10 * numbers(count)).sync()
    adding(z, p, x).sync()
    called = called_launches(monkeypatch)
    for k in (2, 3):
        p = tw.from_numpy(10 * k * numbers(count)).sync()
        back, pointer, read, n = adding(z, p, x).sync()
        assert back.unpartition() is z and read is x and n == count
        np.testing.assert_array_equal(z.to_numpy(), (10 * k + 1) * numbers(count))
        assert pointer.address == p.device_pointer().address
    assert called == []


def test_one_tensor_may_be_pointed_to_and_written(device, monkeypatch):
    """Who points anywhere answers for it."""
    z, x = tw.from_numpy(numbers()).sync(), tw.from_numpy(numbers()).sync()
    adding(z, z, x).sync()
    called = called_launches(monkeypatch)
    adding(z, z, x).sync()
    np.testing.assert_array_equal(z.to_numpy(), 3 * numbers())
    assert called == []


def test_a_pointer_borrows_nothing(device, monkeypatch):
    t, out = tw.from_numpy(numbers()).sync(), tw.zeros((16,)).sync()
    part, view = t.partition_mut(8), out[:8]
    doubling(t).sync()
    reading = copied(out.partition_mut(8), t)
    called = called_launches(monkeypatch)
    doubling(t).sync()
    reading.sync()  # its borrow has not ended
    np.testing.assert_array_equal(out.to_numpy(), 4 * numbers())
    with pytest.raises(tw.BorrowError):
        view.to_numpy()
    assert called == []
    with pytest.raises(tw.BorrowError):
        copied(part, out).sync()


def test_it_is_ordered_as_one_that_writes(device):
    t, out = tw.from_numpy(numbers()).sync(), tw.zeros((16,)).sync()
    doubling(t).sync()
    copied(out.partition_mut(8), t).sync()
    streams = [device.new_stream() for _ in range(3)]
    for k in range(30):
        doubling(t).start_on(streams[k % 3])
        copied(out.partition_mut(8), t).start_on(streams[(k + 1) % 3])
    expected = numbers()
    for _ in range(31):
        expected = 2 * expected
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_memory_that_is_written_so_may_be_read(device, monkeypatch):
    called = None
    for _ in range(2):
        t = tw.empty((16,)).sync()
        with pytest.raises(tw.Error):
            t.to_numpy()
        with tw.unsafe():
            filled(t.device_pointer(), 16).grid((2,)).sync()
        np.testing.assert_array_equal(t.to_numpy(), np.ones(16, np.float32))
        called = called_launches(monkeypatch) if called is None else called
    assert called == []


def test_an_unsafe_kernel_that_is_known_is_refused_outside(device):
    t = tw.from_numpy(numbers()).sync()
    doubling(t).sync()
    pointer = t.device_pointer()
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match=r"tw\.unsafe\(\)"):
            doubled(pointer, 16)
    with tw.unsafe():
        doubled(pointer, 16).grid((2,)).sync()
    np.testing.assert_array_equal(t.to_numpy(), 4 * numbers())


def test_other_kinds_of_pointers(device):
    """Of views, whose memory has other parts, and of other arguments than pointers."""
    t = tw.from_numpy(numbers(32)).sync()
    doubling(t[8:24]).sync()
    doubling(t[8:24]).sync()
    expected = numbers(32)
    expected[8:24] *= 4
    np.testing.assert_array_equal(t.to_numpy(), expected)
    with tw.unsafe():
        for wrong in (5, None, t, object()):
            with pytest.raises(TypeError, match="a raw pointer"):
                doubled(wrong, 16)
        with pytest.raises(tw.ShapeError, match="element type"):
            doubled(tw.zeros((4,), tw.i32).sync().device_pointer(), 4)
