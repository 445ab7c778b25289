# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""The work of the SIMT benchmark in numba-cuda: the same blocks, the same shared memory."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32, int32


@cuda.jit
def threshold_scale(out: Any, x: Any, threshold: Any, scale: Any) -> None:
    """Element by element."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * scale if x[i] >= threshold else float32(0)


@cuda.jit
def block_sums(out: Any, x: Any) -> None:
    """Shuffles, then shared memory."""
    of_warps = cuda.shared.array(8, float32)
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    for bits in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, bits)
    t = cuda.threadIdx.x
    if t % 32 == 0:
        of_warps[t // 32] = total
    cuda.syncthreads()
    if t == 0:
        for w in range(1, 8):
            total += of_warps[w]
        out[cuda.blockIdx.x] = total


@cuda.jit
def histogram(counts: Any, x: Any) -> None:
    """Atomics in shared memory."""
    bins = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i] & 255, 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, bins[t])


@cuda.jit
def gemm(c: Any, a: Any, b: Any, m: Any, n: Any, k: Any) -> None:
    """Tiles in shared memory, sixteen results a thread."""
    of_a = cuda.shared.array((16, 64), float32)
    of_b = cuda.shared.array((16, 64), float32)
    sums = cuda.local.array(16, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = y * 16 + x
    top, left = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    for at in range(16):
        sums[at] = float32(0)
    for start in range(0, k, 16):
        for copy in range(4):
            at = copy * 256 + t
            row, column = top + at // 16, start + at % 16
            inside = row < m and column < k
            of_a[at % 16, at // 16] = a[row * k + column] if inside else float32(0)
            row, column = start + at // 64, left + at % 64
            inside = row < k and column < n
            of_b[at // 64, at % 64] = b[row * n + column] if inside else float32(0)
        cuda.syncthreads()
        for depth in range(16):
            for r in range(4):
                for s in range(4):
                    sums[r * 4 + s] += of_a[depth, y * 4 + r] * of_b[depth, x * 4 + s]
        cuda.syncthreads()
    for r in range(4):
        for s in range(4):
            row, column = top + y * 4 + r, left + x * 4 + s
            if row < m and column < n:
                c[row * n + column] = sums[r * 4 + s]
