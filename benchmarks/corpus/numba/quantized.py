"""Products of few rows with quantized matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numba_peers import prange

WIDTH = 512
"""Columns of a thread's stripe: its sums stay in the cache."""


def int8_weight_few(out: Any, x: Any, w: Any, scale: Any) -> None:
    """(x @ w) * scale, of 8-bit integers."""
    m, k = x.shape
    n = w.shape[1]
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        sums = np.zeros((m, high - low), x.dtype)
        for p in range(k):
            for i in range(m):
                v = x[i, p]
                for j in range(high - low):
                    sums[i, j] += v * x.dtype.type(w[p, low + j])
        for i in range(m):
            for j in range(high - low):
                out[i, low + j] = sums[i, j] * scale[low + j]


def int4_weight_few(out: Any, x: Any, w: Any, scale: Any) -> None:
    """(x @ w) * scale, of 4-bit integers: two rows in a byte, less 8."""
    m, k = x.shape
    n = w.shape[1]
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        sums = np.zeros((m, high - low), x.dtype)
        for p in range(k // 2):
            for i in range(m):
                even, odd = x[i, 2 * p], x[i, 2 * p + 1]
                for j in range(high - low):
                    both = np.int32(w[p, low + j])
                    first = x.dtype.type((both & 15) - 8)
                    sums[i, j] += even * first + odd * x.dtype.type((both >> 4) - 8)
        for i in range(m):
            for j in range(high - low):
                out[i, low + j] = sums[i, j] * scale[low + j]
