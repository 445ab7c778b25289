"""Activations and other work on single elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...numba_peers import prange

SLOPE = 0.7978845608028654
"""The square root of 2 / pi, of the approximation of GELU by tanh."""


def bias_gelu(out: Any, x: Any, bias: Any) -> None:
    """gelu(x + bias)."""
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    slope, cubic = x.dtype.type(SLOPE), x.dtype.type(0.044715)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            v = x[i, j] + bias[j]
            out[i, j] = half * v * (one + math.tanh(slope * (v + cubic * v * v * v)))


def swiglu(out: Any, gate: Any, up: Any) -> None:
    """silu(gate) * up."""
    one = gate.dtype.type(1)
    for i in prange(gate.shape[0]):
        for j in range(gate.shape[1]):
            out[i, j] = gate[i, j] / (one + math.exp(-gate[i, j])) * up[i, j]


def swiglu_backward(dgate: Any, dup: Any, dout: Any, gate: Any, up: Any) -> None:
    """The gradients of swiglu."""
    one = gate.dtype.type(1)
    for i in prange(gate.shape[0]):
        for j in range(gate.shape[1]):
            g, d = gate[i, j], dout[i, j]
            s = one / (one + math.exp(-g))
            dgate[i, j] = d * up[i, j] * (s * (one + g * (one - s)))
            dup[i, j] = d * g * s


def geglu_packed(out: Any, x: Any) -> None:
    """gelu(first half of a row) * second half."""
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    slope, cubic = x.dtype.type(SLOPE), x.dtype.type(0.044715)
    n = out.shape[1]
    for i in prange(out.shape[0]):
        for j in range(n):
            v = x[i, j]
            gelu = half * v * (one + math.tanh(slope * (v + cubic * v * v * v)))
            out[i, j] = gelu * x[i, n + j]


def softcap(out: Any, x: Any, cap: Any) -> None:
    """cap * tanh(x / cap)."""
    limit = x.dtype.type(cap)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = limit * math.tanh(x[i, j] / limit)


def dropout_add(out: Any, x: Any, residual: Any, p: Any) -> None:
    """dropout(x) + residual."""
    scale = x.dtype.type(1 / (1 - p))
    for i in prange(x.size):
        kept = x[i] * scale if np.random.random() >= p else x.dtype.type(0)
        out[i] = kept + residual[i]


def normal_numbers(out: Any, x: Any) -> None:
    """Standard normal numbers."""
    for i in prange(x.size):
        out[i] = np.random.standard_normal()
