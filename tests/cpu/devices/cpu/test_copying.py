"""Native copies and fills, against NumPy: any rank, strides, sizes, overlap."""

from __future__ import annotations

import numpy as np
import pytest

from support.numbers import fresh_rng
from tilewright.base import config
from tilewright.base.errors import DriverError
from tilewright.devices.cpu import copying
from tilewright.devices.host import CPU
from tilewright.devices.protocol import Block

FORMS = ["u1", "f2", "f4", "f8"]
SHAPES = [(), (0,), (1,), (7,), (64,), (65,), (3, 0, 2), (5, 7), (63, 65), (2, 3, 5, 7), (1, 9, 1)]


def block(array):
    address = array.__array_interface__["data"][0]
    return Block(address, array.itemsize, array.shape, array.strides, host=True)


def random(shape, form):
    return fresh_rng().integers(1, 100, shape).astype(form)


@pytest.fixture(params=[True, False], ids=["caller", "worker"])
def copy(request):
    """Copies arrays on the calling thread, or by a worker."""

    def run(target, source):
        stream = CPU.new_stream()
        stream.copy(block(target), block(source), inline=request.param)
        assert stream.record().done() or not request.param
        stream.synchronize()

    return run


def spaced(values):
    """The same values, every second element and row of a larger array; the larger one too."""
    large = np.full([2 * n for n in values.shape], 101, values.dtype)
    part = large[(..., *(slice(None, None, 2) for _ in values.shape))]
    part[...] = values
    return part, large


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_copies(copy, shape, form, order):
    source = random(shape, form)
    target = np.full(shape, 101, form, order=order)
    copy(target, source)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_strided_copies_write_nothing_else(copy, shape, form):
    values = random(shape, form)
    source, _ = spaced(values)
    part, large = spaced(np.zeros(shape, form))
    copy(part, source)
    np.testing.assert_array_equal(part, values)
    part[...] = 101
    assert (large == 101).all()


def test_axes_in_any_order_and_direction(copy):
    rng = fresh_rng()
    for _ in range(60):
        rank = int(rng.integers(1, 6))
        shape = tuple(int(n) for n in rng.integers(1, 9, rank))
        source, target = random(shape, "f4"), np.zeros(shape, "f4")
        order = rng.permutation(rank)
        flips = tuple(slice(None, None, int(step)) for step in rng.choice([1, -1], rank))
        source, target = source.transpose(order)[flips], target.transpose(rng.permutation(rank))
        target = np.ascontiguousarray(target).reshape(source.shape)
        copy(target, source)
        np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [1 << 20, (1 << 20) + 13])
def test_large_copies_use_many_blocks(copy, n, threads):
    source, target = fresh_rng().random(n), np.zeros(n)
    record = copying.copy_record(block(target), block(source))
    assert record is not None and record.blocks > 8
    with config.override(num_threads=threads):
        copy(target, source)
        np.testing.assert_array_equal(target, source)
        square = source[: 1000 * 1000].reshape(1000, 1000)
        turned = np.zeros((1000, 1000))
        copy(turned, square.T)
    np.testing.assert_array_equal(turned, square.T)


@pytest.mark.parametrize("shift", [1, 5, -3])
def test_where_blocks_overlap_the_source_is_read_first(copy, shift):
    values = random((40, 40), "f4")
    expected = values.copy()
    low, high = (values[:30], values[abs(shift) : 30 + abs(shift)])
    target, source = (high, low) if shift > 0 else (low, high)
    want = source.copy()
    copy(target, source)
    np.testing.assert_array_equal(target, want)
    square = expected.copy()
    copy(square, square.T)
    np.testing.assert_array_equal(square, expected.T)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_fills(shape, form):
    value = random((), form)
    part, large = spaced(np.zeros(shape, form))
    dense = np.zeros(shape, form)
    stream = CPU.new_stream()
    stream.fill(block(part), value.tobytes())
    stream.fill(block(dense), value.tobytes())
    stream.synchronize()
    assert (part == value).all() and (dense == value).all()
    part[...] = 101
    assert (large == 101).all()


def test_a_fill_with_an_element_of_another_size_is_refused():
    with pytest.raises(DriverError, match="expected: an element of 4 bytes"):
        CPU.new_stream().fill(block(np.zeros(3, "f4")), b"12345678")


def test_copies_are_in_order_with_other_work():
    stream, first, last = CPU.new_stream(), np.zeros(1000), np.zeros(1000)
    for value in range(50):
        stream.fill(block(first), np.float64(value).tobytes(), inline=value % 3 == 0)
        stream.copy(block(last), block(first), inline=value % 5 == 0)
    stream.synchronize()
    assert (last == 49).all()
