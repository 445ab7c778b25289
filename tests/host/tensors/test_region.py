from __future__ import annotations

import numpy as np
import pytest

from tilewright.base.dtypes import ALL, f4e2m1fn, f32
from tilewright.devices.host import CPU
from tilewright.tensors.layout import layout_of
from tilewright.tensors.region import Region, region_of_array


def region(shape, strides, address=1000):
    storage = region_of_array(np.zeros(1, "f4"), CPU).storage
    return Region(storage, layout_of(f32, shape, strides), address)


@pytest.mark.parametrize(
    ("shape", "strides", "span"),
    [
        ((4,), (1,), (1000, 1016)), ((4,), (-1,), (988, 1004)), ((2, 3), (10, 2), (1000, 1060)),
        ((0, 3), (3, 1), (1000, 1000)), ((), (), (1000, 1004)), ((5,), (0,), (1000, 1004)),
    ],
)  # fmt: skip
def test_span(shape, strides, span):
    r = region(shape, strides)
    assert (r.start, r.end) == span


def test_overlap():
    a, b = region((4,), (1,), 1000), region((4,), (1,), 1016)
    assert not a.overlaps(b)
    assert a.overlaps(region((4,), (-1,), 1024))
    assert not a.overlaps(region((0,), (1,), 1004))


def test_the_array_is_the_memory():
    a = np.arange(6, dtype="f4").reshape(2, 3)
    seen = region_of_array(a[:, ::-1], CPU).array()
    seen[0, 0] = 50
    assert a[0, 2] == 50
    assert region_of_array(np.zeros((0, 4)), CPU).array().shape == (0, 4)


@pytest.mark.parametrize("dtype", [d for d in ALL if d is not f4e2m1fn], ids=repr)
def test_arrays_of_every_kind_are_addressed(dtype):
    a = np.zeros((4, 6), dtype.np)
    fixed = a.copy()
    fixed.flags.writeable = False
    for array in (a, a[::-1, ::2], a.T, a[2, 3], a[:0], fixed, np.broadcast_to(a[0], (3, 6))):
        given = np.asarray(array)
        region = region_of_array(given, CPU)
        assert region.address == given.ctypes.data
        assert region.layout.shape == given.shape
        assert [s * given.itemsize for s in region.layout.strides] == list(given.strides)
        assert region.storage.readonly == (not given.flags.writeable)
