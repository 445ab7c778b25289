"""Grids that are launched with their last axis first, and those that are too long for it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from benchmarks import kernels
from support.fake_cuda import FakeCuda
from tilewright.devices.cuda.device import CudaDevice
from tilewright.launch import grid as module


@pytest.fixture
def grids(without_assembler):
    """The grids that attention is launched with, on a driver that runs nothing."""
    fake, seen = FakeCuda(), list[tuple[int, ...]]()
    fake.kernels["attention"] = lambda values, grid: seen.append(tuple(grid))
    with tw.device(CudaDevice(fake, 0)):
        yield seen


def attend():
    """Attention of 4 heads of 128 tokens, 64 to a block."""
    heads = [tw.from_numpy(np.zeros((4, 128, 32), "f2")).sync() for _ in range(4)]
    out, *given = heads
    kernels.attention(out.partition_mut((1, 64, 32)), *given, 0.1).sync()


def test_the_last_axis_is_launched_first(grids):
    attend()
    assert grids == [(1, 2, 4)]


def test_a_grid_that_is_too_long_for_it_keeps_its_order(grids, monkeypatch):
    monkeypatch.setattr(module, "MAX_GRID", ((1 << 24) - 1, 3, 3))
    attend()
    assert grids == [(4, 2, 1)]
