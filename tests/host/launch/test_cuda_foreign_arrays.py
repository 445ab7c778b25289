"""Arrays of other libraries on a GPU: seen where they are, in the order of streams."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import called_launches
from support.exchange_api import Exchange
from tilewright import _core
from tilewright.base.errors import LaunchError
from tilewright.devices import registry
from tilewright.tensors.gpu_imports import LEGACY

_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
DEVICE_TYPE, GPU = 32 + 8, 2
"""Where a versioned DLPack tensor says on what kind of device it is; and the one that is meant."""


class Theirs:
    """An array of another library on a GPU, in memory of its own, which only speaks DLPack."""

    def __init__(self, device, values, **attributes):
        self.array = np.array(values)
        self.memory = device.allocate(self.array.nbytes, zeroed=True)
        bytes_there = (ctypes.c_ubyte * self.array.nbytes).from_address(self.memory.address)
        self.there = np.frombuffer(bytes_there, self.array.dtype)
        self.there[:] = values
        self.streams = []
        self.__dict__.update(attributes)

    def write(self, start):
        self.there[:] = numbers(start)

    def __dlpack_device__(self):
        return GPU, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return self.exported()

    def exported(self):
        capsule = self.there.__dlpack__(max_version=(1, 0))
        there = _pointer(capsule, b"dltensor_versioned")
        ctypes.c_int32.from_address(there + DEVICE_TYPE).value = GPU
        return capsule


@tw.entry
def copied(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z))


@pytest.fixture
def gpu(monkeypatch):
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (device,) = registry._Gpus.found
    with tw.device(device):
        yield device


def numbers(start=0):
    return np.arange(start, start + 8, dtype=np.float32)


@pytest.fixture
def z(gpu):
    """An output; launches that write it are warm, so that the core can run them."""
    z = tw.zeros((8,), tw.f32).sync()
    copied(z.partition_mut(4), Theirs(gpu, numbers())).sync()
    return z


def test_the_core_reads_them_where_they_are(z, gpu, monkeypatch):
    called = called_launches(monkeypatch)
    theirs = Theirs(gpu, numbers())
    for start in (1, 2):
        theirs.there[:] = numbers(start)
        copied(z.partition_mut(4), theirs).sync()
        np.testing.assert_array_equal(z.to_numpy(), numbers(start))
    assert called == []
    ours = {stream.handle for stream in gpu.streams()}
    assert len(theirs.streams) == 2 and ours.issuperset(theirs.streams), "they are told of ours"


def test_an_array_is_made_ready_for_the_stream_that_read_the_one_before(z, gpu):
    theirs, other = Theirs(gpu, numbers()), gpu.new_stream()
    for _ in range(2):
        copied(z.partition_mut(4), theirs).start_on(other)
    assert theirs.streams[-1] == other.handle
    other.synchronize()
    number = other.handle
    del other
    gc.collect()
    copied(z.partition_mut(4), theirs).sync()
    assert theirs.streams[-1] != number, "that stream is gone"


def test_all_streams_come_after_what_their_library_did(z, gpu, monkeypatch):
    called = called_launches(monkeypatch)
    first, other = gpu.streams()[0], gpu.new_stream()
    copied(z.partition_mut(4), Theirs(gpu, numbers())).sync_on(first)  # which is told next
    gpu.context.calls.hold(first)  # theirs has yet to be done
    copied(z.partition_mut(4), Theirs(gpu, numbers(3))).start_on(other)
    assert not other.idle()
    gpu.context.calls.release()
    np.testing.assert_array_equal(z.to_numpy(), numbers(3))
    assert called == []


def test_the_same_array_may_come_any_number_of_times(z, gpu, monkeypatch):
    called = called_launches(monkeypatch)
    theirs, streams = Theirs(gpu, numbers(5)), [gpu.new_stream() for _ in range(3)]
    for number in range(1200):
        copied(z.partition_mut(4), theirs).start_on(streams[number % 3])
    np.testing.assert_array_equal(z.to_numpy(), numbers(5))
    assert called == []
    assert not gpu.streams()[0].full()


def test_they_are_let_go_of(z, gpu):
    gc.collect()
    before = _core.count_imports()
    for _ in range(10):
        copied(z.partition_mut(4), Theirs(gpu, numbers())).sync()
    gc.collect()
    assert _core.count_imports() <= before


def test_their_memory_is_kept_while_it_is_read(z, gpu):
    stream = gpu.new_stream()
    gpu.context.calls.hold(stream)
    theirs = Theirs(gpu, numbers(9))
    kept = weakref.ref(theirs.there)
    copied(z.partition_mut(4), theirs).start_on(stream)
    del theirs.there
    gc.collect()
    assert kept() is not None
    gpu.context.calls.release()
    np.testing.assert_array_equal(z.to_numpy(), numbers(9))


@pytest.mark.parametrize("which", ["wants gradients", "has the negative bit", "has none"])
def test_what_needs_a_closer_look_has_one(z, gpu, which):
    plain = Theirs(gpu, numbers(4))
    theirs = {
        "wants gradients": Theirs(gpu, numbers(), requires_grad=True, detach=lambda: plain),
        "has the negative bit": WithBit(gpu, -numbers(4)),
        "has none": WithoutBit(gpu, numbers(4)),
    }[which]
    if which == "has the negative bit":
        with pytest.raises(LaunchError, match="does not export it"):
            copied(z.partition_mut(4), theirs)
        return
    copied(z.partition_mut(4), theirs).sync()
    np.testing.assert_array_equal(z.to_numpy(), numbers(4))


class WithBit(Theirs):
    def is_neg(self):
        return True


class WithoutBit(Theirs):
    def is_neg(self):
        return False


def test_an_array_of_another_type_is_refused_as_before(z, gpu):
    with pytest.raises(tw.Error, match="x"):
        copied(z.partition_mut(4), Theirs(gpu, np.arange(8, dtype=np.int32)))
    copied(z.partition_mut(4), Theirs(gpu, numbers(1))).sync()
    np.testing.assert_array_equal(z.to_numpy(), numbers(1))


# By functions of C


@pytest.fixture
def exchange():
    return Exchange()


@pytest.fixture
def fast(gpu, exchange):
    """Make arrays whose type has functions of C."""

    class Fast(Theirs):
        __dlpack_c_exchange_api__ = exchange.capsule()

        def __init__(self, values, **attributes):
            self.calls = []
            super().__init__(gpu, values, **attributes)

    return Fast


def test_arrays_are_exported_by_functions_of_c(z, gpu, fast, exchange, monkeypatch):
    called, theirs = called_launches(monkeypatch), fast(numbers(2))
    exchange.stream = gpu.new_stream().handle
    copied(z.partition_mut(4), theirs).sync()
    np.testing.assert_array_equal(z.to_numpy(), numbers(2))
    assert (theirs.calls, theirs.streams, exchange.asked) == (["export"], [], [(GPU, 0)])
    assert called == []


@pytest.mark.parametrize("is_new", [False, True], ids=["the stream before", "another stream"])
def test_a_launch_comes_after_what_is_on_their_stream(z, gpu, fast, exchange, monkeypatch, is_new):
    called, theirs, ours, own = called_launches(monkeypatch), fast(numbers()), *_streams(gpu)
    exchange.stream = own.handle
    copied(z.partition_mut(4), theirs).start_on(ours)
    gpu.context.calls.hold(own)
    # What their library has put on its stream writes the array.
    own.put(None, lambda: gpu.context.calls._put(own.handle, lambda: theirs.write(7), "theirs"))
    reader = gpu.new_stream() if is_new else ours
    copied(z.partition_mut(4), theirs).start_on(reader)
    assert not reader.idle()
    gpu.context.calls.release()
    np.testing.assert_array_equal(z.to_numpy(), numbers(7))
    assert called == []


def _streams(gpu):
    return gpu.new_stream(), gpu.new_stream()


def test_no_stream_of_theirs_is_the_one_that_all_share(z, gpu, fast, exchange):
    calls, theirs = gpu.context.calls, fast(numbers(3))
    calls.log.clear()
    copied(z.partition_mut(4), theirs).sync()
    calls.held.add(LEGACY)
    calls._put(LEGACY, lambda: theirs.write(5), "theirs")
    copied(z.partition_mut(4), theirs).start_on(gpu.new_stream())
    calls.held.clear()
    calls._run(LEGACY)
    calls.release()
    np.testing.assert_array_equal(z.to_numpy(), numbers(5))


def test_what_was_exported_is_let_go_of(z, fast):
    theirs = fast(numbers(4))
    kept = weakref.ref(theirs.there)
    copied(z.partition_mut(4), theirs).sync()
    del theirs.there
    gc.collect()
    tw.empty((1,)).sync()
    assert kept() is None


def test_types_that_extend_one_with_functions_are_asked_by_method(z, gpu, fast, monkeypatch):
    called = called_launches(monkeypatch)

    class Extended(fast):
        pass

    theirs = Extended(numbers(6))
    copied(z.partition_mut(4), theirs).sync()
    np.testing.assert_array_equal(z.to_numpy(), numbers(6))
    assert (theirs.calls, len(theirs.streams), called) == ([], 1, [])


def test_functions_of_another_version_are_not_called(z, gpu, exchange):
    for table, calls in ((Exchange(2), []), (Exchange(2, exchange), ["export"])):

        class Later(Theirs):
            __dlpack_c_exchange_api__ = table.capsule()

        theirs = Later(gpu, numbers(8), calls=[])
        copied(z.partition_mut(4), theirs).sync()
        np.testing.assert_array_equal(z.to_numpy(), numbers(8))
        assert theirs.calls == calls


def test_what_functions_of_c_refuse_has_a_closer_look(z, fast, exchange):
    def refuse(*given):
        raise BufferError("it is busy")

    theirs = fast(numbers(1), exported=refuse)
    with pytest.raises(LaunchError, match="does not export it"):
        copied(z.partition_mut(4), theirs)
    assert theirs.calls


def test_an_array_that_wants_gradients_is_not_exported_by_functions_of_c(z, gpu, fast):
    plain = Theirs(gpu, numbers(4))
    theirs = fast(numbers(), requires_grad=True, detach=lambda: plain)
    copied(z.partition_mut(4), theirs).sync()
    np.testing.assert_array_equal(z.to_numpy(), numbers(4))
    assert theirs.calls == []
