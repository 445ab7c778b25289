"""Tuned kernels: spaces, keys, calls and reports."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt

SPACE = tw.search(tile=[(16, 16), (32, 32)], BK=[8, 16]) + tw.search(tile=(8, 8), BK=8)


@tw.autotune(SPACE, key=["x.shape", "x.dtype"], tolerance=0.1, flush=True)
@tw.entry
def multiply(
    z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], *, BK: tl.Const[int]
) -> None:
    z.store(tl.load_tile_like(x, z) * tl.load_tile_like(y, z) * float(BK))


@tw.autotune([tw.Config(block=64), tw.Config(block=128)], key=lambda x: x.shape[0] // 64)
@simt.kernel
def double(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * 2.0


@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


function = tw.function(scale, outputs="x", tune=tw.autotune(tw.search(tile=[4, 8])))

x, z = tw.ones((8, 8)).sync(), tw.zeros((8, 8)).sync()
multiply(z.borrow_mut(), x, np.ones((8, 8), np.float32)).sync()
made: tw.DeviceOp[Any] = multiply(tw.empty((8, 8)), x, x).out()
report: tw.tune.Report = multiply.tune(z.borrow_mut(), x, x)
chosen: str = report.chosen
best: float | None = report.best
first: tw.Config = SPACE[0]
count: int = tw.tune.export("records.json")
config = tw.Config(tile={"z": (8, tw.FULL)}, hints=tw.CompileOptions(occupancy=2), latency=3)
