"""Block numbers and grid sizes on grids of several ranks."""

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
