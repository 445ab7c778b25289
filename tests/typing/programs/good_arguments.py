"""Arguments that checkers know little of, or by what they export alone; outputs by their number."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32, i32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def split(lo: tl.TensorMut[f32], hi: tl.TensorMut[f16], x: tl.Tensor[f32]) -> None:
    lo.store(tl.load_tile_like(x, lo))
    hi.store(tl.load_tile_like(x, hi).astype(f16))


@tw.entry
def three(a: tl.TensorMut[f32], b: tl.TensorMut[f32], c: tl.TensorMut[f16]) -> None:
    a.store(tl.zeros(a.shape, f32))
    b.store(tl.zeros(b.shape, f32))
    c.store(tl.zeros(c.shape, f16))


@tw.entry
def persistent(z: tl.MappedPartitionMut[f32], x: tl.Tensor[f32]) -> None:
    for index in z.iter_indices():
        z.store(tl.zeros(z.shape, f32), index)


class Foreign:
    """An array of another library, as torch's are."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        raise NotImplementedError

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class OnGpu:
    """An array of Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise NotImplementedError


class OnHost:
    """An array that NumPy can look into."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        raise NotImplementedError


def any_of(y: Any, w: npt.NDArray[np.float32], t: tw.Tensor[f32]) -> None:
    """What is not known of inputs says nothing of outputs."""
    z = tw.empty((4, 4)).partition((4, 4))
    assert_type(add(z, y, w).out(), tw.DeviceOp[tw.Tensor[f32]])
    assert_type(add(z, y, y).out().sync(), tw.Tensor[f32])
    assert_type(add(t.partition_mut((4, 4)), t, y).out().sync(), tw.Tensor[f32])
    add(z, y, w).out().sync().to_numpy()
    half = tw.empty((4, 4), f16).partition((4, 4))
    assert_type(split(z, half, y).out().sync(), tuple[tw.Tensor[f32], tw.Tensor[f16]])
    first, second, *_ = three(z, z, half).out().sync()
    assert_type(first, tw.Tensor[f32])
    assert_type(second, tw.Tensor[f32])
    mapped = t.partition_mut((4, 4)).map((1, 1))
    assert_type(persistent(mapped, y).out(), tw.DeviceOp[tw.Tensor[f32]])


@tw.entry
def linear(z: tl.TensorMut[f32], x: tl.Tensor[f32], b: tl.Tensor[f32] | None) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile if b is None else tile + tl.load_tile_like(b, z))


@tw.entry
def total(z: tl.TensorMut[f32], *xs: tl.Tensor[f32]) -> None:
    z.store(0.0)
    for x in xs:
        z.store(z.load() + tl.load_tile_like(x, z))


@tw.entry
def joined(z: tl.TensorMut[f32], xs: tuple[tl.Tensor[f32], ...], w: f32) -> None:
    z.store(0.0)
    for x in xs:
        z.store(z.load() + w * tl.load_tile_like(x, z))


@tw.entry
def histogram(counts: tl.Accumulator[i32, tl.Dyn], x: tl.Tensor[i32]) -> None:
    counts.add(1, x.load_tile(64, tl.block_id(0)), clip=True)
    counts.max(x.load_tile(64, 0), (0,))


def accumulated(t: tw.Tensor[i32], w: npt.NDArray[np.int32]) -> None:
    """What all blocks add to is an exclusive borrow."""
    counts, _ = histogram(t.borrow_mut(), w).grid((4,)).sync()
    assert_type(counts, tw.BorrowMut[i32])


def structured(w: npt.NDArray[np.float32], t: tw.Tensor[f32]) -> None:
    """What may be None, and any number of tensors."""
    z = tw.empty((4, 4)).partition((4, 4))
    assert_type(linear(z, t, None).out().sync(), tw.Tensor[f32])
    assert_type(linear(z, t, w).out().sync(), tw.Tensor[f32])
    assert_type(total(z, t, w, tw.zeros((4, 4))).sync(), tuple[Any, ...])


def aliases(x: Foreign, g: OnGpu, h: OnHost, w: npt.NDArray[np.float32]) -> None:
    """What shares memory."""
    for t in (tw.asarray(x), tw.asarray(g), tw.asarray(h), tw.asarray(w)):
        add(t.partition_mut((4, 4)), x, g).sync()


with tw.unsafe():
    assert_type(tw.value(1).then_unchecked(lambda n: tw.value(n)), tw.DeviceOp[int])
device: tw.Device = tw.Device.new(0)
number: int | None = tw.zeros((1,)).sync().device_id
count: int = tw.device_count()
address: int = int(tw.zeros((1,)).sync().device_pointer())


def by_keyword(w: npt.NDArray[np.float32], z: tw.Tensor[f32]) -> None:
    """Arguments by name, all or some of them."""
    add(z=z.partition_mut((4, 4)), x=w, y=w).sync()
    add(z.partition_mut((4, 4)), x=w, y=w).sync()
    add(z.partition_mut((4, 4)), w, y=w).sync()
