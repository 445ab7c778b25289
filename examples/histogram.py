"""Counts how often each number occurs: every block counts in its own memory first.

    python examples/histogram.py

Threads that meet at a bin take turns there, which is cheap in the memory of a block; only its sums
go to the memory that all blocks share.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import i32, simt

BINS = 256


@simt.kernel(block=BINS)
def histogram(counts: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Add to the counts of 256 bins, a thread to each."""
    t = simt.thread_idx()
    with tw.unsafe():
        bins = simt.shared(i32, BINS)
        bins[t] = 0
        simt.sync_threads()
        for i in range(simt.index_1d(), len(x), simt.grid_dim() * BINS):
            tl.atomic_add(bins.at(x[i] & (BINS - 1)), 1, ordering="relaxed", scope="tile_block")
        simt.sync_threads()
        tl.atomic_add(counts.elements.at(t), bins[t], ordering="relaxed")


def main() -> None:
    """Count a million bytes."""
    x = np.random.default_rng(0).integers(0, BINS, 1_000_003, np.int32)
    got = histogram(tw.zeros((BINS,), i32), x).launch_config(grid=32).out().sync().to_numpy()
    np.testing.assert_array_equal(got, np.bincount(x, minlength=BINS))
    print(f"histogram: {len(x)} numbers in {BINS} bins, {got.max()} in the fullest")


if __name__ == "__main__":
    main()
