from __future__ import annotations

import threading

import numpy as np
import pytest

from tilewright.base.dtypes import f16, f32
from tilewright.devices.host import CPU
from tilewright.tensors.layout import layout_of, row_major, tiling_of
from tilewright.tensors.region import region_of_array

A = np.zeros((6, 8), "f4")


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous", "injective"),
    [
        ((2, 3), (3, 1), True, True), ((2, 3), (1, 2), False, True), ((2, 3), (0, 1), False, False),
        ((1, 3), (77, 1), True, True), ((2, 3), (2, 1), False, False), ((0, 3), (9, 9), True, True),
        ((0, 5), (0, 0), True, True),
        ((4,), (-1,), False, True), ((), (), True, True),
    ],
)  # fmt: skip
def test_what_follows_from_strides(shape, strides, contiguous, injective):
    layout = layout_of(f32, shape, strides)
    assert layout.is_contiguous == contiguous
    assert layout.is_injective == injective


@pytest.mark.parametrize(
    ("array", "axis"),
    [
        (A, 1), (A.T, 0), (A[:, ::2], None), (A[:, :1], 1), (A[::2], 1), (A[:, :0], 1),
        (A[:, ::-1], None), (A.reshape(2, 3, 8).transpose(0, 2, 1), 1), (A[0, 0], None),
        (A[:1, :1], 1), (np.broadcast_to(A[0], (3, 8)), 1),
    ],
)  # fmt: skip
def test_unit_axis(array, axis):
    assert region_of_array(np.asarray(array), CPU).layout.unit_axis == axis


def test_words():
    assert region_of_array(A[::-1, :1], CPU).layout.words == (6, 1, 2**64 - 8, 1)


def test_bytes_around_the_first_element():
    layout = layout_of(f16, (3, 4), (-10, 2))
    assert (layout.low, layout.high) == (-40, 14)


def test_layouts_alike_are_one_object():
    assert row_major(f32, (2, 3)) is layout_of(f32, (2, 3), (3, 1))
    assert row_major(f32, (2, 3)) is not row_major(f16, (2, 3))
    assert region_of_array(A, CPU).layout is region_of_array(A.copy(), CPU).layout
    assert region_of_array(A, CPU).layout is not region_of_array(A.T, CPU).layout


def test_tilings_alike_are_one_object():
    layout = row_major(f32, (5, 7))
    assert tiling_of(layout, (2, 4)) is tiling_of(layout, (2, 4))
    assert tiling_of(layout, (2, 4)).grid == (3, 2)
    assert tiling_of(layout, (4, 2)).grid == (2, 4)


def test_threads_get_the_same_layout_once_it_is_known():
    known = row_major(f32, (11, 13))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(row_major(f32, (11, 13)))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(layout is known for layout in found)
