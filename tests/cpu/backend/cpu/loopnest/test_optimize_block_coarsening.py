"""Blocks that run as one loop give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import checked, poisoned
from support.native import Dense, Native
from support.numbers import assert_same, fresh_rng
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.llvm.object import host_target
from tilewright.base.dtypes import f32

EXTENTS = [0, 1, 63, 64, 65, 127, 128, 129, 1000, 1021]


def scaled(tile, axes, *, grid_rank=3):
    """z = x + x * row, where a tile's axis k is cut along axis axes[k] of the grid."""
    k = Dense(grid_rank=grid_rank)
    rank = len(tile)
    x, z = k.tensor("x", f32, rank), k.output("z", f32, rank)
    at = [k.block_id(axis) for axis in axes]
    loaded = k.load(x, tile, *at, padding=1.0)
    k.store(k.emit("addf", loaded, k.emit("mulf", loaded, loaded)), z, *at)
    func = k.finish()
    assert build_plan(func, host_target()).joined is not None
    return func


def agree(func, native, x, shape, grid):
    count = int(np.prod(shape))
    for shift in (0, 1, 4):
        room, other = (poisoned(f32, (count + 64,)) for _ in range(2))
        ours, theirs = (r[shift : shift + count].reshape(shape) for r in (room, other))
        for streamed in (False, True):
            native([x, ours], grid, streamed=streamed)
            checked(func, [x, theirs], grid)
            assert_same(ours, theirs)
            assert room.tobytes() == other.tobytes()


@pytest.mark.parametrize("tile", [8, 64, 512])
def test_one_axis(tile):
    func = scaled((tile,), (0,))
    native = Native(func)
    for extent in EXTENTS:
        x = fresh_rng().standard_normal(extent).astype("f4")
        agree(func, native, x, (extent,), (-(-extent // tile),))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("tile", [(4, 8), (1, 64), (16, 32)])
def test_rows_and_columns(tile):
    func = scaled(tile, (0, 1))
    native = Native(func)
    for shape in [(1, 1), (3, 200), (17, 65), (33, 257), (16, 1024), (0, 5), (5, 0)]:
        x = fresh_rng().standard_normal(shape).astype("f4")
        grid = tuple(-(-n // t) for n, t in zip(shape, tile, strict=True))
        agree(func, native, x, shape, grid)


def test_blocks_whose_neighbours_are_elsewhere():
    """The columns are cut along the first axis of the grid, so one row of blocks goes down."""
    func = scaled((4, 16), (1, 0))
    native = Native(func)
    for shape in [(9, 100), (4, 16), (1, 50)]:
        x = fresh_rng().standard_normal(shape).astype("f4")
        agree(func, native, x, shape, (-(-shape[1] // 16), -(-shape[0] // 4)))


def test_an_input_that_ends_earlier():
    func = scaled((64,), (0,))
    native = Native(func)
    for short in (0, 1, 64, 100, 640):
        x = fresh_rng().standard_normal(short).astype("f4")
        agree(func, native, x, (700,), (11,))
