"""What is written is given exclusively: each marked line has an error, no other line."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry(hints=tw.CompileOptions(occupancy=2))
def split(lo: tl.TensorMut, hi: tl.TensorMut, x: tl.Tensor) -> None:
    lo.store(tl.load_tile_like(x, lo))
    hi.store(tl.load_tile_like(x, hi))


@tw.entry
def persistent(z: tl.MappedPartitionMut[f32], x: tl.Tensor[f32]) -> None:
    for index in z.iter_indices():
        z.store(tl.zeros(z.shape, f32), index)


def run(t: tw.Tensor[f32], w: npt.NDArray[np.float32], y: Any) -> None:
    """Plain tensors and arrays in place of outputs."""
    z = t.partition_mut((4, 4))
    add(t, w, w)  # error: a plain tensor
    add(w, w, w)  # error: an array
    add(tw.zeros((4, 4)), w, w)  # error: an op that gives a tensor
    add(t.borrow_mut(), w, w)  # error: a borrow that is not cut into tiles
    add(1.0, w, w)  # error: a number
    split(z, t, w)  # error: the second one
    split(t, z, w)  # error: the first one
    persistent(t, w)  # error: a plain tensor
    add(z, w).sync()  # error: too few
    add(t, x=w, y=w)  # error: a plain tensor, by position beside names
    add(z, w, w, w)  # error: too many
    tw.asarray("abc")  # error: no array
    tw.asarray([1.0, 2.0])  # error: a list has no memory to share
    add(z, w, w).generics([f32])  # error: generics have names
    split(z, z, y).out().sync().to_numpy()  # error: there are two
