"""Devices and streams."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same, scaled, stream_of_op


def test_b069_a_device_by_its_number(fake_gpus):
    """`Device.new(n)` is the GPU of a number; there are errors for numbers without one."""
    for number, gpu in enumerate(fake_gpus):
        assert tw.Device.new(number) is gpu and tw.Device(number) is gpu
    with pytest.raises(tw.DeviceError):
        tw.Device.new(2)


def test_b070_how_many_devices(fake_gpus):
    """`Device::device_count()` says how many GPUs there are.

    Differs: other-names
    """
    assert tw.device_count() == len(fake_gpus) == 2


def test_b071_devices_know_their_numbers(fake_gpus):
    """`ordinal` is the number of a GPU."""
    assert [gpu.ordinal for gpu in fake_gpus] == [0, 1]


def test_b072_devices_know_what_hardware_they_are(fake_gpus):
    """`name()` of a device is that of the hardware.

    Differs: names-of-devices
    """
    assert [gpu.model for gpu in fake_gpus] == ["Fake 0", "Fake 1"]
    assert [gpu.name for gpu in fake_gpus] == ["cuda:0", "cuda:1"]


def test_b073_devices_make_streams(device):
    """`device.new_stream()` is another stream of the device."""
    first, second = device.new_stream(), device.new_stream()
    assert isinstance(first, tw.Stream) and first is not second
    assert first.device is device and second.device is device


def test_b074_foreign_handles_are_borrowed(fake_gpu, fake_cuda):
    """Contexts, streams, modules and functions of others are borrowed, not taken over."""
    handle = fake_gpu.context.call(fake_cuda.create_stream)
    with tw.unsafe():
        gpu = tw.Device.borrow_raw(fake_gpu.context.handle, 0)
        stream = tw.Stream.borrow_raw(handle, gpu)
    assert stream.device is gpu and isinstance(gpu, tw.Device)


def test_b075_devices_are_shared_by_threads(rng, device):
    """Devices and streams may be used by several threads."""
    data, stream, found = numbers(rng, 64), device.new_stream(), []

    def work():
        with tw.device(device):
            found.append(scaled(put(data), 2.0).to_numpy().sync_on(stream))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(each, np.float32(2) * data) for each in found)


def test_b076_streams_are_named_where_order_matters(device):
    """A stream is passed to an ending, and the work runs there."""
    stream = device.new_stream()
    assert stream_of_op().sync_on(stream) is stream


def test_b077_who_names_no_stream_gets_one(device):
    """Where no stream is named, a policy chooses one in turn."""
    found = [stream_of_op().sync() for _ in range(4)]
    assert len(set(map(id, found))) == 4
    assert all(stream.device is device for stream in found)


def test_b078_borrowed_handles_are_never_destroyed(fake_gpu, fake_cuda):
    """Dropping what was borrowed destroys nothing."""
    handle = fake_gpu.context.call(fake_cuda.create_stream)
    with tw.unsafe():
        stream = tw.Stream.borrow_raw(handle, fake_gpu)
    same(tw.from_numpy(np.arange(4, dtype="f4")).sync_on(stream), np.arange(4))
    del stream
    fake_gpu.synchronize()
    assert ("stream", handle) not in fake_cuda.ended


def test_b079_there_is_always_a_device():
    """A program begins with a GPU and streams of it.

    Differs: devices-without-a-gpu
    """
    names = [device.name for device in tw.devices()]
    assert "cpu" in names and "reference" in names
    assert tw.ones((3,), device="cpu").sync().device.name == "cpu"
