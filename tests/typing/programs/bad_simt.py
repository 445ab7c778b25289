"""Mistakes in SIMT kernels that type checkers find."""

from __future__ import annotations

import tilewright as tw
from tilewright import f32, simt


@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    out[i + 1] = 1.0  # error: a number is no witness
    out[0] = 1.0  # error: a number is no witness
    x[i] = 1.0  # error: a slice is read only
    out[i] = "a"  # error: not a number
    print(i.depth)  # error: no such axis
    x.tiles((2, 2, 2), 4)  # error: tiles have rows and columns
    print(x.tiles((2, 2), 4)[i][0])  # error: an element has a row and a column


z = tw.zeros((4,)).sync()
kernel(z.borrow_mut()).sync()  # error: one argument too few
kernel(z.borrow_mut(), z, bias=1)  # error: no such constant
