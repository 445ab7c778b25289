"""A sum in two steps: each block adds up its part together, then one block adds up the parts.

    python examples/block_reduction.py

The threads of a block walk over the numbers in strides, then add up what they have by shuffles and
shared memory: `simt.block_sum`, which is written in the kernel language itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tilewright as tw
from tilewright import f32, simt

BLOCK = 256


@simt.kernel(block=BLOCK)
def block_sums(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """Write the sum of each block's part."""
    mine: float = f32(0)
    for i in range(simt.index_1d(), len(x), simt.grid_dim() * BLOCK):
        mine += x[i]
    total = simt.block_sum(mine)
    if simt.thread_idx() == 0:
        with tw.unsafe():  # no other block has this element
            out.elements[simt.block_idx()] = total


def total(x: npt.NDArray[np.float32], blocks: int = 64) -> tw.DeviceOp[tw.Tensor[f32]]:
    """The op that gives the sum of all numbers, as a tensor of one."""
    parts = block_sums(tw.empty((blocks,)), x).launch_config(grid=blocks).out()
    return block_sums(tw.empty((1,)), parts).launch_config(grid=1).out()


def main() -> None:
    """Add up a million numbers, small whole ones: their sum is exact in any order."""
    x = np.random.default_rng(0).integers(-3, 4, 1_000_003).astype(np.float32)
    got, expected = total(x).sync().to_numpy()[0], x.sum(dtype=np.float64)
    assert got == expected, (got, expected)
    print(f"block_reduction: {len(x)} numbers add up to {got:.0f}")


if __name__ == "__main__":
    main()
