"""Device functions: plain Python functions over tiles, inlined into the kernels that call them."""

from __future__ import annotations

import tilewright.lang as tl
from tilewright import f32

SLOPE = 1.702


def sigmoid(x: tl.Tile[f32]) -> tl.Tile[f32]:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + tl.exp(-x))


def quick_gelu(x: tl.Tile[f32]) -> tl.Tile[f32]:
    """A cheap form of gelu; it calls another device function and reads a constant."""
    return x * sigmoid(SLOPE * x)
