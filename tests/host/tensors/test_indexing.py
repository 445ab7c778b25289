from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.errors import ShapeError
from tilewright.base.shapes import row_major_strides
from tilewright.tensors.indexing import select

SHAPE = (5, 4, 3)
BOUNDS = st.none() | st.integers(-7, 7)
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.none() | st.integers(-3, 3).filter(bool))


@given(st.lists(SLICES | st.integers(-3, 2) | st.none(), max_size=3), st.booleans())
def test_selects_what_numpy_selects(indices, ellipsis):
    key = (..., *indices) if ellipsis else tuple(indices)
    a = np.arange(60).reshape(SHAPE)
    shape, strides, offset = select(SHAPE, row_major_strides(SHAPE), key)
    expected = a[key]
    assert shape == expected.shape
    if expected.size:
        found = np.lib.stride_tricks.as_strided(
            a.reshape(-1)[offset:], shape, [8 * s for s in strides]
        )
        np.testing.assert_array_equal(found, expected)


def test_refusals():
    with pytest.raises(IndexError, match="index 5 is out of range for axis 1 with extent 4"):
        select(SHAPE, (12, 3, 1), (0, 5))
    with pytest.raises(IndexError, match="an integer of 16610 bits"):
        select(SHAPE, (12, 3, 1), 10**5000)
    with pytest.raises(ShapeError, match="4 indices for a tensor of 3 axes"):
        select(SHAPE, (12, 3, 1), (0, 0, 0, 0))
    with pytest.raises(ShapeError, match="more than one"):
        select(SHAPE, (12, 3, 1), (..., 0, ...))
    for wrong in (True, "a", 1.5, [0, 1], np.zeros(3)):
        with pytest.raises(TypeError, match="indexed by ints, slices"):
            select(SHAPE, (12, 3, 1), wrong)
