"""Our kernels for single threads: as one writes them for GPUs, unchanged on the CPU."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt

THREADS = 256
EACH = 256
"""Elements that a thread takes, a block's apart from each other."""
CHUNK = THREADS * EACH
BINS = 256
SIDE = 32
ROWS = 8
"""Threads of a block along y; each makes SIDE // ROWS elements of a column."""


@simt.kernel
def threshold_scale(
    out: simt.DisjointSlice[f32], x: simt.Slice[f32], threshold: f32, scale: f32
) -> None:
    """Scale what reaches the threshold."""
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * scale if x[i] >= threshold else 0.0


@simt.kernel(block=THREADS)
def block_sums(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """The sum of each chunk: in threads, then in the block."""
    start = simt.block_idx() * CHUNK + simt.thread_idx()
    mine: float = f32(0)
    for k in range(EACH):
        i = start + k * THREADS
        if i < len(x):
            mine += x[i]
    total = simt.block_sum(mine)
    if simt.thread_idx() == 0:
        with tw.unsafe():  # no other block has this element
            out.elements[simt.block_idx()] = total


@simt.kernel(block=THREADS, unsafe=True)
def histogram(counts: tl.Ptr[i32], x: simt.Slice[i32]) -> None:
    """How often each number below BINS is there: in the block's memory first."""
    t = simt.thread_idx()
    own = simt.shared(i32, (BINS,))
    own[t] = 0
    simt.sync_threads()
    start = simt.block_idx() * CHUNK + t
    for k in range(EACH):
        i = start + k * THREADS
        if i < len(x):
            tl.atomic_add(own.at(x[i]), 1)
    simt.sync_threads()
    tl.atomic_add(counts.offset(t), own[t])


@simt.kernel(domain=2, block=(SIDE, ROWS), unsafe=True)
def gemm(c: tl.Ptr[f32], a: simt.Slice[f32], b: simt.Slice[f32], n: i32) -> None:
    """c = a @ b for square matrices of whole tiles, which go through the block's memory."""
    x, y = simt.thread_idx(0), simt.thread_idx(1)
    row, column = simt.block_idx(1) * SIDE + y, simt.block_idx(0) * SIDE + x
    left, right = simt.shared(f32, (SIDE, SIDE)), simt.shared(f32, (SIDE, SIDE))
    s0: float = f32(0)
    s1: float = f32(0)
    s2: float = f32(0)
    s3: float = f32(0)
    for k in range(0, n, SIDE):
        for down in (0, ROWS, 2 * ROWS, 3 * ROWS):
            left[y + down, x] = a[(row + down) * n + k + x]
            right[y + down, x] = b[(k + y + down) * n + column]
        simt.sync_threads()
        for j in range(SIDE):
            v = right[j, x]
            s0 += left[y, j] * v
            s1 += left[y + ROWS, j] * v
            s2 += left[y + 2 * ROWS, j] * v
            s3 += left[y + 3 * ROWS, j] * v
        simt.sync_threads()
    first = c.offset(row * n + column)
    tl.store_ptr(first, s0)
    tl.store_ptr(first.offset(ROWS * n), s1)
    tl.store_ptr(first.offset(2 * ROWS * n), s2)
    tl.store_ptr(first.offset(3 * ROWS * n), s3)
