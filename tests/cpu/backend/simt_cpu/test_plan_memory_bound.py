"""Which SIMT kernels wait for memory, and what LLVM is told of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt
from tilewright.backend.llvm.object import host_target
from tilewright.backend.simt_cpu import plan

MOVES = "memory-bound: vectors of the width with the best bandwidth"


@simt.kernel
def scaled(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * 2.0 + 1.0


@simt.kernel
def curved(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = tl.exp(x[i]) + tl.tanh(x[i])


@simt.kernel
def summed(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """What is computed once, outside of the loop over memory, does not count."""
    i = simt.index_1d()
    total: float = f32(0)
    for k in range(i, len(x), simt.grid_dim() * simt.block_dim()):
        total += x[k]
    if i < len(out):
        out[i] = tl.exp(total) + tl.log(total) + tl.sin(total)


@simt.kernel
def again(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """A loop that touches no memory."""
    i = simt.index_1d()
    if i < len(out):
        mine: float = x[i]
        for _ in range(len(x)):
            mine = mine * 0.5 + 1.0
        out[i] = mine


@pytest.mark.parametrize(
    ("kernel", "expected"), [(scaled, True), (curved, False), (summed, True), (again, False)]
)
def test_kernels_that_wait_for_memory(kernel, expected):
    text = kernel.explain(tw.meta((100,)).borrow_mut(), tw.meta((100,)))
    assert (MOVES in text) == expected


def test_machines_that_move_less_than_a_register_are_told_so():
    halves = replace(
        host_target(), name="znver4", features="+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl"
    )
    assert '"prefer-vector-width"="256"' in plan.attributes(halves)
    assert plan.attributes(replace(halves, name="sapphirerapids")) == ""
    assert plan.attributes(replace(halves, features="+avx2")) == ""
