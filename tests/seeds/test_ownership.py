"""Who owns what: owned, shared and borrowed tensors."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, at_least, numbers, put, same, scale, scaled
from tilewright import i32


def owned(n=32):
    return tw.zeros((n,)).partition((32,))


def test_b138_an_owned_input_may_be_spawned(rng, device):
    """An op that owns its input is free to run as a task of its own."""
    data = numbers(rng, 32)
    for x in (tw.move(put(data)), tw.from_numpy(data)):
        same(tw.spawn(scale(owned(), x, 2.0).out()).result(), np.float32(2) * data)


def test_b139_a_shared_input_may_be_spawned(rng, device):
    """An op that shares its input through an `Arc` may be spawned, too."""
    data = numbers(rng, 32)
    arc = tw.Arc(put(data))
    future = tw.spawn(scale(owned(), arc, 2.0).out())
    del arc
    same(future.result(), np.float32(2) * data)


BORROWING = {
    "an input": lambda x, z: scale(owned(), x, 2.0),
    "a view": lambda x, z: scale(owned(16), x[:16], 2.0),
    "a partition": lambda x, z: scale(z.partition_mut((32,)), tw.ones((32,)), 2.0),
    "a value": lambda x, z: scale(owned(), tw.value(x), 2.0),
    "a partition as a value": lambda x, z: scale(
        tw.value(z.partition_mut((32,))), tw.ones((32,)), 2.0
    ),
    "a zip": lambda x, z: tw.zip(tw.ones((4,)), scale(owned(), x, 2.0)),
    "a plain value in a zip": lambda x, z: tw.zip(tw.ones((4,)), x),
    "fill": lambda x, z: tw.fill(z, 3.0),
    "convert": lambda x, z: tw.convert(x, i32),
    "memcpy": lambda x, z: tw.memcpy(z, x),
    "dup": lambda x, z: x.dup(),
    "a NumPy array": lambda x, z: scale(owned(), np.ones(32, "f4"), 2.0),
    "threads": lambda x, z: at_least(tw.zeros((32,)), x, 0.0),
    "a chain": lambda x, z: scale(owned(), x, 2.0).then(lambda *_: tw.value(1)),
    "a shape of it": lambda x, z: tw.value(x).reshape((4, 8)),
}


@pytest.mark.parametrize("form", BORROWING)
def test_b140_what_borrows_cannot_be_spawned(form, rng):
    """An op that borrows cannot be spawned: the compiler refuses it.

    Differs: checked-while-running
    """
    x, z = put(numbers(rng, 32)), tw.zeros((32,)).sync()
    op = BORROWING[form](x, z)
    with pytest.raises(tw.BorrowError, match="cannot be spawned"):
        tw.spawn(op)
    op.close()


def test_b141_an_owned_output_is_unpartitioned(rng, device):
    """A partition that owns its tensor is unpartitioned to have the tensor again."""
    data, z = numbers(rng, 32), tw.zeros((32,)).sync()
    part, *_ = scale(z.partition((8,)), put(data), 2.0).sync()
    with pytest.raises(tw.BorrowError):
        z.to_numpy()
    same(part.unpartition(), np.float32(2) * data)


def test_b142_a_borrowed_output_is_written_in_place(rng, device):
    """A partition that borrows needs no `unpartition()`: the tensor has been written."""
    data, z = numbers(rng, 32), tw.zeros((32,)).sync()
    scale(z.partition_mut((8,)), put(data), 2.0).sync()
    same(z, np.float32(2) * data)


def test_b143_borrow_mut_partitions_in_place(rng, device):
    """`(&mut tensor).partition(tile)` is `borrow_mut().partition(tile)`, or `partition_mut`."""
    data, z = numbers(rng, 32), tw.zeros((32,)).sync()
    scale(z.borrow_mut().partition((8,)), put(data), 2.0).sync()
    same(z, np.float32(2) * data)


def test_b144_tensors_for_one_use_are_given_away(device):
    """Tensors that nobody else needs are given as ops; the output is unpartitioned at the end."""
    output = (
        scale(tw.zeros((1024,)).partition((128,)), tw.ones((1024,)), 5.0)
        .first()
        .unpartition()
        .sync_on(device.new_stream())
    )
    same(output, np.full(1024, 5))


def test_b145_one_arc_for_several_kernels(rng, device):
    """One `Arc` is an input of several kernels."""
    data, stream = numbers(rng, 32), device.new_stream()
    x = tw.Arc(put(data))
    a, *_ = scale(owned(), x.clone(), 2.0).sync_on(stream)
    b, *_ = add(owned(), x.clone(), x).sync_on(stream)
    same(a.unpartition(), np.float32(2) * data)
    same(b.unpartition(), data + data)


def test_b146_borrowed_weights_stay(rng, device):
    """A borrowed tensor is there after the launch, as it was."""
    data = numbers(rng, 32)
    weights = put(data)
    scale(owned(), weights, 2.0).sync()
    same(weights, data)
    assert weights.partition((8,)).grid == (4,), "and nobody else has it"


def test_b147_a_launch_borrows_where_it_is_written(rng, device):
    """A launch borrows its inputs from where it is built, so a write in between is noticed."""
    x, z = put(numbers(rng, 32)), tw.zeros((32,)).sync()
    for build in (
        lambda: scale(z.partition_mut((32,)), x, 2.0),
        lambda: scale(owned(), x, 2.0),
        lambda: scale(owned(), tw.value(x), 2.0),
        lambda: tw.zip(tw.ones((4,)), scale(owned(), x, 2.0)),
        lambda: at_least(tw.zeros((32,)), x, 0.0),
    ):
        op = build()
        tw.fill(x, 5.0).sync()
        with pytest.raises(tw.BorrowError, match="has ended"):
            op.sync()


def test_b148_borrowed_memory_outlives_the_launch(rng, device):
    """The compiler sees to it that a borrowed tensor outlives the launch.

    Differs: lifetimes
    """
    data = numbers(rng, 32)
    x = put(data)
    op = scale(owned(), x, 2.0).out()
    del x
    gc.collect()
    same(op.sync(), np.float32(2) * data)


def test_b149_an_input_and_an_output_are_never_the_same_memory(rng, device):
    """One memory is not written and read by one launch."""
    z = put(numbers(rng, 32))
    with pytest.raises(tw.BorrowError):
        scale(z.partition_mut((32,)), z, 2.0)
    with pytest.raises(tw.BorrowError):
        scale(z.partition_mut((32,)), z[:32], 2.0)


def test_b150_what_was_given_comes_back_after_an_error(rng, device):
    """What was moved into an op belongs to the op.

    Differs: moves-that-did-not-happen
    """
    data = numbers(rng, 32)
    y, x = put(data), put(data)
    with pytest.raises(tw.Error):
        scale(y.partition((32,)), put(numbers(rng, 3, 3)), 2.0).sync()
    same(y, data)
    with pytest.raises(ZeroDivisionError):
        scale(y.partition((32,)), x, 2.0).map(lambda *_: 1 / 0).sync()
    assert y.to_numpy().shape == (32,)


def test_b151_started_work_is_ordered(rng, device):
    """Two futures cannot borrow one tensor, one for writing and one for reading.

    Differs: work-in-flight
    """
    data = numbers(rng, 32)
    z, w = tw.zeros((32,)).sync(), tw.zeros((32,)).sync()
    first = scale(z.partition_mut((32,)), put(data), 2.0).into_future()
    second = scale(w.partition_mut((32,)), z, 3.0).into_future()
    first.result(), second.result()
    same(w, np.float32(3) * (np.float32(2) * data))


def test_b152_disjoint_parts_are_borrowed_apart(rng, device):
    """While a part of a tensor is borrowed for writing, nothing else of it is.

    Differs: parts
    """
    data = numbers(rng, 32)
    m = put(data)
    scale(m.borrow_mut()[:16].partition((16,)), m[16:], 2.0).sync()
    same(m, np.r_[np.float32(2) * data[16:], data[16:]])


def test_b153_passing_an_arc_does_not_use_it_up(rng, device):
    """An `Arc` is cloned for each kernel that takes it.

    Differs: arcs
    """
    data = numbers(rng, 32)
    arc = tw.Arc(put(data))
    for _ in range(2):
        same(scaled(arc, 2.0).sync(), np.float32(2) * data)
    same(arc.unwrap_arc(), data)
