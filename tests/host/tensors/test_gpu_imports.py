from __future__ import annotations

import gc

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.fake_cuda import FakeCuda, names
from support.numbers import fresh_rng
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice
from tilewright.tensors.gpu_imports import memory_on_gpu


@pytest.fixture
def fake():
    return FakeCuda()


@pytest.fixture
def device(fake, monkeypatch):
    """A GPU on a driver in Python, which is the one that is found."""
    made = CudaDevice(fake, 0)
    monkeypatch.setattr(registry._Gpus, "found", (made,))
    return made


class Theirs:
    """An array of another library: a tensor of ours that only speaks DLPack."""

    def __init__(self, tensor):
        self.tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=-1, max_version=max_version)


class Interface:
    """An array that only has CUDA's array interface."""

    def __init__(self, tensor, **changes):
        known = tensor.__cuda_array_interface__
        self.tensor, self.__cuda_array_interface__ = tensor, {**known, **changes}


def some(device, shape=(3, 4)):
    return tw.from_numpy(fresh_rng().random(shape).astype("f4"), device=device).sync()


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


def test_what_is_not_on_a_gpu_is_none():
    for x in (np.zeros(3), np.float32(1), tw.zeros((3,)).sync(), 7, "text"):
        assert memory_on_gpu(x) is None


def test_arrays_come_in_without_a_copy(device):
    tensor = some(device)
    theirs = Theirs(tensor)
    ours = tw.asarray(theirs)
    assert ours.device is device
    assert ours.region.address == tensor.region.address
    assert np.array_equal(ours.to_numpy(), tensor.to_numpy())
    assert theirs.streams == [device.streams()[0].handle], "their stream is told of ours"


def test_other_streams_wait_for_the_one_that_waits_for_them(device, fake):
    theirs = Theirs(some(device))
    fake.hold(device.streams()[0])
    ours = tw.asarray(theirs)
    fake.log.clear()
    ours.dup().start_on(device.new_stream())
    assert "wait" in names(fake.log)
    fake.release()


def test_their_memory_is_theirs_until_we_let_go(device):
    tensor = some(device)
    ours = tw.asarray(Theirs(tensor))
    with pytest.raises(BorrowError, match="another library uses it"):
        tw.memcpy(tensor, np.zeros((3, 4), "f4")).sync()
    del ours
    gc.collect()
    tw.empty((1,)).sync()
    tw.memcpy(tensor, np.zeros((3, 4), "f4")).sync()


def test_arrays_with_the_interface_come_in(device):
    tensor = some(device)
    ours = tw.asarray(Interface(tensor[:, 1:3]))
    assert np.array_equal(ours.to_numpy(), tensor.to_numpy()[:, 1:3])


def test_a_stream_of_the_interface_is_followed(device, fake):
    tensor = some(device)
    other = device.new_stream()
    fake.log.clear()
    tw.asarray(Interface(tensor, stream=other.handle))
    assert "wait" in names(fake.log)
    fake.log.clear()
    tw.asarray(Interface(tensor, stream=None))
    assert "wait" not in names(fake.log)


def test_odd_strides_are_refused(device):
    with pytest.raises(ShapeError, match="whole elements"):
        tw.asarray(Interface(some(device), strides=(16, 3)))


def test_a_type_with_another_memory_form_is_refused(device):
    tensor = some(device)
    assert tw.asarray(Theirs(tensor), tw.tf32).dtype is tw.tf32
    with pytest.raises(ShapeError, match="does not convert"):
        tw.asarray(Theirs(tensor), tw.f16)


@pytest.mark.usefixtures("assembler")
def test_their_arrays_are_arguments_of_kernels(device, fake):
    seen = []
    fake.kernels["copy"] = lambda values, grid: seen.append(values)
    tensor, z = some(device), tw.zeros((3, 4), device=device).sync()
    copy(z.partition_mut((2, 2)), Theirs(tensor)).sync()
    assert tensor.region.address in seen[0]
    with pytest.raises(tw.LaunchError, match="different devices"):
        copy(tw.zeros((3, 4), device="cpu").sync().partition_mut((2, 2)), Theirs(tensor))


def test_our_memory_goes_out_and_their_stream_waits(device, fake):
    tensor, stream = some(device), device.new_stream()
    theirs = device.new_stream()
    assert tensor.__dlpack_device__() == (2, 0)
    fake.hold(stream)
    tw.memcpy(tensor, np.ones((3, 4), "f4")).start_on(stream)
    fake.log.clear()
    capsule = tensor.__dlpack__(stream=theirs.handle)
    assert ("wait", theirs.handle) in [(entry[0], entry[-1]) for entry in fake.log]
    fake.release()
    del capsule


@pytest.mark.parametrize("stream", [0, -2])
def test_streams_that_mean_nothing_are_refused(device, stream):
    with pytest.raises(BufferError, match="a stream is 1, 2, -1"):
        some(device).__dlpack__(stream=stream)


def test_copies_go_out_as_such(device, fake):
    tensor = some(device)

    class Copied(Theirs):
        def __dlpack__(self, **wishes):
            return self.tensor.__dlpack__(stream=-1, max_version=(1, 1), copy=True)

    ours = tw.asarray(Copied(tensor))
    assert ours.region.address != tensor.region.address
    assert np.array_equal(ours.to_numpy(), tensor.to_numpy())


def test_only_gpus_have_the_interface(device):
    assert not hasattr(tw.zeros((3,), device="cpu").sync(), "__cuda_array_interface__")
    known = some(device).__cuda_array_interface__
    assert known["data"][1] is True and known["stream"] == device.streams()[0].handle
