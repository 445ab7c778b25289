from __future__ import annotations

import weakref
from ctypes import POINTER, addressof, c_int64, cast

import ml_dtypes
import numpy as np
import pytest

from support.interrupts import MOST_POINTS, raise_at, raise_behind
from tilewright.base.errors import ShapeError
from tilewright.tensors import asarray, capsules, dlpack, from_numpy
from tilewright.tensors.capsules import claimed
from tilewright.tensors.foreign import aliased
from tilewright.tensors.releases import sweep

pytestmark = pytest.mark.cpu_alone
"""Memory of the host; tests/gpu/test_interop.py has that of the GPU."""


class Producer:
    """Exports an array by a capsule of its own making, which may lie."""

    def __init__(self, kind=dlpack.Plain, device=(1, 0), **lies):
        self.array = np.arange(6, dtype="f4")
        self.device = device
        self.shape, self.strides = (c_int64 * 2)(2, 3), (c_int64 * 2)(3, 1)
        managed = self.managed = kind()
        tensor = managed.tensor
        tensor.data, tensor.device_type = self.array.ctypes.data, 1
        tensor.ndim, tensor.code, tensor.bits, tensor.lanes = 2, 2, 32, 1
        tensor.shape, tensor.strides = whole(self.shape), whole(self.strides)
        if kind is dlpack.Versioned:
            managed.major, managed.minor = 1, 1
        for name, value in lies.items():
            setattr(managed if hasattr(managed, name) else tensor, name, value)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **wishes):
        name = b"dltensor" if isinstance(self.managed, dlpack.Plain) else b"dltensor_versioned"
        return dlpack.new_capsule(name, addressof(self.managed), 0)


def whole(numbers):
    return cast(numbers, POINTER(c_int64))


KINDS = pytest.mark.parametrize("kind", [dlpack.Plain, dlpack.Versioned])
LIES = {
    "no data": {"data": None},
    "another device": {"device_type": 2},
    "no device": {"device_type": 0},
    "memory of both": {"device_type": dlpack.CUDA_MANAGED},
    "axes below 0": {"ndim": -1},
    "a million axes": {"ndim": 1_000_000},
    "65 axes": {"ndim": 65},
    "no shape": {"shape": POINTER(c_int64)()},
    "extents below 0": {"shape": whole((c_int64 * 2)(2, -3))},
    "more bytes than addresses": {"shape": whole((c_int64 * 2)(1 << 40, 1 << 40))},
    "strides over all addresses": {"strides": whole((c_int64 * 2)(1 << 61, 1))},
    "strides below all addresses": {"strides": whole((c_int64 * 2)(-(1 << 61), 1))},
    "an offset beyond all addresses": {"byte_offset": (1 << 64) - 4},
}


@KINDS
@pytest.mark.parametrize("use", [aliased, asarray, claimed])
def test_the_truth_is_believed(kind, use):
    producer = Producer(kind)
    found = use(producer)
    if use is claimed:
        assert (found.layout.shape, found.layout.strides) == ((2, 3), (3, 1))
        assert (found.address, found.readonly) == (producer.array.ctypes.data, False)
    else:
        numbers = found if use is aliased else found.to_numpy()
        assert numbers.tolist() == [[0, 1, 2], [3, 4, 5]]


@KINDS
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_found(kind, lie, golden):
    producer = Producer(kind, **LIES[lie])
    for use in (aliased, asarray):
        with pytest.raises(ShapeError, match="the metadata of this") as caught:
            use(producer)
    if kind is dlpack.Plain and "address" not in lie and lie != "memory of both":
        golden(str(caught.value), lie)


@KINDS
@pytest.mark.parametrize("lie", [{"lanes": 4}, {"lanes": 0}, {"bits": 7}, {"code": 99}])
def test_element_types_that_are_none(kind, lie):
    with pytest.raises(ShapeError, match="has no counterpart here"):
        aliased(Producer(kind, **lie))


def test_elements_that_are_not_aligned():
    with pytest.raises(ShapeError, match="a kernel cannot address this array"):
        asarray(Producer(byte_offset=2))
    with pytest.raises(ShapeError, match="a multiple of 4 bytes"):
        claimed(Producer(byte_offset=2))


@pytest.mark.parametrize("use", [aliased, claimed])
def test_what_needs_no_memory(use):
    empty = whole((c_int64 * 2)(0, 3))
    found = use(Producer(data=None, shape=empty, strides=POINTER(c_int64)()))
    assert (found if use is aliased else found.layout).shape == (0, 3)
    one = use(Producer(ndim=0, shape=POINTER(c_int64)(), strides=POINTER(c_int64)()))
    assert (one if use is aliased else one.layout).shape == ()


def test_a_gpu_is_the_one_that_was_named():
    lies = {"device_type": 2, "device_id": 1, "data": 4096}
    assert claimed(Producer(**lies), 1).address == 4096
    with pytest.raises(ShapeError, match="the GPU that it names, 0"):
        claimed(Producer(**lies), 0)
    with pytest.raises(ShapeError, match="the device that it names"):
        claimed(Producer(), 0)


def test_no_capsule():
    class Odd(Producer):
        def __dlpack__(self, **wishes):
            return 3

    with pytest.raises((BufferError, ValueError)):
        aliased(Odd())
    with pytest.raises(BufferError, match=r"exports DLPack 2\.0"):
        claimed(Producer(dlpack.Versioned, major=2, minor=0))


@KINDS
def test_what_is_refused_stays_with_its_library(kind):
    producer = Producer(kind, ndim=-1)
    capsule = producer.__dlpack__()
    producer.__dlpack__ = None
    given = type("Given", (), {"__dlpack__": lambda self, **_: capsule})()
    with pytest.raises(ShapeError):
        claimed(given)
    assert dlpack.managed_in(capsule).tensor.ndim == -1  # nobody has taken it


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
@pytest.mark.parametrize("dtype", ["f4", ml_dtypes.bfloat16])
def test_an_interrupt_loses_no_deleter(dtype, interrupt):
    """What was exported is over when nobody has it, wherever the import was left."""
    aliased(Exporting(from_numpy(np.ones(4, dtype)).sync()))  # compiles what it needs
    for point in range(1, MOST_POINTS):
        t = from_numpy(np.ones(4, dtype)).sync()
        gone, state = weakref.ref(t.region.storage), t.region.storage.state
        over = not interrupt(point, lambda t=t: aliased(Exporting(t)))
        sweep()
        assert not state.live_leases(), point
        del t
        sweep()
        assert gone() is None, point
        if over:
            break
    assert 3 < point < MOST_POINTS - 1


class Exporting:
    """An array of another library over a tensor of ours."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, **wishes):
        return self._tensor.__dlpack__(**wishes)


def test_arrays_of_libraries_that_never_write_theirs_are_read_only():
    """Whatever their exports say: those of JAX for memory of a GPU say nothing."""
    theirs = type("Array", (), {"__module__": "jaxlib._jax"})()
    silent, asking = dlpack.Plain(), dlpack.Versioned(flags=dlpack.READ_ONLY)
    assert capsules.is_read_only(theirs, silent) and capsules.is_read_only(object(), asking)
    assert not capsules.is_read_only(object(), silent)
