"""Data between host and device, and between tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same, scale

pytestmark = pytest.mark.usefixtures("device")


def test_b057_host_data_becomes_a_tensor(rng):
    """`copy_host_vec_to_device` is an op that copies data of the host into a new tensor.

    Differs: other-names
    """
    data = numbers(rng, 1024)
    op = tw.from_numpy(data)
    assert isinstance(op, tw.DeviceOp)
    same(op.sync(), data)
    same(tw.from_numpy(data.tolist()).sync(), data)


def test_b058_tensors_are_copied_to_the_host_by_an_op(rng):
    """`copy_device_to_host_vec` is an op that copies a tensor to the host, as a flat vector.

    Differs: other-names
    """
    data = numbers(rng, 6, 7)
    op = put(data).to_host_vec()
    assert isinstance(op, tw.DeviceOp)
    found = op.sync()
    assert found.shape == (42,)
    np.testing.assert_array_equal(found, data.ravel())


def test_b059_to_host_vec_is_a_method(rng, device):
    """The method form is the usual one; it takes a stream like every op."""
    data = numbers(rng, 100)
    stream = device.new_stream()
    np.testing.assert_array_equal(put(data).to_host_vec().sync_on(stream), data)


def test_b060_to_host_vec_of_an_op(rng):
    """`op.to_host_vec()` copies the tensor that the op gives."""
    data = numbers(rng, 100)
    np.testing.assert_array_equal(tw.from_numpy(data).to_host_vec().sync(), data)


def test_b061_dup_makes_a_new_tensor(rng):
    """`dup`, a function or a method, allocates a tensor and copies on the device.

    Differs: other-names
    """
    data = numbers(rng, 5, 9)
    t = put(data)
    copy = t.dup().sync()
    assert copy.device_pointer().address != t.device_pointer().address
    tw.fill(t, 0.0).sync()
    same(copy, data)


def test_b062_memcpy_overwrites_a_tensor(rng):
    """`memcpy(target, source)` copies on the device into a tensor that is there; gives nothing."""
    data = numbers(rng, 5, 9)
    target, source = tw.zeros((5, 9)).sync(), put(data)
    address = target.device_pointer().address
    assert tw.memcpy(target, source).sync() is None
    same(target, data)
    assert target.device_pointer().address == address


def test_b063_memcpy_asks_for_one_shape(rng):
    """A copy between tensors asks for the same number of elements.

    Differs: copies-of-another-shape
    """
    target, source = tw.zeros((4, 6)).sync(), put(numbers(rng, 24))
    with pytest.raises(tw.ShapeError):
        tw.memcpy(target, source)
    with pytest.raises(tw.ShapeError):
        tw.memcpy(target, put(numbers(rng, 4, 5)))
    tw.memcpy(target, source.view((4, 6))).sync()
    same(target, source.to_numpy().reshape(4, 6))


def test_b064_copies_happen_when_their_ops_run(rng):
    """Building the op of a copy copies nothing."""
    data = numbers(rng, 8)
    op = tw.from_numpy(data)
    data *= 2
    same(op.sync(), data)
    t, fresh = tw.zeros((8,)).sync(), put(data)
    op = tw.memcpy(t, fresh)
    op.sync()
    same(t, data)


def test_b065_host_data_may_change_once_the_copy_has_started(rng):
    """The program keeps the host's data alive, unchanged, until the copy is over.

    Differs: host-data
    """
    data = numbers(rng, 100_000)
    expected = data.copy()
    future = tw.from_numpy(data).into_future()
    data[:] = 0
    same(future.result(), expected)


def test_b066_arcs_are_copied_to_the_host(rng):
    """`to_host_vec` is there for tensors and for shared ones, which stay."""
    data = numbers(rng, 12)
    arc = tw.Arc(put(data))
    other = arc.clone()
    for given in (arc, other, arc.value):
        np.testing.assert_array_equal(given.to_host_vec().sync(), data)
    np.testing.assert_array_equal(tw.value(arc).to_host_vec().sync(), data)


def test_b067_a_chain_ends_on_the_host(rng, device):
    """A launch's first result goes to the host in one chain."""
    data = numbers(rng, 128)
    host = (
        scale(tw.zeros((128,)).partition((128,)), put(data), 2.0)
        .first()
        .unpartition()
        .to_host_vec()
        .sync_on(device.new_stream())
    )
    np.testing.assert_array_equal(host, np.float32(2) * data)


def test_b068_memcpy_brings_new_input_to_a_graph(rng, device):
    """`graph.update(memcpy(...))` fills an input buffer before a replay."""
    stream = device.new_stream()
    buffer, out = tw.zeros((32,)).sync(), tw.zeros((32,)).sync()
    graph = scale(out.partition_mut((32,)), buffer, 3.0).graph_on(stream)
    for _ in range(2):
        data = numbers(rng, 32)
        graph.update(tw.memcpy(buffer, put(data)))
        graph.launch().sync_on(stream)
        same(out, np.float32(3) * data)
