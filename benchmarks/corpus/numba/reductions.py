"""Reductions along each axis, and of everything."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numba_peers import prange

WIDTH = 256
"""Columns of a thread's stripe."""


def sum_rows(out: Any, x: Any) -> None:
    """The sum of each row."""
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total


def column_moments(mean: Any, variance: Any, x: Any) -> None:
    """The mean and the variance of each column."""
    rows, n = x.shape
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        totals, squares = np.zeros(high - low, x.dtype), np.zeros(high - low, x.dtype)
        for i in range(rows):
            for j in range(low, high):
                v = x[i, j]
                totals[j - low] += v
                squares[j - low] += v * v
        for j in range(low, high):
            m = totals[j - low] / rows
            mean[j] = m
            variance[j] = squares[j - low] / rows - m * m


def sum_middle(out: Any, x: Any) -> None:
    """Sums along the middle one of three axes."""
    batch, rows, n = x.shape
    for b in prange(batch):
        for j in range(n):
            out[b, j] = 0
        for i in range(rows):
            for j in range(n):
                out[b, j] += x[b, i, j]


def sum_all(out: Any, x: Any) -> None:
    """The sum of everything."""
    total = x.dtype.type(0)
    for i in prange(x.size):
        total += x[i]
    out[0] = total


def argmax_rows(out: Any, x: Any) -> None:
    """Where the largest element of each row is."""
    for i in prange(x.shape[0]):
        best, where = x[i, 0], 0
        for j in range(x.shape[1]):
            if x[i, j] > best:
                best, where = x[i, j], j
        out[i] = where
