"""What kernels take, and what comes back: what was put in."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import add, double_through, numbers, put, same, scale
from tilewright import f32, f64, i32, i64, u32, u64

E = TypeVar("E")


@tw.entry
def plus(z: tl.TensorMut[E], x: tl.Tensor[E], k: E) -> None:
    z.store(tl.load_tile_like(x, z) + k)


def takes_a_pointer(z: tl.TensorMut[f32], p: tl.Ptr[f32]) -> None:
    z.store(tl.full(z.shape, 0.0, f32))


def test_b124_a_moved_tensor_comes_back_as_a_tensor(rng, device):
    """A tensor that was given to a launch comes back as a tensor."""
    data = numbers(rng, 16)
    x = put(data)
    _, back, _ = scale(tw.zeros((16,)).partition((16,)), tw.move(x), 2.0).sync()
    assert isinstance(back, tw.Tensor)
    same(back, data)
    with pytest.raises(tw.BorrowError, match="moved"):
        x.to_numpy()


def test_b125_an_arc_comes_back_as_an_arc(rng, device):
    """An `Arc` that was given to a launch comes back as that `Arc`."""
    data = numbers(rng, 16)
    arc = tw.Arc(put(data))
    _, back, _ = scale(tw.zeros((16,)).partition((16,)), arc, 2.0).sync()
    assert isinstance(back, tw.Arc)
    same(back, data)


def test_b126_a_borrowed_tensor_comes_back_as_itself(rng, device):
    """A borrowed tensor comes back as the borrow that was given."""
    x = put(numbers(rng, 16))
    _, back, _ = scale(tw.zeros((16,)).partition((16,)), x, 2.0).sync()
    assert back is x


def test_b127_an_owned_partition_comes_back(rng, device):
    """A partition that owns its tensor comes back as one."""
    data = numbers(rng, 16)
    part = tw.zeros((16,)).sync().partition((8,))
    back, *_ = scale(part, put(data), 2.0).sync()
    assert back is part
    same(back.unpartition(), np.float32(2) * data)


def test_b128_a_borrowed_partition_comes_back(rng, device):
    """A partition that borrows comes back as one; the tensor was written in place."""
    data, z = numbers(rng, 16), tw.zeros((16,)).sync()
    part = z.partition_mut((8,))
    back, *_ = scale(part, put(data), 2.0).sync()
    assert back is part
    same(z, np.float32(2) * data)


def test_b129_scalars_come_back(rng, device):
    """A number comes back as the number."""
    k = float(np.float32(rng.standard_normal()))
    *_, back = scale(tw.zeros((16,)).partition((16,)), put(numbers(rng, 16)), k).sync()
    assert back == k


def test_b130_pointers_are_for_unsafe_kernels(rng, device):
    """A raw pointer is a parameter of unsafe kernels alone, and comes back as it was."""
    data = numbers(rng, 100)
    t = put(data)
    pointer = t.device_pointer()
    with tw.unsafe():
        op = double_through(pointer, 100)
    back, n = op.grid((2,)).sync()
    assert back is pointer and n == 100
    same(t, 2 * data)
    with pytest.raises(tw.CompileError, match="unsafe"):
        tw.entry(takes_a_pointer)


def test_b131_unsafe_kernels_are_called_in_an_unsafe_block(rng, device):
    """Building a launch of an unsafe kernel needs `with tw.unsafe():`."""
    t = put(numbers(rng, 64))
    with pytest.raises(tw.Error, match=r"tw\.unsafe\(\)"):
        double_through(t.device_pointer(), 64)


def test_b132_a_pointer_keeps_its_memory_during_the_launch(rng, device):
    """The memory of a pointer is there until the launch is over."""
    data = numbers(rng, 64)
    t = put(data)
    with tw.unsafe():
        op = double_through(t.device_pointer(), 64)
    future = op.grid((1,)).into_future()
    view = t[:]
    del t
    future.result()
    same(view, 2 * data)


def test_b133_every_form_of_an_input(rng, device):
    """Tensors, shared ones, borrowed ones and ops go where a kernel reads a tensor."""
    data = numbers(rng, 64)
    x = put(data)
    for form in (tw.move(put(data)), tw.Arc(put(data)), x, tw.from_numpy(data), x[:], data):
        out = scale(tw.zeros((64,)).partition((64,)), form, 2.0).out().sync()
        same(out, np.float32(2) * data)


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64, u32, u64], ids=lambda dtype: dtype.__name__)
def test_b134_scalars_of_all_sizes(dtype, rng, device):
    """Numbers of 32 and 64 bits are arguments, floats and integers."""
    data = rng.integers(0, 50, 32).astype(dtype.np)
    out = plus(tw.zeros((32,), dtype).partition((32,)), put(data), dtype(7)).out().sync()
    same(out, data + data.dtype.type(7))


def test_b135_a_partition_is_an_argument_as_it_is(rng, device):
    """Partitions are taken as values, or as ops that give one."""
    data = numbers(rng, 32)
    for part in (tw.zeros((32,)).sync().partition((8,)), tw.zeros((32,)).partition((8,))):
        same(scale(part, put(data), 2.0).out().sync(), np.float32(2) * data)


def test_b136_ops_are_passed_through(rng, device):
    """An op as an argument runs first, as a part of the launch, once."""
    runs, data = [], numbers(rng, 32)
    x = tw.from_numpy(data).inspect(lambda _: runs.append(1))
    op = add(tw.zeros((32,)).partition((32,)), x, tw.from_numpy(data))
    assert runs == []
    same(op.out().sync(), data + data)
    assert runs == [1]


def test_b137_a_plain_tensor_is_no_output(rng, device):
    """What a kernel writes is a partition; a plain tensor there is refused."""
    z = tw.zeros((32,)).sync()
    with pytest.raises(tw.BorrowError, match="partition_mut"):
        scale(z, put(numbers(rng, 32)), 2.0).sync()
