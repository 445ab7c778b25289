"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

from ...numba_peers import prange


def rope_halves(out: Any, x: Any, cos: Any, sin: Any) -> None:
    """Turn element j with element j + depth / 2."""
    tokens, heads, depth = x.shape
    half = depth // 2
    for t in prange(tokens):
        for h in range(heads):
            for j in range(half):
                a, b, c, s = x[t, h, j], x[t, h, half + j], cos[t, 0, j], sin[t, 0, j]
                out[t, h, j] = a * c - b * s
                out[t, h, half + j] = b * c + a * s


def rope_pairs(out: Any, x: Any, cos: Any, sin: Any) -> None:
    """Turn each element of even number with the next."""
    tokens, heads, depth = x.shape
    for t in prange(tokens):
        for h in range(heads):
            for j in range(depth // 2):
                a, b, c, s = x[t, h, 2 * j], x[t, h, 2 * j + 1], cos[t, 0, j], sin[t, 0, j]
                out[t, h, 2 * j] = a * c - b * s
                out[t, h, 2 * j + 1] = b * c + a * s
