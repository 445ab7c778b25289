"""Block numbers and grid sizes on grids of several ranks, and indices of visited tiles."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from tilewright.base.dtypes import i32


@pytest.mark.parametrize("grid", [(5,), (2, 3), (2, 3, 4), (2, 1, 3, 2), (1, 2, 1, 2, 1, 2, 1, 3)])
def test_every_block_knows_its_place(grid):
    rank = max(len(grid), 3)
    k = Kernel(grid_rank=rank)
    ids, sizes = k.output("ids", i32, rank + 1), k.output("sizes", i32, rank + 1)
    index = [k.block_id(a) for a in range(rank)]
    for a in range(rank):
        for value, out in ((index[a], ids), (k.emit("num_blocks", axis=a), sizes)):
            k.store(k.emit("reshape", value, shape=(1,) * (rank + 1)), out, *index, a)
    full = grid + (1,) * (rank - len(grid))
    arrays = [poisoned(i32, (*full, rank)) for _ in range(2)]
    checked(k.finish(), arrays, grid)
    for block in np.ndindex(full):
        assert tuple(arrays[0][block]) == block
        assert tuple(arrays[1][block]) == full
    assert prod(full) == prod(grid)


@pytest.mark.parametrize("start", [(), (3, 1)], ids=["all", "a part"])
def test_the_index_of_a_tile(start):
    """Number, count and start of a 3 x 2 grid of tiles, in groups of 2 x 1."""
    k = Kernel()
    out = k.output("out", i32, 2)
    number = k.block_id(0)
    counts, starts = [k.i32(3), k.i32(2)], [k.i32(n) for n in start]
    index = k.op("tile_index", number, counts, starts, groups=(2, 1)).results
    for axis, value in enumerate(index):
        k.store(k.emit("reshape", value, shape=(1, 1)), out, number, axis)
    found = poisoned(i32, (7, 2))
    checked(k.finish(), [found], (7,))
    expected = np.asarray([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]) + (start or 0)
    assert (found[:6] == expected).all()
