"""Launches through raw pointers by the core's own path: ordered by their memory, borrowing none."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import python_calls, slow_launches
from tilewright.devices import registry


@tw.entry(unsafe=True)
def doubled(p: tl.Ptr[tw.f32], n: tw.i32) -> None:
    tile = tl.arange(8) + tl.block_id(0) * 8
    mask = tile < n
    tl.store_ptr(p + tile, tl.load_ptr(p + tile, mask=mask, other=0.0) * 2.0, mask=mask)


@tw.entry(unsafe=True)
def added(z: tl.TensorMut[tw.f32], p: tl.Ptr[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    tile = tl.arange(8) + tl.block_id(0) * 8
    z.store(tl.load_ptr(p + tile) + tl.load_tile_like(x, z))


@tw.entry
def copied(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z))


@pytest.fixture(params=["cpu", "cuda"])
def device(request, monkeypatch):
    if request.param == "cpu":
        with tw.device("cpu") as cpu:
            yield cpu
        return
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (gpu,) = registry._Gpus.found
    with tw.device(gpu):
        yield gpu


def numbers(n=16):
    return np.arange(n, dtype=np.float32)


def doubling(t, n=None):
    with tw.unsafe():
        return doubled(t.device_pointer(), t.size if n is None else n).grid((-(-t.size // 8),))
