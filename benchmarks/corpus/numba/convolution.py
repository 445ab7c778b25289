"""Convolutions of single channels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...numba_peers import prange


def conv1d_causal(out: Any, x: Any, w: Any, bias: Any) -> None:
    """silu of four taps of each channel, the last of which is the token itself."""
    batch, tokens, channels = x.shape
    one = x.dtype.type(1)
    for number in prange(batch * tokens):
        b, t = number // tokens, number % tokens
        for c in range(channels):
            total = bias[c]
            for tap in range(max(0, 3 - t), 4):
                total += x[b, t - 3 + tap, c] * w[tap, c]
            out[b, t, c] = total / (one + math.exp(-total))


def conv2d_depthwise(out: Any, x: Any, w: Any) -> None:
    """Nine taps of each channel."""
    batch, height, width, channels = x.shape
    for number in prange(batch * height):
        b, i = number // height, number % height
        for j in range(width):
            sums = np.zeros(channels, x.dtype)
            for di in range(max(0, 1 - i), min(3, height + 1 - i)):
                for dj in range(max(0, 1 - j), min(3, width + 1 - j)):
                    for c in range(channels):
                        sums[c] += x[b, i + di - 1, j + dj - 1, c] * w[di, dj, c]
            for c in range(channels):
                out[b, i, j, c] = sums[c]
