"""Block numbers: logical, the last axis fastest, for grids of up to eight axes."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, Native
from tilewright.base.dtypes import i32


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 2, 5), (7, 1, 1), (2, 3, 2, 2), (2,) * 8])
def test_every_block_knows_its_place(grid):
    rank = len(grid)
    k = Dense(grid_rank=rank)
    z = k.output("z", i32, rank + 1)
    for axis in range(rank):
        index = [k.block_id(i) for i in range(rank)]
        one = k.emit("reshape", index[axis], shape=(1,) * (rank + 1))
        k.store(one, z, *index, k.i32(axis))
    z = poisoned(i32, (*grid, rank))
    Native(k.finish())([z], grid)
    assert np.array_equal(z, np.stack(np.indices(grid), -1))


def test_size_of_the_grid():
    k = Dense()
    z = k.output("z", i32, 1)
    for axis in range(3):
        k.store(k.broadcast(k.emit("num_blocks", axis=axis), (1,)), z, k.i32(axis))
    z = poisoned(i32, (3,))
    Native(k.finish())([z], (2, 1, 4))
    assert z.tolist() == [2, 1, 4]


def test_an_empty_grid_runs_nothing():
    k = Dense()
    z = k.output("z", i32, 1)
    k.store(k.constant(1, i32, (1,)), z)
    z = np.zeros(1, "i4")
    Native(k.finish())([z], (0,))
    assert z[0] == 0
