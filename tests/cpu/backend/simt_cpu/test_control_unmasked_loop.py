"""Loops over memory whose first rounds need no test, against the reference interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from support.numbers import fresh_rng
from tilewright import LaunchError, i32, simt
from tilewright.compile.inspect import stage_texts

BLOCKS = (1, 32, 63, 64, 100)
"""Registers hold what all of these carry; what the largest blocks carry is in memory."""
LARGEST = 1024
ROUNDS = 3
LAST = 2**31 - 1


@simt.kernel(unsafe=True)
def summed(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Every thread has its own rounds of a chunk; barriers make the block a team."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    total = 0
    for k in range(ROUNDS):
        at = simt.block_idx() * n * ROUNDS + t + k * n
        if at < len(x):
            total += x[at]
    simt.sync_threads()
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def both_ways(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Two guards in a round, one of them with another way."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    total, missed = 0, 0
    for k in range(ROUNDS):
        at = t + k * n
        if at + 3 < len(x):
            total += x[at + 3]
        else:
            missed += 1
        if len(x) > at:
            total = total * 3 + x[at]
    simt.sync_threads()
    if i < len(out):
        out[i] = total * 10 + missed


@simt.kernel(unsafe=True)
def by_warp(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Numbers that follow each other in a warp, but not in the block."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    total = 0
    for k in range(ROUNDS):
        apart = t + simt.warp_id() * 40 + k * n
        if apart < len(x):
            total += x[apart]
        again = simt.lane_id() + k * 32
        if again < len(x):
            total += 7 * x[again]
        far = t - simt.warp_id() * 64 + k * 8
        if far >= 0 and far < len(x):
            total += 5 * x[far]
    simt.sync_threads()
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def some_return(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Threads that have returned take no part, though all would be inside."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    if i >= len(out) or x[i % len(x)] % 3 == 0:
        return
    total = 0
    for k in range(ROUNDS):
        at = t + k * n
        if at < len(x):
            total += x[at]
    simt.sync_threads()
    out[i] = total


@simt.kernel(unsafe=True)
def ranged(
    out: simt.DisjointSlice[i32], x: simt.Slice[i32], first: i32, step: i32, low: i32, high: i32
) -> None:
    """Guards at both ends; numbers may wrap."""
    i, t = simt.index_1d(), simt.thread_idx()
    total = 0
    for k in range(ROUNDS):
        at = first + t + k * step
        if at >= low and at <= high:
            total += x[at & 63] + k
    for k in range(ROUNDS):
        at = first + t - k * step
        if at > low and high > at:
            total += 3 * x[at & 63]
    simt.sync_threads()
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def unguarded(out: simt.DisjointSlice[i32], x: simt.Slice[i32], steps: simt.Slice[i32]) -> None:
    """Checks alone, of numbers that nothing is known about before."""
    i, t = simt.index_1d(), simt.thread_idx()
    step = steps[0]
    total = 0
    for k in range(ROUNDS):
        total += x[t + k * step]
    simt.sync_threads()
    if i < len(out):
        out[i] = total


def run(device: str, kernel: Any, size: int, args: tuple[Any, ...], block: int) -> Any:
    with tw.device(device), tw.unsafe():
        out = tw.from_numpy(np.full(size, -77, np.int32)).sync()
        kernel(out.borrow_mut(), *args).launch_config(block=block).sync()
        return out.to_numpy()


def same_as_reference(kernel: Any, size: int, block: int, *args: Any) -> None:
    got, expected = (run(device, kernel, size, args, block) for device in ("cpu", "reference"))
    np.testing.assert_array_equal(got, expected)


def numbers(count: int) -> Any:
    return fresh_rng().integers(-99, 99, count, dtype=np.int32)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kernel", [summed, both_ways, by_warp, some_return])
@pytest.mark.parametrize("block", BLOCKS)
def test_same_as_the_reference(kernel: Any, block: int) -> None:
    # Ends in the middle of a group, of a round, at their ends, and before the first of them.
    whole = block * ROUNDS
    for length in (1, block + 33, whole - 1, whole, whole + 3):
        same_as_reference(kernel, 2 * block - 1, block, numbers(length))


def test_blocks_that_carry_more_than_registers_hold() -> None:
    same_as_reference(summed, LARGEST, LARGEST, numbers(ROUNDS * LARGEST - 40))


places = st.one_of(
    st.integers(-300, 300), st.integers(LAST - 300, LAST), st.integers(-LAST - 1, -LAST + 300)
)


@settings(deadline=None, max_examples=40)
@given(
    block=st.sampled_from((32, 96)), first=places, step=st.integers(-300, 300),
    low=places, high=places,
)  # fmt: skip
def test_any_range(block: int, first: int, step: int, low: int, high: int) -> None:
    same_as_reference(ranged, block, block, numbers(64), first, step, low, high)


@pytest.mark.parametrize("block", [32, 100, 256])
def test_checks_that_hold_need_no_test_and_others_are_reported(block: int) -> None:
    x, step = numbers(ROUNDS * block), np.array([block], np.int32)
    same_as_reference(unguarded, block, block, x, step)
    for args in ((x[:-1], step), (x, -step)):
        with pytest.raises(LaunchError, match="index out of range"):
            run("cpu", unguarded, block, args, block)


def test_unmasked_iterations_have_no_tests():
    """No comparison per group in the loop that most iterations run in."""
    given = (tw.meta((100,), i32).borrow_mut(), tw.meta((1000,), i32))
    with tw.unsafe():
        signature = summed.compile(*given).signature
    text = stage_texts(summed.source, signature, "cpu")["llvm"]
    inside = text.split("\nall_in_bounds", 1)[1].split("\nloop_head", 1)[0]
    assert inside.count("load <32 x i32>") >= 2
    assert "icmp slt <32 x i32>" not in inside and "masked.load" not in inside
