"""Kernels of Triton, which reads their source from a file."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x, y = tl.load(x_ptr + offsets, mask=inside), tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + alpha * y, mask=inside)


@triton.jit
def scan_kernel(x_ptr, out_ptr, stride, WIDTH: tl.constexpr):
    """Needs shared memory: a sum over warps."""
    columns = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + columns * stride)
    tl.store(out_ptr + columns, tl.cumsum(x, 0))


@triton.jit
def all_types_kernel(x_ptr, out_ptr, flag, factor, count):
    i = tl.arange(0, 64)
    value = tl.load(x_ptr + i)
    tl.store(out_ptr + i, value, mask=(i < count) & (factor > 0) & flag)
