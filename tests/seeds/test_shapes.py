"""Shapes of tensors and of what ops give; partitions."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, numbers, put, same, scale

pytestmark = pytest.mark.usefixtures("device")


def test_b020_reshape_of_a_tensor_is_a_view(rng):
    """`tensor.reshape(shape)` consumes a tensor and gives it with another shape.

    Differs: views-that-do-not-consume
    """
    data = numbers(rng, 6, 8)
    t = put(data)
    view = t.reshape((4, 12))
    same(view, data.reshape(4, 12))
    same(t, data)


def test_b021_reshape_of_an_arc_gives_an_arc(rng):
    """An `Arc` in another shape is an `Arc` that shares the allocation."""
    data = numbers(rng, 4, 8)
    weights = tw.Arc(put(data))
    other = weights.reshape((8, 4))
    assert isinstance(other, tw.Arc) and other.shape == (8, 4) and weights.shape == (4, 8)
    del weights
    same(other.clone(), data.reshape(8, 4))
    out = scale(tw.zeros((8, 4)).partition((8, 4)), other, 2.0).out()
    same(tw.spawn(out).result(), 2 * data.reshape(8, 4))


def test_b022_reshape_of_an_op_reshapes_its_tensor(rng):
    """`op.reshape(shape)` reshapes the tensor that the op gives."""
    data = numbers(rng, 24)
    found = tw.from_numpy(data).reshape((2, 3, 4)).sync()
    same(found, data.reshape(2, 3, 4))


def test_b023_reshape_of_an_op_reshapes_its_arc(rng):
    """`op.reshape(shape)` works as well where the op gives an `Arc`."""
    data = numbers(rng, 4, 8)
    for op in (tw.from_numpy(data).shared(), tw.value(tw.Arc(put(data)))):
        found = op.reshape((8, 4)).sync()
        assert isinstance(found, tw.Arc)
        same(found, data.reshape(8, 4))


def test_b024_partition_consumes_its_tensor(rng):
    """`tensor.partition(tile)` takes the tensor over, as an output of a launch."""
    z = put(numbers(rng, 8, 8))
    part = z.partition((4, 4))
    assert isinstance(part, tw.Partition) and part.grid == (2, 2)
    with pytest.raises(tw.BorrowError, match="moved"):
        z.to_numpy()


def test_b025_try_partition_needs_the_only_owner(rng):
    """`arc.try_partition(tile)` gives a partition if the `Arc` has no other owner."""
    data = numbers(rng, 8)
    arc = tw.Arc(put(data))
    other = arc.clone()
    with pytest.raises(tw.BorrowError, match="shared by 2"):
        arc.try_partition((4,))
    same(arc, data)
    del other
    same(arc.try_partition((4,)).unpartition(), data)


def test_b026_unpartition_gives_the_tensor_back(rng):
    """`partition.unpartition()` gives the tensor of a partition that a launch gave back."""
    data = numbers(rng, 8)
    part, *_ = scale(tw.zeros((8,)).partition((4,)), put(data), 3.0).sync()
    z = part.unpartition()
    assert isinstance(z, tw.Tensor)
    same(z, np.float32(3) * data)


def test_b027_reshaping_copies_nothing(rng):
    """Reshaping on the host changes metadata alone; the elements stay where they are."""
    t = put(numbers(rng, 6, 4))
    assert t.reshape((24,)).device_pointer().address == t.device_pointer().address
    assert t.view((2, 12)).device_pointer().address == t.device_pointer().address


def test_b028_a_reshaped_arc_is_an_owner(rng):
    """An `Arc` in another shape is partitioned while the first one is there.

    Differs: an-arc-in-another-shape
    """
    data = numbers(rng, 4, 8)
    weights = tw.Arc(put(data))
    turned = weights.reshape((8, 4))
    with pytest.raises(tw.BorrowError):
        turned.try_partition((2, 4))
    del weights
    part = turned.try_partition((2, 4))
    assert part.grid == (4, 1)
    same(part.unpartition(), data.reshape(8, 4))


def test_b029_the_number_of_elements_stays(rng):
    """A new shape has as many elements as the old one; anything else is an error."""
    t = put(numbers(rng, 6, 4))
    for reshape in (t.reshape, t.view, tw.Arc(put(numbers(rng, 24))).reshape):
        with pytest.raises(tw.ShapeError):
            reshape((5, 5))
    with pytest.raises(tw.ShapeError):
        tw.zeros((6, 4)).reshape((5, 5)).sync()


def test_b030_views_in_another_shape_are_contiguous(rng):
    """A borrowed part with gaps between its elements cannot be seen in another shape."""
    t = put(numbers(rng, 6, 4))
    with pytest.raises(tw.ShapeError):
        t[:, 1:3].view((12,))
    with pytest.raises(tw.ShapeError):
        t[:, 1:3].reshape((12,))


def test_b031_ops_are_partitioned_before_they_run(rng):
    """`op.partition(tile)` is an op that gives the partition of a tensor that is made later."""
    x, y = numbers(rng, 32), numbers(rng, 32)
    z = tw.zeros((32,)).partition((4,))
    assert isinstance(z, tw.DeviceOp)
    same(add(z, put(x), put(y)).out().sync(), x + y)


def test_b032_the_sample_of_shapes(device):
    """A chain of an op's shape helpers runs on one stream."""
    stream = device.new_stream()
    x = tw.arange(0.0, 32.0).reshape((4, 8)).sync_on(stream)
    same(x, np.arange(32).reshape(4, 8))
