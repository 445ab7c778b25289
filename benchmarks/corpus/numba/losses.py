"""Losses over rows of classes."""

from __future__ import annotations

import math
from typing import Any

from ...numba_peers import prange


def cross_entropy(loss: Any, lse: Any, x: Any, target: Any) -> None:
    """The logarithm of a row's sum of exponentials, less the target's score."""
    rows, n = x.shape
    for i in prange(rows):
        peak = x[i, 0]
        for j in range(n):
            peak = max(peak, x[i, j])
        total = x.dtype.type(0)
        for j in range(n):
            total += math.exp(x[i, j] - peak)
        lse[i] = peak + math.log(total)
        loss[i] = lse[i] - x[i, target[i]]


def cross_entropy_backward(dx: Any, x: Any, target: Any, lse: Any, scale: Any) -> None:
    """The gradient of cross_entropy."""
    rows, n = x.shape
    factor = x.dtype.type(scale)
    for i in prange(rows):
        for j in range(n):
            dx[i, j] = math.exp(x[i, j] - lse[i]) * factor
        dx[i, target[i]] -= factor


def kl_divergence(out: Any, x: Any, target: Any) -> None:
    """The sum of q * (log q - log p) of each row."""
    rows, n = x.shape
    for i in prange(rows):
        total = x.dtype.type(0)
        for j in range(n):
            total += math.exp(target[i, j]) * (target[i, j] - x[i, j])
        out[i] = total


def log_softmax(out: Any, x: Any) -> None:
    """The logarithm of softmax of each row."""
    rows, n = x.shape
    for i in prange(rows):
        peak = x[i, 0]
        for j in range(n):
            peak = max(peak, x[i, j])
        total = x.dtype.type(0)
        for j in range(n):
            total += math.exp(x[i, j] - peak)
        lse = peak + x.dtype.type(math.log(total))
        for j in range(n):
            out[i, j] = x[i, j] - lse
