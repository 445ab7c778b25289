"""SIMT kernels on a GPU: each against the reference, and together with tile kernels in graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import teams, threads
from support.cooperating import (
    by_hand,
    in_a_loop,
    in_groups,
    last_block,
    one_warp,
    orders,
    reductions,
    scans,
)
from tilewright import bf16, f16, f32, f64, i32, i64, simt, u32, u64

SIZES = (1, 33, 100, 257)


def same(got, expected, tolerance):
    if tolerance:
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", threads.CASES)
def test_threads_apart(rng, name, n):
    case = threads.CASES[name]
    args = case.given(rng, n)
    pairs = zip(
        threads.run_on("cuda", case, args), threads.run_on("reference", case, args), strict=True
    )
    for got, expected in pairs:
        same(got, expected, case.tolerance)


@pytest.mark.parametrize("block", [32, 48, 128])
@pytest.mark.parametrize("name", teams.TEAMS)
def test_threads_that_meet(rng, name, block):
    team = teams.TEAMS[name]
    args = team.given(rng, 100)
    got, expected = (teams.run_on(device, team, args, block) for device in ("cuda", "reference"))
    same(got, expected, team.tolerance)


@pytest.mark.parametrize("name", teams.PLANES)
def test_planes_of_threads_that_meet(rng, name):
    team = teams.PLANES[name]
    args = team.given(rng, 11 * 13)
    got, expected = (teams.run_on(d, team, args, (8, 6)) for d in ("cuda", "reference"))
    same(got, expected, team.tolerance)


def test_reductions_and_scans(rng):
    x = rng.integers(-50, 50, 200).astype(np.float32)
    plane = rng.integers(0, 9, (8, 16)).astype(np.int32)

    def results():
        yield reductions(tw.empty((288,)), x).out().sync().to_numpy()
        yield scans(tw.empty((8, 16), i32), plane, 16).out().sync().to_numpy()
        yield in_a_loop(tw.empty((640,), i32), 50).out().sync().to_numpy()
        yield one_warp(tw.empty((32,), i32)).out().sync().to_numpy()

    got = list(results())
    with tw.device("cpu"):
        for ours, expected in zip(got, results(), strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_the_last_block_sees_what_all_wrote():
    for _ in range(20):
        sums, arrived = tw.zeros((12,), i32).sync(), tw.zeros((1,), i32).sync()
        out = tw.full((12,), -1, i32).sync()
        launch = last_block(out.borrow_mut(), sums.borrow_mut(), arrived.borrow_mut())
        launch.launch_config(grid=3).sync()
        np.testing.assert_array_equal(out.to_numpy(), np.arange(12) % 4 + np.arange(12) // 4)


def test_atomics_of_every_kind_run():
    kinds = (i32, u64, f32, f64, u32, i64, f16, bf16)
    with tw.unsafe():
        held = [tw.zeros((2,), kind).sync() for kind in kinds]
        out = tw.zeros((64,), i32).sync()
        pointers = [t.device_pointer() for t in held]
        orders(*pointers, out.borrow_mut()).launch_config(grid=2, block=32).sync()
    assert held[1].to_numpy()[0] & 3 == 3 or held[1].to_numpy()[0] > 0
    np.testing.assert_allclose(held[2].to_numpy()[0] % 3, 0, atol=1e-6)


def test_inline_ptx():
    with tw.unsafe():
        out, halves = tw.zeros((100,), u32).sync(), tw.zeros((100,)).sync()
        by_hand(out.borrow_mut(), halves.borrow_mut()).sync()
    flipped = [int(f"{i:032b}"[::-1], 2) for i in range(100)]
    np.testing.assert_array_equal(out.to_numpy(), np.asarray(flipped, np.uint32))
    np.testing.assert_array_equal(halves.to_numpy(), np.arange(100, dtype=np.float32) / 2)


@simt.kernel(block=128, unsafe=True)
def in_much_memory(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    room = simt.dynamic_shared(f32)
    last = len(room) - 1
    room[last - t] = x[i] if i < len(x) else 0.0
    simt.sync_threads()
    if i < len(out):
        out[i] = room[last - (t ^ 1)] + f32(len(room))


@pytest.mark.parametrize("nbytes", [512, 48 << 10, 100 << 10, 227 << 10])
def test_as_much_shared_memory_as_a_launch_asks_for(rng, nbytes):
    x = rng.random(300, np.float32)
    padded = np.zeros(384, np.float32)
    padded[:300] = x
    with tw.unsafe():
        launch = in_much_memory(tw.empty((300,)), x).launch_config(shared_mem_bytes=nbytes)
        got = launch.out().sync().to_numpy()
    expected = padded.reshape(-1, 2)[:, ::-1].reshape(-1)[:300] + np.float32(nbytes // 4)
    np.testing.assert_array_equal(got, expected)


def test_checks_asserts_and_prints(capfd):
    @simt.kernel
    def checked(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            assert x[i] != 3, "no threes"
            if i % 100 == 7:
                print("thread", i, x[i])
            out[i] = x[i]

    x = np.zeros(300, np.int32)
    checked(tw.empty((300,), i32), x).sync()
    assert sorted(capfd.readouterr().out.splitlines()) == [f"thread {i} 0" for i in (107, 207, 7)]
    x[270] = 3
    with pytest.raises(tw.LaunchError, match="no threes") as caught:
        checked(tw.empty((300,), i32), x).sync()
    assert "thread (14, 0, 0) of block (1, 0, 0)" in str(caught.value)
    with pytest.raises(tw.LaunchError, match=r"`x`"):
        checked(tw.empty((301,), i32), np.zeros(300, np.int32)).sync()


@tw.entry
def doubled(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


@simt.kernel(block=64)
def gated(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """Each element with the sum of its block, where that is large."""
    i = simt.index_1d()
    mine = x[i] if i < len(x) else 0.0
    total = simt.block_sum(mine)
    if i < len(out):
        out[i] = mine + total if total > 64.0 else 0.0


def test_a_graph_of_tiles_and_threads(rng, device):
    """Recorded once, replayed on new numbers; as many kinds of node as there are kernels."""
    x, between, out = (tw.zeros((640,)).sync() for _ in range(3))
    with tw.CudaGraph.scope(device.new_stream()) as s:
        s.record(doubled(between.partition_mut(64), x))
        s.record(gated(out.borrow_mut(), between))
        s.record(doubled(between.partition_mut(64), out))
        s.record(gated(out.borrow_mut(), between))
    assert s.graph.nodes == ("doubled", "gated", "doubled", "gated")
    for _ in range(3):
        given = rng.integers(0, 3, 640).astype(np.float32)
        s.graph.update(x.copy_from(given))
        s.graph.launch().sync()
        np.testing.assert_array_equal(out.to_numpy(), _gated(2 * _gated(2 * given)))


def _gated(x):
    blocks = x.reshape(-1, 64)
    totals = blocks.sum(1, keepdims=True)
    return np.where(totals > 64, blocks + totals, 0).reshape(-1)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
def test_neighbours_have_results_of_their_own(rng, width):
    x = rng.integers(0, 99, 96).astype(np.int32)
    launch = in_groups(tw.empty((96,), i32), x, WIDTH=width).launch_config(block=max(width, 4) * 3)
    groups = x.reshape(-1, width)
    expected = groups.sum(1, keepdims=True) * 10000 + np.cumsum(groups, axis=1)
    np.testing.assert_array_equal(launch.out().sync().to_numpy().reshape(-1, width), expected)
