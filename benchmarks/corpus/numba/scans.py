"""Scans and sorts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...numba_peers import prange

WIDTH = 256
"""Columns of a thread's stripe."""


def cumsum_rows(out: Any, x: Any) -> None:
    """Running sums along rows."""
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
            out[i, j] = total


def cumsum_columns(out: Any, x: Any) -> None:
    """Running sums down columns."""
    rows, n = x.shape
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        sums = np.zeros(high - low, x.dtype)
        for i in range(rows):
            for j in range(low, high):
                sums[j - low] += x[i, j]
                out[i, j] = sums[j - low]


def recurrence(out: Any, a: Any, x: Any) -> None:
    """state = a * state + x, down columns."""
    rows, n = x.shape
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        state = np.zeros(high - low, x.dtype)
        for i in range(rows):
            for j in range(low, high):
                state[j - low] = a[i, j] * state[j - low] + x[i, j]
                out[i, j] = state[j - low]


def sort_rows(out: Any, x: Any) -> None:
    """Sort each row."""
    for i in prange(x.shape[0]):
        out[i] = np.sort(x[i])


def topk_gate(weights: Any, places: Any, x: Any) -> None:
    """Softmax of the largest scores of each row, and where they are, by insertion."""
    rows, n = x.shape
    chosen = weights.shape[1]
    for i in prange(rows):
        best = np.full(chosen, x.dtype.type(-3e38))
        where = np.zeros(chosen, np.int32)
        for j in range(n):
            v = x[i, j]
            if v > best[chosen - 1]:
                k = chosen - 1
                while k > 0 and best[k - 1] < v:
                    best[k] = best[k - 1]
                    where[k] = where[k - 1]
                    k -= 1
                best[k] = v
                where[k] = j
        total = x.dtype.type(0)
        for k in range(chosen):
            weights[i, k] = math.exp(best[k] - best[0])
            total += weights[i, k]
            places[i, k] = where[k]
        for k in range(chosen):
            weights[i, k] /= total
