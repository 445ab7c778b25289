"""The workloads as numba users write them: loops over elements or rows, compiled by `peers.jit`."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np


def _parallel_range() -> Any:
    if importlib.util.find_spec("numba") is None:
        return range  # then nothing here is compiled
    return importlib.import_module("numba").prange


prange: Any = _parallel_range()
"""numba knows a parallel loop by this very function."""


def add(z: Any, x: Any, y: Any) -> None:
    """z = x + y."""
    for i in prange(z.size):
        z[i] = x[i] + y[i]


def saxpy(y: Any, x: Any, a: Any) -> None:
    """y = a * x + y."""
    for i in prange(y.size):
        y[i] = a * x[i] + y[i]


def threshold_scale(out: Any, x: Any, threshold: Any, scale: Any) -> None:
    """Scale what reaches the threshold."""
    for i in prange(out.size):
        out[i] = x[i] * scale if x[i] >= threshold else 0.0


def chain(out: Any, x: Any, y: Any) -> None:
    """Six operations."""
    for i in prange(out.size):
        out[i] = x[i] + math.exp(-abs(x[i] * y[i] + x.dtype.type(0.5)))


def softmax(out: Any, x: Any) -> None:
    """Softmax of each row."""
    rows, columns = x.shape
    for i in prange(rows):
        peak = x[i, 0]
        for j in range(columns):
            peak = max(peak, x[i, j])
        total = x.dtype.type(0)
        for j in range(columns):
            p = math.exp(x[i, j] - peak)
            out[i, j] = p
            total += p
        for j in range(columns):
            out[i, j] /= total


def rms_norm(out: Any, x: Any, weight: Any, eps: Any) -> None:
    """Rows over their root mean square."""
    rows, columns = x.shape
    for i in prange(rows):
        total = x.dtype.type(0)
        for j in range(columns):
            total += x[i, j] * x[i, j]
        scale = x.dtype.type(1) / math.sqrt(total / x.dtype.type(columns) + eps)
        for j in range(columns):
            out[i, j] = x[i, j] * scale * weight[j]


def layer_norm(out: Any, x: Any, weight: Any, bias: Any, eps: Any) -> None:
    """Rows of mean 0 and variance 1."""
    rows, columns = x.shape
    for i in prange(rows):
        total = x.dtype.type(0)
        for j in range(columns):
            total += x[i, j]
        mean = total / x.dtype.type(columns)
        total = x.dtype.type(0)
        for j in range(columns):
            total += (x[i, j] - mean) * (x[i, j] - mean)
        scale = x.dtype.type(1) / math.sqrt(total / x.dtype.type(columns) + eps)
        for j in range(columns):
            out[i, j] = (x[i, j] - mean) * scale * weight[j] + bias[j]


def transpose(out: Any, x: Any) -> None:
    """The transposed matrix, in blocks that fit into a cache."""
    rows, columns = out.shape
    for block in prange((rows + 31) // 32):
        for j in range(columns):
            for i in range(block * 32, min(block * 32 + 32, rows)):
                out[i, j] = x[j, i]


def sum_rows(out: Any, x: Any) -> None:
    """The sum of each row."""
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total


def sum_columns(out: Any, x: Any) -> None:
    """The sum of each column: a strip of columns per step."""
    rows, columns = x.shape
    for strip in prange((columns + 255) // 256):
        start, stop = strip * 256, min(strip * 256 + 256, columns)
        out[start:stop] = 0
        for i in range(rows):
            for j in range(start, stop):
                out[j] += x[i, j]


def histogram(counts: Any, x: Any) -> None:
    """How often each number is there: counted in parts, which are summed."""
    parts = 64
    found = np.zeros((parts, counts.size), np.int32)
    step = (x.size + parts - 1) // parts
    for part in prange(parts):
        for i in range(part * step, min(part * step + step, x.size)):
            found[part, x[i]] += 1
    counts[:] = found.sum(0)


def gemm(c: Any, a: Any, b: Any) -> None:
    """The product of two matrices: rows of `b` are added up, so that all is read in order."""
    rows, columns = c.shape
    for i in prange(rows):
        c[i, :] = 0
        for k in range(a.shape[1]):
            for j in range(columns):
                c[i, j] += a[i, k] * b[k, j]
