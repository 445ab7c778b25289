"""The memory of contestants: alignment, independence, poison."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from benchmarks.data import CACHE_LINE, HUGE_PAGE, poison, random, room


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    "shape", [(1,), (3, 5), (HUGE_PAGE // 4 - 1,), (HUGE_PAGE // 4,), (1025, 513)]
)
def test_room_is_aligned_writable_and_its_own(shape, dtype):
    first, second = room(shape, dtype), room(shape, dtype)
    assert first.shape == shape and first.dtype == dtype
    assert first.flags.c_contiguous
    assert address(first) % (HUGE_PAGE if first.nbytes >= HUGE_PAGE else CACHE_LINE) == 0
    first[...] = 1
    second[...] = 2
    assert (first == 1).all()


def test_poison_is_nan_everywhere():
    assert np.isnan(poison((7, 9))).all()
    assert np.isnan(poison((5,), ml_dtypes.bfloat16).astype(np.float32)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_random_numbers_are_new_each_time(dtype):
    a, b = random((100,), dtype).astype(np.float64), random((100,), dtype).astype(np.float64)
    assert not np.array_equal(a, b)
    assert 0.5 < a.std() < 1.6
