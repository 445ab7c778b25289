"""Our kernels of the SIMT benchmark: those of the examples, and a rule for each element."""

from __future__ import annotations

import importlib
from typing import Any

from tilewright import f32, simt

block_sums: Any = importlib.import_module("examples.block_reduction").block_sums
histogram: Any = importlib.import_module("examples.histogram").histogram
gemm: Any = importlib.import_module("examples.simt_gemm").gemm


@simt.kernel(block=256)
def threshold_scale(
    out: simt.DisjointSlice[f32], x: simt.Slice[f32], threshold: f32, scale: f32
) -> None:
    """Keep what reaches the threshold, scaled."""
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * scale if x[i] >= threshold else 0.0
