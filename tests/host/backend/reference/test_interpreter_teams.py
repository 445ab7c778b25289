"""Threads of a block that meet: what they get from each other, and what the reference reports."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cooperating import last_block
from tilewright import f32, i32, simt, u32


def run(kernel, *args, n=64, dtype=i32, **config):
    """What a kernel writes to n elements on the reference device."""
    with tw.device("reference"):
        out = tw.full((n,), 77, dtype).sync()
        launch = kernel(out.borrow_mut(), *args)
        (launch.launch_config(**config) if config else launch).sync()
        return out.to_numpy()


def problems(kernel, *args, **more):
    """What the reference device finds wrong."""
    with pytest.raises(tw.LaunchError) as caught:
        run(kernel, *args, **more)
    return str(caught.value)


@simt.kernel(block=64)
def reversed_in_block(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, 64)
        s[63 - t] = x[i] if i < len(x) else -7
        simt.sync_threads()
        mine = s[t]
    if i < len(out):
        out[i] = mine


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_a_barrier_makes_writes_seen(n):
    x = np.random.default_rng(n).integers(0, 1000, n, np.int32)
    padded = np.full(-(-n // 64) * 64, -7, np.int32)
    padded[:n] = x
    expected = padded.reshape(-1, 64)[:, ::-1].reshape(-1)[:n]
    np.testing.assert_array_equal(run(reversed_in_block, x, n=n), expected)


@simt.kernel(block=64)
def without_barrier(out: simt.DisjointSlice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, 64)
        s[t] = t
        out[i] = s[(t + 1) % 64]


def test_a_missing_barrier_is_reported_with_both_lines():
    text = problems(without_barrier)
    assert "one thread reads what another writes, s[" in text
    assert "s[t] = t" in text and "out[i] = s[(t + 1) % 64]" in text
    assert "of block (0, 0, 0)" in text


@simt.kernel(block=64)
def one_place(out: simt.DisjointSlice[i32], by: i32) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, (2, 32))
        s[t // by % 2, t % 32] = t
        simt.sync_threads()
        out[i] = s[t // by % 2, t % 32]


def test_two_writers_of_one_element():
    np.testing.assert_array_equal(run(one_place, 32), np.arange(64))
    text = problems(one_place, 1 << 20)
    assert "two threads write s[0, " in text


@simt.kernel(block=4)
def outside(out: simt.DisjointSlice[i32], by: i32) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, (2, 2))
        s[t // 2, t % 2] = t
        simt.sync_threads()
        out[i] = s[t // 2, t % 2 + by]


def test_an_index_outside_is_reported():
    text = problems(outside, 1, n=4)
    assert "out of bounds: s[0, 2] of shared memory of shape (2, 2), read by thread (1, 0, 0)" in (
        text.replace("s[1, 2]", "s[0, 2]").replace("thread (3,", "thread (1,")
    )


@simt.kernel(block=4)
def unwritten(out: simt.DisjointSlice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, 8)
        s[t] = t
        simt.sync_threads()
        out[i] = s[t * 2]


def test_reading_what_nobody_wrote_is_reported():
    assert "read of memory that nothing has written: s[" in problems(unwritten, n=4)


@simt.kernel(block=64)
def by_warp(out: simt.DisjointSlice[i32]) -> None:
    i, lane, warp = simt.index_1d(), simt.lane_id(), simt.warp_id()
    with tw.unsafe():
        s = simt.shared(i32, (2, 32))
        s[warp, lane] = lane
        simt.sync_warp()
        out[i] = s[warp, 31 - lane] + 100 * warp


def test_a_warp_barrier_orders_its_own_lanes():
    expected = np.concatenate([np.arange(32)[::-1] + 100 * w for w in range(2)])
    np.testing.assert_array_equal(run(by_warp), expected)


@simt.kernel(block=64)
def across_warps(out: simt.DisjointSlice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, 64)
        s[t] = t
        simt.sync_warp()
        out[i] = s[63 - t]


def test_a_warp_barrier_orders_nobody_else():
    assert "one thread reads what another writes" in problems(across_warps)


@simt.kernel(block=64)
def counted(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        s = simt.shared(i32, 8)
        if t < 8:
            s[t] = 0
        simt.sync_threads()
        tl.atomic_add(s.at(x[i]), 1, ordering="relaxed")
        simt.sync_threads()
        out[i] = s[t % 8]


def test_atomics_in_shared_memory_lose_nothing():
    x = np.random.default_rng(3).integers(0, 8, 64, np.int32)
    expected = np.tile(np.bincount(x, minlength=8), 8)
    np.testing.assert_array_equal(run(counted, x), expected)


@simt.kernel(block=32)
def swapped(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        s = simt.shared(i32, 1)
        if i == 0:
            s[0] = -1
        simt.sync_threads()
        out[i] = tl.atomic_cas(s.at(0), -1, i)


def test_one_thread_wins_a_compare_and_swap():
    got = run(swapped, n=32)
    (winner,) = np.flatnonzero(got == -1)
    assert set(np.delete(got, winner)) == {winner}


@simt.kernel(block=8)
def dynamic(out: simt.DisjointSlice[i32], half: i32) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        a = simt.dynamic_shared(i32)
        b = simt.dynamic_shared(f32, offset=half * 4)
        a[i % half] = i % half + len(a) * 100
        b[i % half] = f32(len(b))
        simt.sync_warp()
        out[i] = a[i % half] + i32(b[0]) * 10000


def test_dynamic_shared_memory_has_the_room_of_the_launch():
    got = run(dynamic, 8, n=8, shared_mem_bytes=64)
    np.testing.assert_array_equal(got, np.arange(8) + 1600 + 80000)


def test_dynamic_shared_memory_ends_where_the_launch_said():
    assert "out of bounds" in problems(dynamic, 8, n=8, shared_mem_bytes=32)


@simt.kernel(block=50)
def lanes(out: simt.DisjointSlice[i32], by: simt.Slice[i32], *, mode: tl.Const[str]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        if mode == "idx":
            v = simt.shuffle(t, by[i], width=8)
        elif mode == "up":
            v = simt.shuffle_up(t, by[i], width=8)
        elif mode == "down":
            v = simt.shuffle_down(t, by[i], width=8)
        else:
            v = simt.shuffle_xor(t, by[i], width=8)
    out[i] = v


SOURCES = {
    "idx": lambda lane, by: lane // 8 * 8 + by % 8,
    "up": lambda lane, by: lane - by if by >= 0 and lane % 8 >= by else lane,
    "down": lambda lane, by: lane + by if by >= 0 and lane % 8 + by < 8 else lane,
    "xor": lambda lane, by: lane // 8 * 8 + (lane % 8 ^ by % 8),
}


@pytest.mark.parametrize("mode", SOURCES)
def test_shuffles_take_from_their_segment(mode):
    by = np.random.default_rng(5).integers(-3, 40, 48, np.int32)
    by = np.concatenate([by, np.zeros(2, np.int32)])
    got = _lanes(mode, by)
    expected = [t // 32 * 32 + SOURCES[mode](t % 32, int(by[t])) for t in range(50)]
    np.testing.assert_array_equal(got, expected)


def _lanes(mode, by):
    with tw.device("reference"):
        out = tw.full((50,), -1, i32).sync()
        lanes(out.borrow_mut(), by, mode=mode).sync()
        return out.to_numpy()


def test_a_shuffle_from_a_lane_that_is_not_there_is_reported():
    by = np.zeros(50, np.int32)
    by[49] = 7
    with pytest.raises(tw.LaunchError, match="a shuffle from lane 23, which is inactive"):
        _lanes("idx", by)


@simt.kernel(block=40)
def votes(out: simt.DisjointSlice[u32], x: simt.Slice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    with tw.unsafe():
        yes = simt.ballot(x[t] > 2)
        same = simt.match_any(x[t])
        every, some = simt.vote_all(x[t] > 2), simt.vote_any(x[t] > 2)
    kind = u32(t % 3)
    out[i] = (
        yes
        if kind == u32(0)
        else same
        if kind == u32(1)
        else (u32(2) if every else u32(1) if some else u32(0))
    )


def test_votes_ballots_and_matches():
    x = np.random.default_rng(8).integers(0, 5, 40, np.int32)
    got = run(votes, x, n=40, dtype=u32)
    for t in range(40):
        warp = range(t // 32 * 32, min(40, t // 32 * 32 + 32))
        bits = {k: 1 << (k % 32) for k in warp}
        expected = (
            sum(bits[k] for k in warp if x[k] > 2),
            sum(bits[k] for k in warp if x[k] == x[t]),
            2 if all(x[k] > 2 for k in warp) else int(any(x[k] > 2 for k in warp)),
        )[t % 3]
        assert got[t] == expected


@simt.kernel(block=32)
def masked(out: simt.DisjointSlice[i32], low: i32) -> None:
    i = simt.index_1d()
    v = i
    with tw.unsafe():
        if i < 8:
            v = simt.shuffle(i, low, mask=0xFF)
        else:
            v = simt.shuffle_xor(i, 1, mask=0xFFFFFF00)
    out[i] = v


def test_lanes_of_a_mask_meet_by_themselves():
    expected = np.where(np.arange(32) < 8, 5, np.arange(32) ^ 1)
    np.testing.assert_array_equal(run(masked, 5, n=32), expected)


def test_a_lane_outside_of_the_mask_is_reported():
    with pytest.raises(tw.LaunchError, match="a shuffle from lane 9"):
        run(masked, 9, n=32)


def test_releases_and_acquires_reach_through_barriers():
    """A thread publishes for its block, and another one looks for its own."""
    with tw.device("reference"):
        sums, arrived = tw.zeros((12,), i32).sync(), tw.zeros((1,), i32).sync()
        out = tw.full((12,), -1, i32).sync()
        launch = last_block(out.borrow_mut(), sums.borrow_mut(), arrived.borrow_mut())
        launch.launch_config(grid=3).sync()
        np.testing.assert_array_equal(out.to_numpy(), np.arange(12) % 4 + np.arange(12) // 4)


@simt.kernel(block=32)
def any_element(out: simt.DisjointSlice[i32], by: i32) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        out.elements[i // by] = out.elements[i // by] + 1


def test_threads_that_meet_at_an_element_of_a_slice_are_reported():
    np.testing.assert_array_equal(run(any_element, 1, n=32), np.full(32, 78))
    assert "two threads write out[" in problems(any_element, 2, n=32)


def test_an_element_beyond_the_slice_fails_the_launch():
    @simt.kernel(block=32)
    def beyond(out: simt.DisjointSlice[i32]) -> None:
        with tw.unsafe():
            tl.atomic_add(out.elements.at(simt.thread_idx() + 1), 1)

    with tw.device("reference"), pytest.raises(tw.LaunchError, match="index out of range"):
        beyond(tw.empty((32,), i32)).sync()


@simt.kernel(block=64)
def some_return(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    if i >= len(x):
        return
    with tw.unsafe():
        s = simt.shared(i32, 64)
        s[t] = x[i]
        simt.sync_threads()
        out[i] = s[t ^ 1]


def test_who_has_returned_is_not_waited_for():
    x = np.arange(40, dtype=np.int32)
    expected = np.where(np.arange(64) < 40, np.arange(64) ^ 1, 77)
    np.testing.assert_array_equal(run(some_return, x), expected)


@simt.kernel(block=32)
def two_masks(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        every = u32(0xFFFFFFFF)
        if i < 16:
            out[i] = simt.shuffle(i, 0, mask=every)
        else:
            out[i] = simt.shuffle(i, 1, mask=every)


def test_threads_that_wait_for_others_for_ever_are_reported():
    assert "threads that never reach the same barrier" in problems(two_masks, n=32)
