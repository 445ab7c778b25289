from __future__ import annotations

import numpy as np
import pytest

from tilewright.array.region import Region, region_of_array
from tilewright.base.dtypes import f32
from tilewright.driver.host import CPU


def region(shape, strides, address=1000):
    return Region(region_of_array(np.zeros(1, "f4"), CPU).storage, f32, shape, strides, address)


@pytest.mark.parametrize(
    ("shape", "strides", "span"),
    [
        ((4,), (1,), (1000, 1016)), ((4,), (-1,), (988, 1004)), ((2, 3), (10, 2), (1000, 1060)),
        ((0, 3), (3, 1), (1000, 1000)), ((), (), (1000, 1004)), ((5,), (0,), (1000, 1004)),
    ],
)  # fmt: skip
def test_span(shape, strides, span):
    assert region(shape, strides).span() == span


def test_overlap():
    a, b = region((4,), (1,), 1000), region((4,), (1,), 1016)
    assert not a.overlaps(b)
    assert a.overlaps(region((4,), (-1,), 1024))
    assert not a.overlaps(region((0,), (1,), 1004))


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous", "injective"),
    [
        ((2, 3), (3, 1), True, True), ((2, 3), (1, 2), False, True), ((2, 3), (0, 1), False, False),
        ((1, 3), (77, 1), True, True), ((2, 3), (2, 1), False, False), ((0, 3), (9, 9), True, True),
        ((4,), (-1,), False, True), ((), (), True, True),
    ],
)  # fmt: skip
def test_layout(shape, strides, contiguous, injective):
    r = region(shape, strides)
    assert r.is_contiguous == contiguous
    assert r.is_injective == injective or 0 in shape


def test_the_array_is_the_memory():
    a = np.arange(6, dtype="f4").reshape(2, 3)
    seen = region_of_array(a[:, ::-1], CPU).array()
    seen[0, 0] = 50
    assert a[0, 2] == 50
    assert region_of_array(np.zeros((0, 4)), CPU).array().shape == (0, 4)


A = np.zeros((6, 8), "f4")


@pytest.mark.parametrize(
    ("array", "axis"),
    [
        (A, 1), (A.T, 0), (A[:, ::2], None), (A[:, :1], 1), (A[::2], 1), (A[:, :0], 1),
        (A[:, ::-1], None), (A.reshape(2, 3, 8).transpose(0, 2, 1), 1), (A[0, 0], None),
        (A[:1, :1], 1), (np.broadcast_to(A[0], (3, 8)), 1),
    ],
)  # fmt: skip
def test_unit_axis(array, axis):
    assert region_of_array(np.asarray(array), CPU).unit_axis == axis


def test_words():
    r = region_of_array(A[::-1, :1], CPU)
    assert r.words == (r.address, 6, 1, 2**64 - 8, 1)
