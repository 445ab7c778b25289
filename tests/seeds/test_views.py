"""Views and slices: parts of a tensor that copy nothing."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, copy, numbers, put, same, scale

pytestmark = pytest.mark.usefixtures("device")


def test_b047_views_have_another_shape(rng):
    """`tensor.view(shape)` is the tensor in another shape, nothing copied."""
    data = numbers(rng, 1024)
    t = put(data)
    matrix = t.view((32, 32))
    same(matrix, data.reshape(32, 32))
    assert matrix.device_pointer().address == t.device_pointer().address


def test_b048_a_view_keeps_the_number_of_elements(rng):
    """A view of another number of elements is an error."""
    with pytest.raises(tw.ShapeError):
        put(numbers(rng, 24)).view((5, 5))


def test_b049_slices_are_rectangles(rng):
    """`tensor.slice(&[ranges])` is a part, by a list with a range for each axis.

    Differs: ranges-of-slices
    """
    data = numbers(rng, 32, 32)
    t = put(data)
    same(t.slice(range(1, 3), range(2, 6)), data[1:3, 2:6])
    same(t[1:3, 2:6], data[1:3, 2:6])


def test_b050_missing_ranges_are_whole_axes(rng):
    """Axes without a range are taken whole."""
    data = numbers(rng, 32, 32)
    same(put(data).slice(range(1, 3)), data[1:3])
    same(put(data[0]).slice(range(512 // 32)), data[0][:16])


def test_b051_slices_of_slices_add_their_offsets(rng):
    """Offsets of a chain of slices add up."""
    data = numbers(rng, 1024)
    t = put(data)
    inner = t.slice(range(100, 200)).slice(range(10, 20))
    same(inner, data[110:120])
    assert inner.device_pointer().address == t.device_pointer().address + 4 * 110


def test_b052_a_view_borrows_its_tensor(rng):
    """While a view exists its tensor cannot be changed.

    Differs: how-a-borrow-ends
    """
    t = put(numbers(rng, 16))
    view = t[4:8]
    tw.fill(t, 1.0).sync()
    with pytest.raises(tw.BorrowError):
        view.to_numpy()
    with pytest.raises(tw.BorrowError):
        add(t.partition_mut((16,)), t, t)


def test_b053_kernels_get_the_place_where_a_view_begins(rng):
    """A kernel is given the address of the view's first element; nothing moves."""
    data = numbers(rng, 40)
    t = put(data)
    assert t[7:23].device_pointer().address == t.device_pointer().address + 4 * 7
    out = tw.zeros((16,)).sync()
    scale(out.partition_mut((16,)), t[7:23], 2.0).sync()
    same(out, np.float32(2) * data[7:23])


def test_b054_views_are_inputs_of_kernels(rng):
    """Views and slices go where a kernel reads a tensor, sub-matrices too."""
    data = numbers(rng, 30, 40)
    t = put(data)
    for part, expected in [
        (t[3:19, 5:21], data[3:19, 5:21]),
        (t.view((40, 30)), data.reshape(40, 30)),
    ]:
        out = tw.zeros(expected.shape).sync()
        copy(out.partition_mut((8, 8)), part).sync()
        same(out, expected)


def test_b055_ranges_lie_in_their_axes(rng):
    """A range that leaves its axis, and one too many, are errors."""
    t = put(numbers(rng, 4, 6))
    for ranges in [(range(2, 5),), (range(2), range(7)), (range(1),) * 3]:
        with pytest.raises((tw.ShapeError, IndexError)):
            t.slice(*ranges)


def test_b056_views_are_read_only(rng):
    """A view is a shared borrow: no kernel writes it."""
    t = put(numbers(rng, 16))
    out = put(numbers(rng, 16))
    with pytest.raises(tw.BorrowError):
        scale(t[:16], out, 1.0).sync()
