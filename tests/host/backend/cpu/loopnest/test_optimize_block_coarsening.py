"""Which kernels' neighbouring blocks run as one loop."""

from __future__ import annotations

import pytest

from support import plans
from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.base.dtypes import f32, i32

TILE = (64,)


def axis(func):
    joined = build_plan(func, AVX2).joined
    return joined and joined.axis


@pytest.mark.parametrize("name", ["softmax", "gemm", "layouts", "in_place", "several", "others"])
def test_kernels_that_run_block_by_block(name):
    assert axis(getattr(plans, name)()) is None


def test_tiles_that_follow_each_other():
    assert axis(plans.add()) == 1


def kernel(change=None, *, step=None):
    """y += x over 64 elements a block; `change` adds what may keep blocks apart."""
    k = Dense()
    x, y = k.tensor("x", f32, 1), k.output("y", f32, 1)
    i = k.block_id(0)
    attrs = {"step": step} if step else {}
    tile = k.emit("addf", k.load(x, TILE, i, **attrs), k.load(y, TILE, i))
    k.store(tile if change is None else change(k, i, x, tile), y, i)
    return k.finish()


def test_short_rows_come_in_numbers():
    """64 columns of 4 bytes: 256 blocks are 64 KB of a row."""
    assert build_plan(plans.add(), AVX2).together == 256


def test_what_is_updated_in_place():
    assert axis(kernel()) == 0


def _element(k, i, x, tile):
    return k.emit("addf", tile, k.emit("itof", k.emit("iota", size=64, dtype=i32), to=f32))


def _block(k, i, x, tile):
    return k.emit("addf", tile, k.broadcast(k.emit("itof", i, to=f32), TILE))


def _shared(k, i, x, tile):
    return k.emit("addf", tile, k.load(x, TILE, k.i32(0)))


def _neighbour(k, i, x, tile):
    return k.emit("addf", tile, k.load(x, TILE, k.emit("addi", i, k.i32(1))))


def _scalar(k, i, x, tile):
    return k.emit("addf", tile, k.broadcast(k.emit("reshape", k.load(x, (1,), i), shape=()), TILE))


def _printed(k, i, x, tile):
    k.op("print", [i], template=((0, ""),))
    return tile


def _checked(k, i, x, tile):
    k.emit("check", i, k.emit("extent", x, axis=0), tensor="x", axis=0)
    return tile


def _atomic(k, i, x, tile):
    k.op("atomic_red_view", tile, k.view(k.output("w", f32, 1), TILE), [i], None)
    return tile


@pytest.mark.parametrize(
    "change", [_element, _block, _shared, _neighbour, _scalar, _printed, _checked, _atomic]
)
def test_what_keeps_blocks_apart(change):
    assert axis(kernel(change)) is None


def test_tiles_that_overlap():
    assert axis(kernel(step=(32,))) is None


def test_what_is_the_same_for_all_blocks():
    """One number for all elements, and rows of a tile whose columns are cut."""
    k = Dense()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 1), k.output("z", f32, 2)
    i, j = k.block_id(0), k.block_id(1)
    bias = k.emit("broadcast", k.emit("reshape", k.load(y, (4,), i), shape=(4, 1)), shape=(4, 64))
    k.store(k.emit("addf", k.load(x, (4, 64), i, j), bias), z, i, j)
    assert axis(k.finish()) == 1
