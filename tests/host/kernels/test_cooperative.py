"""Sums and scans over warps and blocks, by the reference."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import f32, i32, simt


@simt.kernel(block=96)
def reductions(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    mine = x[i] if i < len(x) else 0.0
    total = simt.block_sum(mine)
    most, least = simt.block_max(mine), simt.block_min(mine)
    warp = simt.warp_sum(mine) + simt.warp_max(mine) * 100.0 + simt.warp_min(mine) * 10000.0
    if i < len(out):
        kind = simt.thread_idx() % 4
        out[i] = total if kind == 0 else most if kind == 1 else least if kind == 2 else warp


def test_every_thread_gets_the_reductions_of_its_block_and_its_warp():
    x = np.random.default_rng(1).integers(-50, 50, 200).astype(np.float32)
    padded = np.zeros(288, np.float32)
    padded[:200] = x
    with tw.device("reference"):
        got = reductions(tw.empty((288,)), x).out().sync().to_numpy()
    for i in range(288):
        block, warp = padded[i // 96 * 96 :][:96], padded[i // 32 * 32 :][:32]
        of_warp = warp.sum() + warp.max() * 100 + warp.min() * 10000
        expected = (block.sum(), block.max(), block.min(), of_warp)[i % 96 % 4]
        assert got[i] == expected


@simt.kernel(block=(16, 8), domain=2)
def scans(out: simt.DisjointSlice[i32], x: simt.Slice[i32], width: i32) -> None:
    i = simt.index_2d(width)
    mine = x[i] if i < len(x) else 0
    of_block = simt.block_scan(mine, lambda a, b: a + b)
    of_warp = simt.warp_scan(mine, lambda a, b: max(a, b))
    if i < len(out):
        out[i] = of_block * 1000 + of_warp


def test_scans_go_in_the_order_of_threads():
    x = np.random.default_rng(2).integers(0, 9, (8, 16)).astype(np.int32)
    with tw.device("reference"):
        got = scans(tw.empty((8, 16), i32), x, 16).out().sync().to_numpy().reshape(-1)
    flat = x.reshape(-1)
    warps = np.maximum.accumulate(flat.reshape(-1, 32), axis=1).reshape(-1)
    np.testing.assert_array_equal(got, np.cumsum(flat) * 1000 + warps)


@simt.kernel(block=64)
def in_a_loop(out: simt.DisjointSlice[i32], rounds: i32) -> None:
    i = simt.index_1d()
    total = 0
    for k in range(rounds):
        total += simt.block_reduce(simt.thread_idx() * k, lambda a, b: a + b)
    if i < len(out):
        out[i] = total


def test_a_block_may_reduce_again_and_again():
    """Whoever is fast must not overwrite what others still read."""
    with tw.device("reference"):
        got = in_a_loop(tw.empty((64,), i32), 5).out().sync().to_numpy()
    assert (got == 63 * 32 * 10).all()


@simt.kernel(block=32)
def one_warp(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    total = simt.block_sum(i) + simt.block_scan(i, lambda a, b: a + b)
    if i < len(out):
        out[i] = total


def test_a_block_of_one_warp_needs_no_memory():
    with tw.device("reference"):
        got = one_warp(tw.empty((32,), i32)).out().sync().to_numpy()
    np.testing.assert_array_equal(got, 496 + np.cumsum(np.arange(32)))
    assert ".shared" not in one_warp.ptx()


@pytest.mark.parametrize("kernel", [reductions, scans, in_a_loop])
def test_they_become_shuffles(kernel):
    assert "shfl.sync" in kernel.ptx("sm_90")
