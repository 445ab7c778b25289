"""Which tiles are fetched for the next block."""

from __future__ import annotations

import pytest

from support import plans
from support.native import Dense
from support.plans import AVX2, rows
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.optimize import prefetched_reads
from tilewright.base.dtypes import f32


def fetched(func):
    return [
        (r.access.view.tensor.param, r.prefetch) for r in prefetched_reads(build_plan(func, AVX2))
    ]


def total(k, tile):
    """A reduction whose result is stored."""
    k.store(rows(k, tile, "addf", 0.0), k.output("z", f32, 2), k.block_id(0))
    return k.finish()


def test_a_tile_that_is_read_again_or_computed_with_for_long():
    assert fetched(plans.softmax()) == [("x", (0, None))]


def test_not_by_loops_that_wait_for_memory():
    assert fetched(plans.add()) == []
    assert fetched(plans.in_place()) == []
    k = Dense()
    tile = k.load(k.tensor("x", f32, 2), (4, 64), k.block_id(0))
    assert fetched(total(k, tile)) == []


def test_once_for_each_tensor():
    k = Dense()
    x, y = (k.tensor(name, f32, 2) for name in "xy")
    i, j = k.block_id(0), k.block_id(1)
    a, b = k.load(x, (4, 64), i, j), k.load(y, (4, 64), j, i)
    assert fetched(total(k, k.emit("exp", k.emit("addf", a, b)))) == [("x", (0, 1)), ("y", (1, 0))]


@pytest.mark.parametrize("tile", [(4, 64), (4, 1 << 16)])
def test_no_more_than_caches_hold(tile):
    k = Dense()
    exponentials = k.emit("exp", k.load(k.tensor("x", f32, 2), tile, k.block_id(0)))
    assert len(fetched(total(k, exponentials))) == (tile[1] == 64)


def test_not_what_does_not_move_with_the_block():
    k = Dense()
    x = k.tensor("x", f32, 2)
    fixed = k.emit("exp", k.load(x, (4, 64)))
    assert fetched(total(k, fixed)) == []
    k = Dense()
    x, shift = k.tensor("x", f32, 2), k.scalar("shift", k.i32(0).tile.dtype)
    moved = k.emit("exp", k.load(x, (4, 64), k.emit("addi", k.block_id(0), shift)))
    assert fetched(total(k, moved)) == []
