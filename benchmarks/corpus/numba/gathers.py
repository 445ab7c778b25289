"""Gathers, scatter-adds and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numba_peers import prange

WIDTH = 128
"""Columns of a thread's stripe."""


def embedding(out: Any, table: Any, rows: Any) -> None:
    """Rows of a table."""
    for i in prange(rows.size):
        row = rows[i]
        for j in range(table.shape[1]):
            out[i, j] = table[row, j]


def embedding_backward(out: Any, dy: Any, rows: Any) -> None:
    """Add rows to those of a table: threads own stripes of columns, so none waits for another."""
    n = dy.shape[1]
    for stripe in prange((n + WIDTH - 1) // WIDTH):
        low, high = stripe * WIDTH, min(n, (stripe + 1) * WIDTH)
        for i in range(out.shape[0]):
            for j in range(low, high):
                out[i, j] = 0
        for i in range(rows.size):
            row = rows[i]
            for j in range(low, high):
                out[row, j] += dy[i, j]


def combine_experts(out: Any, x: Any, rows: Any, weights: Any) -> None:
    """The weighted sum of the rows that each token names."""
    tokens, each = rows.shape
    for t in prange(tokens):
        for j in range(x.shape[1]):
            out[t, j] = 0
        for k in range(each):
            row, weight = rows[t, k], weights[t, k]
            for j in range(x.shape[1]):
                out[t, j] += x[row, j] * weight


def histogram(out: Any, x: Any) -> None:
    """How often each of 256 numbers occurs: parts have counts of their own."""
    parts = 64
    counts = np.zeros((parts, 256), np.int32)
    each = (x.size + parts - 1) // parts
    for part in prange(parts):
        for i in range(part * each, min(x.size, (part + 1) * each)):
            counts[part, x[i]] += 1
    for b in range(256):
        total = 0
        for part in range(parts):
            total += counts[part, b]
        out[b] = total


def take_columns(out: Any, x: Any, columns: Any) -> None:
    """Columns of a matrix."""
    for i in prange(x.shape[0]):
        for j in range(columns.size):
            out[i, j] = x[i, columns[j]]
