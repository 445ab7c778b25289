"""Mistakes that both type checkers must find: each marked line has an error, no other line."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    x.store(tl.load_tile_like(y, z))  # error: inputs are read only
    z.partition((2, 2))  # error: a host method in a kernel


tw.entry(hints=2)  # error: hints are options
tw.entry(hints={"sm_90": 2})  # error: by architecture too


@tw.entry
def gemm(z: tl.TensorMut[f32], x: tl.Tensor[f32], *, BK: tl.Const[int]) -> None:
    z.store(x.load_tile(z.shape, (0, 0)))


a = np.ones((4, 4), np.float32)
z = tw.zeros((4, 4)).sync()
p = z.partition_mut((2, 2))
op = tw.zeros((4, 4))

add(p, a).sync()  # error: an argument is missing
add(p, a, a, a)  # error: an argument too many
add(p, a, "text")  # error: not a kernel argument
gemm(p, a)  # error: the constant is missing
gemm(p, a, BK="64")  # error: the constant is an int
gemm(p, a, BK=64, BN=64)  # error: no such constant
gemm(p, a, 64)  # error: constants go by keyword
add[(2, 2)](p, a, a)  # error: kernels are not indexed by a grid
first, second = op  # error: an op is not its result
print(op.shape)  # error: an op is not its result
op + 1  # error: an op is not its result
z + z  # error: tensors have no arithmetic
op.unpartition()  # error: a tensor is no partition
p.to_numpy()  # error: a partition is no tensor
tw.value((1, "a")).map(lambda n: n.upper())  # error: the results arrive as two arguments
tw.zeros((2, 2)).then(lambda t: t.shape)  # error: then wants an op
tw.zeros((2, 2), 5)  # error: not a dtype
tw.zeros("ab")  # error: not a shape


class Unfinished(tw.DeviceOp[int]):
    pass


Unfinished()  # error: execute is abstract
