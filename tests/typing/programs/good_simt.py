"""SIMT kernels and their launches as type checkers see them."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt


def weight(x: simt.Slice[f32], i: simt.Index, power: float) -> float:
    return simt.pow(abs(x[i]), power) + x[i + 1]


@simt.kernel
def gate(out: simt.DisjointSlice[f32], x: simt.Slice[f32], least: f32, scale: f32) -> None:
    i = simt.index_1d()
    if i < len(out):
        assert_type(x[i], f32)
        assert_type(i + 1, int)
        out[i] = x[i] * scale if x[i] >= least else 0.0
        out[i] += weight(x, i, 2.0)


@simt.kernel(domain=2, block=(16, 16))
def coordinates(out: simt.DisjointSlice[i32], width: i32, *, bias: tl.Const[int] = 0) -> None:
    i = simt.index_2d(width)
    if i < len(out):
        out[i] = i.row * 1000 + i.col + bias + simt.thread_idx(1)


@simt.kernel(domain=2)
def tiles(out: simt.DisjointSlice[f32], x: simt.Slice[f32], columns: i32) -> None:
    written, read = out.tiles((2, 2), columns), x.tiles((2, 2), columns)
    i = simt.index_2d(written.width)
    if i < len(written):
        assert_type(read[i][0, 1], f32)
        assert_type(written.shape, tuple[int, int])
        written[i][0, 1] = read[0, 1][1, 0] + read[i][i.row % 2, 0]


z = tw.zeros((4, 4)).sync()
x = np.ones(16, np.float32)
launch = gate(z.borrow_mut(), x, 0.5, 2.0)
assert_type(
    launch, simt.SimtLaunch[tuple[tw.BorrowMut[f32], np.ndarray[tuple[int], np.dtype[np.float32]],
                                  float, float]]
)  # fmt: skip
made, *rest = gate(tw.empty((16,)), x, 0.5, 2.0).launch_config(block=64).sync()
assert_type(made, tw.Tensor[f32])
coordinates(tw.empty((4, 4), i32), 4, bias=2).sync()
assert_type(gate.ptx("sm_80"), str)
