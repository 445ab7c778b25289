"""Norms and softmax, forward and backward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...numba_peers import prange


def add_rms_norm(out: Any, total: Any, x: Any, residual: Any, weight: Any, eps: Any) -> None:
    """rms_norm(x + residual), and the sum."""
    rows, n = x.shape
    for i in prange(rows):
        squares = x.dtype.type(0)
        for j in range(n):
            v = x[i, j] + residual[i, j]
            total[i, j] = v
            squares += v * v
        scale = x.dtype.type(1 / math.sqrt(squares / n + eps))
        for j in range(n):
            out[i, j] = total[i, j] * scale * weight[j]


def layer_norm(out: Any, x: Any, weight: Any, bias: Any, eps: Any) -> None:
    """Rows of mean 0 and variance 1."""
    rows, n = x.shape
    for i in prange(rows):
        total = x.dtype.type(0)
        for j in range(n):
            total += x[i, j]
        mean = x.dtype.type(total / n)
        squares = x.dtype.type(0)
        for j in range(n):
            off = x[i, j] - mean
            squares += off * off
        scale = x.dtype.type(1 / math.sqrt(squares / n + eps))
        for j in range(n):
            out[i, j] = (x[i, j] - mean) * scale * weight[j] + bias[j]


def layer_norm_dx(dx: Any, dy: Any, x: Any, weight: Any, mean: Any, rstd: Any) -> None:
    """The gradient of layer_norm for its input."""
    rows, n = x.shape
    for i in prange(rows):
        m, r = mean[i, 0], rstd[i, 0]
        products, gradients = x.dtype.type(0), x.dtype.type(0)
        for j in range(n):
            g = dy[i, j] * weight[j]
            products += g * ((x[i, j] - m) * r)
            gradients += g
        products, gradients = x.dtype.type(products / n), x.dtype.type(gradients / n)
        for j in range(n):
            normed = (x[i, j] - m) * r
            dx[i, j] = (dy[i, j] * weight[j] - normed * products - gradients) * r


def layer_norm_dw(dw: Any, db: Any, dy: Any, x: Any, mean: Any, rstd: Any) -> None:
    """The gradients of layer_norm for its weight and bias: each thread sums a stripe of columns."""
    rows, n = x.shape
    width = 256
    for stripe in prange((n + width - 1) // width):
        low, high = stripe * width, min(n, (stripe + 1) * width)
        for j in range(low, high):
            dw[j] = 0
            db[j] = 0
        for i in range(rows):
            m, r = mean[i, 0], rstd[i, 0]
            for j in range(low, high):
                dw[j] += dy[i, j] * ((x[i, j] - m) * r)
                db[j] += dy[i, j]


def rms_norm_dx(dx: Any, dy: Any, x: Any, weight: Any, rstd: Any) -> None:
    """The gradient of rms_norm for its input."""
    rows, n = x.shape
    for i in prange(rows):
        r = rstd[i, 0]
        products = x.dtype.type(0)
        for j in range(n):
            products += dy[i, j] * weight[j] * (x[i, j] * r)
        mean = x.dtype.type(products / n)
        for j in range(n):
            dx[i, j] = (dy[i, j] * weight[j] - x[i, j] * r * mean) * r


def group_norm(out: Any, x: Any, weight: Any, bias: Any, eps: Any) -> None:
    """Groups of channels of mean 0 and variance 1."""
    count, each, pixels = x.shape
    groups, n = weight.shape[0], each * pixels
    for i in prange(count):
        total = x.dtype.type(0)
        for c in range(each):
            for j in range(pixels):
                total += x[i, c, j]
        mean = x.dtype.type(total / n)
        squares = x.dtype.type(0)
        for c in range(each):
            for j in range(pixels):
                off = x[i, c, j] - mean
                squares += off * off
        rstd = x.dtype.type(1 / math.sqrt(squares / n + eps))
        for c in range(each):
            scale = rstd * weight[i % groups, c]
            shift = bias[i % groups, c] - mean * scale
            for j in range(pixels):
                out[i, c, j] = x[i, c, j] * scale + shift


def softmax_wide(out: Any, x: Any) -> None:
    """Softmax of each row."""
    rows, n = x.shape
    for i in prange(rows):
        peak = x[i, 0]
        for j in range(n):
            peak = max(peak, x[i, j])
        total = x.dtype.type(0)
        for j in range(n):
            p = math.exp(x[i, j] - peak)
            out[i, j] = p
            total += p
        scale = x.dtype.type(1) / total
        for j in range(n):
            out[i, j] *= scale


def softmax_backward(dx: Any, dy: Any, y: Any) -> None:
    """The gradient of softmax."""
    rows, n = y.shape
    for i in prange(rows):
        total = y.dtype.type(0)
        for j in range(n):
            total += y[i, j] * dy[i, j]
        for j in range(n):
            dx[i, j] = y[i, j] * (dy[i, j] - total)


def rms_norm_int8(out: Any, scales: Any, x: Any, weight: Any, eps: Any) -> None:
    """rms_norm, and each row as 8-bit integers with a scale."""
    rows, n = x.shape
    for i in prange(rows):
        squares, peak = x.dtype.type(0), x.dtype.type(0)
        for j in range(n):
            squares += x[i, j] * x[i, j]
            peak = max(peak, abs(x[i, j] * weight[j]))
        rstd = x.dtype.type(1 / math.sqrt(squares / n + eps))
        scale = peak * rstd / x.dtype.type(127)
        scales[i, 0] = scale
        factor = rstd / scale
        for j in range(n):
            out[i, j] = np.int8(np.rint(x[i, j] * weight[j] * factor))


def dropout_layer_norm(out: Any, x: Any, weight: Any, bias: Any, p: Any) -> None:
    """layer_norm(dropout(x))."""
    rows, n = x.shape
    kept = x.dtype.type(1 / (1 - p))
    for i in prange(rows):
        total = x.dtype.type(0)
        for j in range(n):
            v = x[i, j] * kept if np.random.random() >= p else x.dtype.type(0)
            out[i, j] = v
            total += v
        mean = x.dtype.type(total / n)
        squares = x.dtype.type(0)
        for j in range(n):
            off = out[i, j] - mean
            squares += off * off
        scale = x.dtype.type(1 / math.sqrt(squares / n + 1e-5))
        for j in range(n):
            out[i, j] = (out[i, j] - mean) * scale * weight[j] + bias[j]
