"""Stencils, pooling and transposes."""

from __future__ import annotations

from typing import Any

from ...numba_peers import prange


def heat_step(out: Any, x: Any, rate: Any) -> None:
    """A step of diffusion; outside is 0."""
    rows, n = x.shape
    r, four = x.dtype.type(rate), x.dtype.type(4)
    for i in prange(rows):
        for j in range(n):
            around = x.dtype.type(0)
            if i > 0:
                around += x[i - 1, j]
            if i < rows - 1:
                around += x[i + 1, j]
            if j > 0:
                around += x[i, j - 1]
            if j < n - 1:
                around += x[i, j + 1]
            out[i, j] = x[i, j] + r * (around - four * x[i, j])


def max_pool(out: Any, x: Any) -> None:
    """The largest of each element and its eight neighbours."""
    rows, n = x.shape
    for i in prange(rows):
        for j in range(n):
            best = x[i, j]
            for a in range(max(0, i - 1), min(rows, i + 2)):
                for b in range(max(0, j - 1), min(n, j + 2)):
                    best = max(best, x[a, b])
            out[i, j] = best


def swap_heads(out: Any, x: Any) -> None:
    """Exchange tokens and heads."""
    batch, tokens, heads, depth = x.shape
    for number in prange(batch * heads):
        b, h = number // heads, number % heads
        for t in range(tokens):
            for d in range(depth):
                out[b, h, t, d] = x[b, t, h, d]
