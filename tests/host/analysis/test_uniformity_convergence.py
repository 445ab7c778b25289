"""Where threads are to meet and some may not come."""

from __future__ import annotations

import tilewright as tw
from tilewright import f32, i32, simt
from tilewright.analysis.uniformity import Over, divergent_syncs
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection


def found(kernel, *args):
    """The names of the ops that not all threads reach, with whose threads they are."""
    func = build(kernel.source, Inspection(kernel.kernel, args, {}).signature)
    return [(p.op.name, p.over) for p in divergent_syncs(func)]


def slices():
    return tw.meta((4,)).borrow_mut(), tw.meta((4,)), 3


@simt.kernel(unsafe=True)
def together(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    i = simt.index_1d()
    if i >= len(out):
        return
    if n > 3:
        simt.sync_threads()
    for k in range(n):
        if x[0] > f32(k):
            break
        simt.sync_threads()
    if simt.thread_idx() // 32 == 1 or simt.warp_id() == 2:
        simt.sync_warp()
    if simt.ballot(x[i] > 0.5) > 3:
        simt.sync_warp()
    if simt.shuffle(x[i], 0) > 0.5:
        simt.sync_warp()
    if x[i] > 0.5:
        simt.sync_warp(mask=1)


def test_returned_threads_and_warps_that_part_are_no_problem():
    assert found(together, *slices()) == []


@simt.kernel(unsafe=True)
def apart(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    i = simt.index_1d()
    if simt.warp_id() == n:
        simt.sync_threads()
        simt.sync_warp()
    for k in range(n):
        simt.sync_threads()
        if out[i] > f32(k):
            break
    if simt.shuffle_up(x[i], 1) > 0.5:
        simt.sync_warp()


def test_what_parts_warps_or_lanes_is_found():
    barrier, lanes = ("sync_threads", Over.BLOCK), ("sync_warp", Over.WARP)
    assert found(apart, *slices()) == [barrier, barrier, lanes]


@simt.kernel(domain=2, block=(64, 2), unsafe=True)
def whole_rows(out: simt.DisjointSlice[f32]) -> None:
    if simt.thread_idx(1) == 0:
        simt.sync_warp()


@simt.kernel(domain=2, unsafe=True)
def any_rows(out: simt.DisjointSlice[f32]) -> None:
    if simt.thread_idx(1) == 0:
        simt.sync_warp()


def test_rows_are_of_one_warp_where_the_kernel_says_how_long_they_are():
    z = tw.meta((4, 4)).borrow_mut()
    assert found(whole_rows, z) == []
    assert found(any_rows, z) == [("sync_warp", Over.WARP)]
