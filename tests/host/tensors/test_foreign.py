from __future__ import annotations

import gc
import time
import weakref

import ml_dtypes
import numpy as np
import pytest

from tilewright.base.dtypes import ALL, f4e2m1fn, tf32
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.tensors import asarray, empty, foreign, from_numpy
from tilewright.tensors.foreign import aliased
from tilewright.tensors.releases import sweep

pytestmark = pytest.mark.cpu_alone
"""Memory of the host; tests/gpu/test_interop.py has that of the GPU."""


class Other:
    """An array of another library: exports a tensor of ours or an array by DLPack."""

    def __init__(self, source, *, versioned=True, device=(1, 0)):
        self.source, self.versioned, self.device = source, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **wishes):
        if self.device != (1, 0):
            raise BufferError("not on the host")
        if not self.versioned and wishes:
            raise TypeError("takes no keywords")
        return self.source.__dlpack__(**wishes)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", [d for d in ALL if d not in (f4e2m1fn, tf32)], ids=repr)
def test_every_element_type_comes_in_place(dtype, versioned):
    t = from_numpy(np.arange(12).reshape(3, 4).astype(dtype.np), dtype).sync()
    a = aliased(Other(t, versioned=versioned))
    assert (a.dtype, a.shape, a.tobytes()) == (dtype.np, (3, 4), t.to_numpy().tobytes())
    assert a.__array_interface__["data"][0] == t.region.address


def test_a_deleter_is_called_once_when_the_last_array_is_gone():
    t = from_numpy(np.ones(4, ml_dtypes.bfloat16)).sync()
    gone = weakref.ref(t.region.storage)
    part = aliased(Other(t))[1:3]
    del t
    gc.collect()
    sweep()
    assert gone() is not None
    del part
    sweep()
    sweep()
    gc.collect()
    assert gone() is None


def test_read_only_is_respected():
    fixed = np.ones(4)
    fixed.flags.writeable = False
    for x in (fixed, Other(fixed)):
        t = asarray(aliased(x))
        with pytest.raises(BorrowError, match="must not be written"):
            t.partition_mut((2,))
    assert aliased(Other(np.ones(4))).flags.writeable


def test_aliases_share_their_state():
    a = np.zeros((4, 4), "f4")
    one, other = asarray(Other(a)), asarray(a[1:])
    p = one.partition_mut((2, 2))
    other.to_numpy()
    with pytest.raises(BorrowError, match="has ended"):
        p.check_usable()
    apart = asarray(a[:2])
    p = asarray(a[2:]).partition_mut((2, 2))
    apart.to_numpy()
    p.check_usable()


def test_interleaved_imports_do_not_touch_each_other():
    a = np.zeros((4, 4), "f4")
    left, right = asarray(a[:, :2]), asarray(a[:, 2:])
    p = left.partition_mut((2, 2))
    right.to_numpy()
    p.check_usable()


def test_our_own_memory_is_known_when_it_comes_back():
    t = from_numpy(np.ones(4, "f4")).sync()
    back = asarray(np.from_dlpack(t))
    p = t.partition_mut((2,))
    back.to_numpy()
    with pytest.raises(BorrowError, match="has ended"):
        p.check_usable()
    with pytest.raises(BorrowError, match="must not be written"):
        back.partition_mut((2,))


def test_memory_of_another_device_is_refused(golden):
    with pytest.raises(ShapeError) as caught:
        aliased(Other(np.ones(4), device=(2, 0)))
    golden(str(caught.value))


def test_unknown_element_types_are_refused(golden):
    with pytest.raises(ShapeError) as caught:
        foreign._imported(Other(np.ones(4, "c8")))
    golden(str(caught.value))


def test_what_an_array_costs_does_not_grow_with_those_that_live():
    arrays = [np.zeros(16, np.int32) for _ in range(8000)]
    start = time.process_time()
    tensors = [asarray(array) for array in arrays]
    spent = time.process_time() - start
    assert len(tensors) == len(arrays)
    assert spent < 10, f"{spent:.1f} s: 0.3 where each is found at once, 40 where all are compared"


def test_what_is_no_array():
    for x in (3, 1.5, np.float32(1), "x", [1, 2], None):
        assert aliased(x) is None


def test_the_array_interface_is_understood():
    source = np.arange(4)
    x = type("Image", (), {"__array_interface__": source.__array_interface__, "keep": source})()
    assert aliased(x).tolist() == [0, 1, 2, 3]
    assert empty((1,)).sync().shape == (1,)


@pytest.mark.parametrize(
    "use", [asarray, from_numpy, lambda a: from_numpy(np.zeros(4)).sync().copy_from(a)]
)
def test_masks_are_refused(use, golden):
    """Not ignored, whatever is masked."""
    masked = np.ma.masked_array(np.arange(4.0), [False, True, False, False])
    plain = np.ma.masked_array(np.arange(4.0))
    described = type(
        "Described",
        (),
        {"__array_interface__": {**np.arange(4.0).__array_interface__, "mask": masked.mask}},
    )()
    for x in (plain, described, masked):
        with pytest.raises(ShapeError, match="the metadata of this") as caught:
            use(x)
    golden(str(caught.value), "mask")
    assert aliased(np.zeros(4).view(np.recarray)).shape == (4,)
