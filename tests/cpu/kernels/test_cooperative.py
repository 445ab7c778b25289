"""Sums and scans over warps and blocks, on both devices of the host."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.cooperating import in_a_loop, in_groups, one_warp, reductions, scans
from support.numbers import fresh_rng
from tilewright import i32

DEVICES = ["reference", "cpu"]


@pytest.mark.parametrize("device", DEVICES)
def test_every_thread_gets_the_reductions_of_its_block_and_its_warp(device):
    x = np.random.default_rng(1).integers(-50, 50, 200).astype(np.float32)
    padded = np.zeros(288, np.float32)
    padded[:200] = x
    with tw.device(device):
        got = reductions(tw.empty((288,)), x).out().sync().to_numpy()
    for i in range(288):
        block, warp = padded[i // 96 * 96 :][:96], padded[i // 32 * 32 :][:32]
        of_warp = warp.sum() + warp.max() * 100 + warp.min() * 10000
        expected = (block.sum(), block.max(), block.min(), of_warp)[i % 96 % 4]
        assert got[i] == expected


@pytest.mark.parametrize("device", DEVICES)
def test_scans_go_in_the_order_of_threads(device):
    x = np.random.default_rng(2).integers(0, 9, (8, 16)).astype(np.int32)
    with tw.device(device):
        got = scans(tw.empty((8, 16), i32), x, 16).out().sync().to_numpy().reshape(-1)
    flat = x.reshape(-1)
    warps = np.maximum.accumulate(flat.reshape(-1, 32), axis=1).reshape(-1)
    np.testing.assert_array_equal(got, np.cumsum(flat) * 1000 + warps)


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_may_reduce_again_and_again(device):
    """Whoever is fast must not overwrite what others still read."""
    with tw.device(device):
        got = in_a_loop(tw.empty((64,), i32), 5).out().sync().to_numpy()
    assert (got == 63 * 32 * 10).all()


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_of_one_warp_needs_no_memory(device):
    with tw.device(device):
        got = one_warp(tw.empty((32,), i32)).out().sync().to_numpy()
    np.testing.assert_array_equal(got, 496 + np.cumsum(np.arange(32)))
    assert ".shared" not in one_warp.ptx()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
def test_neighbours_have_results_of_their_own(device, width):
    x = fresh_rng().integers(0, 99, 96).astype(np.int32)
    block = max(width, 4) * 3
    with tw.device(device):
        launch = in_groups(tw.empty((96,), i32), x, WIDTH=width).launch_config(block=block)
        got = launch.out().sync().to_numpy()
    groups = x.reshape(-1, width)
    expected = groups.sum(1, keepdims=True) * 10000 + np.cumsum(groups, axis=1)
    np.testing.assert_array_equal(got.reshape(-1, width), expected)


@pytest.mark.parametrize("kernel", [reductions, scans, in_a_loop])
def test_they_become_shuffles(kernel):
    assert "shfl.sync" in kernel.ptx("sm_90")
