"""Shape arithmetic agrees with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.shapes import (
    broadcast,
    cdiv,
    ceil_div,
    grid_of,
    is_power_of_two,
    next_power_of_2,
    row_major_strides,
    shape_text,
    size,
)  # fmt: skip

shapes = st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=4).map(tuple)


@given(shapes, shapes)
def test_broadcast_is_numpys(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        expected = None
    assert broadcast(a, b) == expected


@given(shapes)
def test_strides_are_those_of_a_contiguous_array(shape):
    array = np.zeros(shape, np.int8)
    if array.size:
        assert row_major_strides(shape) == array.strides
    assert size(shape) == array.size


def test_strides_of_an_empty_shape_are_not_zero():
    assert row_major_strides((3, 0, 5)) == (5, 5, 1)


@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_ceil_div_covers(a, b):
    n = ceil_div(a, b)
    assert (n - 1) * b < a <= n * b or a == n == 0


@pytest.mark.parametrize("extent", [0, 1, 63, 64, 65, 127])
def test_grid_covers_each_axis(extent):
    (tiles,) = grid_of((extent,), (64,))
    assert tiles == (extent + 63) // 64


def test_grid_needs_one_tile_extent_per_axis():
    with pytest.raises(ValueError, match="zip"):
        grid_of((4, 4), (2,))


def test_powers_of_two():
    assert [n for n in range(-4, 20) if is_power_of_two(n)] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(("shape", "said"), [((), ""), ((7,), "7"), ((4, 64, 1), "4x64x1")])
def test_shapes_are_said_with_an_x(shape, said):
    assert shape_text(shape) == said


def test_powers_of_two_that_hold_an_extent():
    assert [next_power_of_2(n) for n in (0, 1, 2, 3, 4, 5, 1000, 1 << 40)] == [
        1, 1, 2, 4, 4, 8, 1024, 1 << 40,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="negative extent, got -3"):
        next_power_of_2(-3)


def test_cdiv_counts_tiles():
    assert [cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
