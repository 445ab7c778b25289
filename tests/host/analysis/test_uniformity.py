"""What is the same in all threads, and where they part."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import f32, i32, simt
from tilewright.analysis.uniformity import Over, uniformity
from tilewright.frontend.capture.sources import execute
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection


def built(kernel, *args):
    return build(kernel.source, Inspection(kernel.kernel, args, {}).signature)


def used(*_: object) -> None:
    """Makes names be used, for those who look for names that are not."""


def named(func, name):
    """The value that a name of the kernel stands for, wherever it was bound last."""
    found = [v for op in func.walk() for v in op.results if v.name == name]
    found += [v for op in func.walk() for r in op.regions for v in r.args if v.name == name]
    return found


def slices():
    return tw.meta((4,)).borrow_mut(), tw.meta((4,))


@simt.kernel
def values(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    i = simt.index_1d()
    block = simt.block_idx()
    own = x[i]
    first = x[0]
    double = n * 2
    mixed = double + i
    mine = out[i]
    chosen = 1 if n > 3 else 2
    parted = 1 if own > 3.0 else 2
    used(block, first, mixed, mine, chosen, parted)


def test_values():
    func = built(values, *slices(), 1)
    facts = uniformity(func)
    verdicts = {
        name: any(facts.varies(v) for v in named(func, name))
        for name in ("i", "block", "own", "first", "double", "mixed", "mine", "chosen", "parted")
    }
    varying = {"i", "own", "mixed", "mine", "parted"}
    assert {name for name, varies in verdicts.items() if varies} == varying


@simt.kernel
def loops(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    i = simt.index_1d()
    same = 0
    for _ in range(n):
        same += 2
    other = 0
    for _ in range(i):
        other += 2
    left = 0
    while left < n:
        left += 1
        if x[i] > 0.0:
            break


def test_loops_that_threads_leave_apart_are_split():
    func = built(loops, *slices(), 1)
    facts = uniformity(func)
    same, other, left = (op for op in func.walk() if op.name in ("for", "loop"))
    assert same not in facts.split
    assert other in facts.split
    assert left in facts.split
    assert [facts.varies(op.result) for op in (same, other, left)] == [False, True, True]
    inner = [{o in facts.divergent for o in op.regions[0].ops} for op in (same, other, left)]
    assert inner == [{False}, {True}, {True}], "who has left does not come again"


@simt.kernel
def returns(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    if n > 3:
        return
    before = n + 1
    used(before)
    if x[simt.index_1d()] > 0.0:
        inside = n + 2
        used(inside)
        return
    behind = n + 3
    used(behind)


def test_what_follows_a_return_of_some_threads_is_divergent():
    func = built(returns, *slices(), 1)
    facts = uniformity(func)
    made = {v.name: op for op in func.walk() for v in op.results}
    assert made["before"] not in facts.divergent
    assert made["inside"] in facts.divergent
    assert made["behind"] in facts.divergent
    assert None in facts.split


@simt.kernel(domain=2, unsafe=True)
def places(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    column, row = simt.thread_idx(0), simt.thread_idx(1)
    memory = simt.shared(f32, (4,))
    lane, warp = simt.lane_id(), simt.warp_id()
    same, own = memory[row], memory[column]
    used(lane, warp, same, own)


def test_what_differs_depends_on_who_is_compared():
    func = built(places, tw.meta((4, 4)).borrow_mut(), tw.meta((4,)))
    names = ("column", "row", "lane", "warp", "same", "own")

    def varying(*over, **how):
        facts = uniformity(func, *over, **how)
        return {name for name in names if any(facts.varies(v) for v in named(func, name))}

    assert varying() == set(names)
    assert varying(Over.WARP) == set(names) - {"warp"}
    assert varying(Over.WARP, in_step=True) == {"column", "lane", "own"}, "blocks of 32 x 8"
    assert varying(Over.ROW, in_step=True) == {"column", "lane", "warp", "own"}


def test_the_reason_is_known():
    func = built(loops, *slices(), 1)
    facts = uniformity(func)
    other = [op for op in func.walk() if op.name in ("for", "loop")][1]
    source = facts.source(other.result)
    assert source is not None
    assert source.name == "index_1d"
    assert facts.source(func.params[2]) is None


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("t // 32", True), ("t // 64", True), ("t // 48", False), ("t // 16", False),
        ("t >> 5", True), ("t >> 7", True), ("t >> 4", False), ("t >> 30", True),
        ("t // -32", False), ("t // n", False), ("n // 32", True), ("t % 32", False),
        ("simt.lane_id() // 32", False),
    ],
)  # fmt: skip
def test_the_number_of_a_warp_by_division(text, is_same):
    """Threads along x follow each other in warps, if there are no other axes."""
    source = f"""
@simt.kernel(block=128)
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    t = simt.thread_idx()
    found = {text}
    used(found)
"""
    names = {"simt": simt, "f32": f32, "i32": i32, "used": used}
    execute(source, names)
    func = built(names["kernel"], tw.meta((4,)).borrow_mut(), 1)
    facts = uniformity(func, Over.WARP)
    assert [facts.varies(v) for v in named(func, "found")] == [not is_same]


@pytest.mark.parametrize("block", [(64, 2), (48, 2), None])
def test_rows_of_whole_warps_are_numbered_by_division(block):
    @simt.kernel(domain=2, block=block)
    def kernel(out: simt.DisjointSlice[f32]) -> None:
        row, warp = simt.thread_idx(1), simt.thread_idx() // 32
        used(row, warp)

    func = built(kernel, tw.meta((4, 4)).borrow_mut())
    facts = uniformity(func, Over.WARP)
    verdicts = [facts.varies(v) for name in ("row", "warp") for v in named(func, name)]
    assert verdicts == [block != (64, 2)] * 2


@simt.kernel(unsafe=True)
def talks(out: simt.DisjointSlice[f32], n: i32) -> None:
    t = simt.thread_idx()
    every = simt.vote_all(t > 3)
    some = simt.ballot(t > 3)
    first = simt.shuffle(t, 0)
    other = simt.shuffle(t, t)
    half = simt.shuffle(t, 0, width=16)
    above = simt.shuffle_up(t, 1)
    named_lanes = simt.ballot(t > 3, mask=tw.u32(t))
    used(every, some, first, other, half, above, named_lanes)


def test_warp_operations_have_one_result_where_all_lanes_get_the_same():
    func = built(talks, tw.meta((4,)).borrow_mut(), 1)
    names = ("every", "some", "first", "other", "half", "above", "named_lanes")

    def varying(over):
        facts = uniformity(func, over)
        return {name for name in names if any(facts.varies(v) for v in named(func, name))}

    assert varying(Over.BLOCK) == set(names)
    assert varying(Over.WARP) == {"other", "half", "above", "named_lanes"}
