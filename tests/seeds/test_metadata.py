"""What a tensor knows of itself; other types of the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same, scale
from tilewright import f32, f64, i32, u8, u16, u32

pytestmark = pytest.mark.usefixtures("device")


def test_b033_shape(rng):
    """`shape()` gives the extents of a tensor.

    Differs: facts-are-attributes
    """
    shape = tuple(map(int, rng.integers(1, 9, 3)))
    assert put(numbers(rng, *shape)).shape == shape
    assert tw.Arc(put(numbers(rng, *shape))).shape == shape


def test_b034_strides(rng):
    """A tensor knows its strides, in elements."""
    data = numbers(rng, 3, 5, 7)
    t = put(data)
    assert t.strides == (35, 7, 1)
    assert t[:, 1:4, ::2].strides == tuple(n // 4 for n in data[:, 1:4, ::2].strides)
    assert tw.Arc(t).strides == (35, 7, 1)


def test_b035_size(rng):
    """A tensor knows how many elements it has."""
    shape = tuple(map(int, rng.integers(1, 9, 3)))
    t = put(numbers(rng, *shape))
    assert t.size == int(np.prod(shape)) and t[:1].size == t.size // shape[0]
    assert tw.Arc(t).size == int(np.prod(shape))


def test_b036_num_bytes_is_that_of_the_view(rng):
    """`num_bytes` counts the bytes of the view, not of the allocation."""
    t = put(numbers(rng, 6, 8))
    assert t.num_bytes == 6 * 8 * 4 and t[1:3, :2].num_bytes == 2 * 2 * 4
    assert tw.zeros((5,), f64).sync().num_bytes == 40
    assert tw.Arc(t).num_bytes == 6 * 8 * 4


def test_b037_is_contiguous(rng):
    """A tensor knows whether its elements lie in a row."""
    t = put(numbers(rng, 6, 8))
    assert t.is_contiguous and t[1:3].is_contiguous and not t[:, 1:3].is_contiguous
    assert not t.T.is_contiguous and tw.Arc(t).is_contiguous


def test_b038_a_tensor_names_the_gpu_it_lives_on(fake_gpus):
    """`device_id` is the number of the GPU that has the allocation."""
    for number, gpu in enumerate(fake_gpus):
        t = tw.zeros((4,), device=gpu).sync()
        assert t.device_id == number and t.device is gpu
        assert tw.Arc(t).device_id == number


def test_b039_device_pointers_are_typed_and_own_nothing(rng):
    """`device_pointer()` is a pointer of the element type that owns no memory."""
    t = put(numbers(rng, 8))
    pointer = t.device_pointer()
    assert isinstance(pointer, tw.DevicePointer) and pointer.dtype is f32
    assert tw.Arc(t).device_pointer().address == pointer.address
    assert tw.zeros((2,), i32).sync().device_pointer().dtype is i32


def test_b040_facts_wait_for_nothing(null_device):
    """None of these waits for the device; a tensor that was moved cannot be asked.

    Differs: facts
    """
    t = tw.zeros((4, 6), device=null_device).start()
    assert (t.shape, t.strides, t.size, t.num_bytes) == ((4, 6), (6, 1), 24, 96)
    assert t.is_contiguous and t.device is null_device
    kept = tw.move(t)
    assert t.shape == kept.shape == (4, 6)


def test_b041_reinterpret_of_an_arc_gives_an_arc(rng):
    """`arc.reinterpret(dtype, shape)` is an `Arc` of the same bytes as another type."""
    data = rng.integers(0, 1 << 30, 4).astype("u4")
    raw = tw.Arc(put(data))
    floats = raw.reinterpret(f32, (4,))
    assert isinstance(floats, tw.Arc) and floats.shape == (4,) and floats.dtype is f32
    del raw
    np.testing.assert_array_equal(floats.clone().to_numpy().view("u4"), data)


def test_b042_only_contiguous_storage_is_reinterpreted(rng):
    """What has gaps cannot be seen as another type."""
    t = put(numbers(rng, 4, 8))
    with pytest.raises(tw.ShapeError):
        t[:, 1:3].reinterpret(u8)


def test_b043_the_bytes_of_a_reinterpretation_are_the_same(rng):
    """The number of bytes stays, whatever the type."""
    data = numbers(rng, 4, 8)
    arc = tw.Arc(put(data))
    np.testing.assert_array_equal(
        arc.reinterpret(u16, (4, 16)).to_numpy(), data.view("u2").reshape(4, 16)
    )
    with pytest.raises(tw.ShapeError):
        arc.reinterpret(u32, (4, 4))


def test_b044_the_alignment_of_a_reinterpretation_fits(rng):
    """An address that is no multiple of the new type's size is refused."""
    t = put(rng.integers(0, 256, 64).astype("u1"))
    with pytest.raises(tw.ShapeError):
        t[1:9].reinterpret(f64)
    assert t[8:16].reinterpret(f64).shape == (1,)


def test_b045_tensors_are_reinterpreted_as_well(rng):
    """`reinterpret` is there for an `Arc` alone.

    Differs: reinterpreting-tensors
    """
    data = numbers(rng, 12)
    t = put(data)
    view = t.reinterpret(u32)
    np.testing.assert_array_equal(view.to_numpy(), data.view("u4"))
    assert view.device_pointer().address == t.device_pointer().address
    found = tw.from_numpy(data).reinterpret(u32).sync()
    np.testing.assert_array_equal(found.to_numpy(), data.view("u4"))


def test_b046_the_sample_of_reinterpreting(rng):
    """Integers that were counted can be given to a kernel as floats."""
    raw = tw.Arc(tw.arange(4, dtype=u32).sync())
    floats = raw.reinterpret(f32, (4,))
    assert floats.shape == (4,)
    found = scale(tw.zeros((4,)).partition((4,)), floats, 1.0).out().sync()
    same(found, np.arange(4, dtype="u4").view("f4"))
