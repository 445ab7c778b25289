"""A product of matrices by single threads: tiles in shared memory, a square of results per thread.

    python examples/simt_gemm.py

A tile kernel says the same in a few lines and runs on tensor cores (examples/gemm.py). This one
shows what is done by hand where threads are what one has: a block copies a tile of each matrix to
its memory, waits, and each of its threads multiplies what four rows and four columns meet in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt

Matrix = npt.NDArray[np.float32]

TILE = 64
"""Rows and columns of the result that a block computes."""
DEPTH = 16
"""Columns of the left matrix, and rows of the right, in memory at a time."""
SIDE = 4
"""Rows and columns of the result that a thread computes."""
THREADS = TILE // SIDE
COPIES = TILE * DEPTH // (THREADS * THREADS)


@simt.kernel(domain=2, block=(THREADS, THREADS))
def gemm(
    c: simt.DisjointSlice[f32], a: simt.Slice[f32], b: simt.Slice[f32], m: i32, n: i32, k: i32
) -> None:
    """c = a @ b, of m x k and k x n numbers."""
    assert len(a) >= m * k
    assert len(b) >= k * n
    assert len(c) >= m * n
    x, y = simt.thread_idx(0), simt.thread_idx(1)
    t = y * THREADS + x
    top, left = simt.block_idx(1) * TILE, simt.block_idx(0) * TILE
    with tw.unsafe():
        of_a = simt.shared(f32, (DEPTH, TILE))
        of_b = simt.shared(f32, (DEPTH, TILE))
        sums: list[float] = [f32(0) for _ in range(SIDE * SIDE)]
        for start in range(0, k, DEPTH):
            for copy in tl.static_range(COPIES):
                at = copy * THREADS * THREADS + t
                row, column = top + at // DEPTH, start + at % DEPTH
                inside = row < m and column < k
                of_a[at % DEPTH, at // DEPTH] = a[row * k + column] if inside else 0.0
                row, column = start + at // TILE, left + at % TILE
                inside = row < k and column < n
                of_b[at // TILE, at % TILE] = b[row * n + column] if inside else 0.0
            simt.sync_threads()
            for depth in tl.static_range(DEPTH):
                down = [of_a[depth, y * SIDE + r] for r in range(SIDE)]
                across = [of_b[depth, x * SIDE + s] for s in range(SIDE)]
                sums = [
                    sums[at] + down[at // SIDE] * across[at % SIDE] for at in range(SIDE * SIDE)
                ]
            simt.sync_threads()
        for r in tl.static_range(SIDE):
            for s in tl.static_range(SIDE):
                row, column = top + y * SIDE + r, left + x * SIDE + s
                if row < m and column < n:
                    c.elements[row * n + column] = sums[r * SIDE + s]


def product(a: Matrix, b: Matrix) -> tw.DeviceOp[tw.Tensor[f32]]:
    """The op that multiplies two matrices."""
    (m, k), n = a.shape, b.shape[1]
    grid = (-(-n // TILE), -(-m // TILE))
    return gemm(tw.empty((m, n)), a, b, m, n, k).launch_config(grid=grid).out()


def main() -> None:
    """Multiply matrices that fill no tile."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((150, 70), (70, 130)))
    got = product(a, b).sync().to_numpy()
    np.testing.assert_allclose(got, a @ b, rtol=1e-4, atol=1e-4)
    print(f"simt_gemm: {a.shape} times {b.shape} within 1e-4 of NumPy")


if __name__ == "__main__":
    main()
