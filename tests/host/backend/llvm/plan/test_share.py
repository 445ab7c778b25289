"""Which tiles blocks share, how much room they get, and in which order blocks run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.native import Dense
from support.plans import AVX2, gemm
from tilewright.backend.llvm.plan import build_plan
from tilewright.backend.llvm.plan.nodes import Grouping, Shared, walk
from tilewright.backend.llvm.plan.share import MAX_ROWS, SHARED_BYTES
from tilewright.base.dtypes import f32, i32
from tilewright.ir import TileType

UNSHARED = 4 * (64 * 64 + 64 * 32 + 32 * 64)


def shared(plan):
    return [s for s in walk(plan.body) if isinstance(s, Shared)]


def product(left, right, *, tile=64):
    """A loop over products of what `left` and `right` load at (kernel, count)."""
    k = Dense()
    x, y = k.tensor("x", f32, 3), k.tensor("y", f32, 3)
    z = k.output("z", f32, 3, (1, tile, tile))
    zero = k.constant(0.0, f32, (tile, tile))
    ids = [k.block_id(axis) for axis in range(3)]
    with k.region(TileType(i32), zero.type) as loop:
        at, acc = loop.args
        a = k.load(x, (1, tile, tile), *left(ids, at, k.i32(0)))
        b = k.load(y, (1, tile, tile), *right(ids, at, k.i32(0)))
        a, b = (k.emit("reshape", v, shape=(tile, tile)) for v in (a, b))
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [zero], regions=[loop]).results
    k.store(k.emit("reshape", total, shape=(1, tile, tile)), z, *ids)
    return k.finish()


def test_both_sides_of_a_product_are_shared():
    plan = build_plan(gemm(), AVX2)
    assert plan.grouping == Grouping(0, 1, 8)
    assert [(s.row_axis, s.rows) for s in shared(plan)] == [(0, 8), (None, 1)]
    assert plan.together == 64


def test_scratch_is_bounded():
    plan = build_plan(gemm(f32), AVX2)
    assert UNSHARED < plan.scratch_bytes <= UNSHARED + SHARED_BYTES


@pytest.mark.parametrize("room", [0, 1, 64 << 10, 1 << 20, (1 << 20) + 8191])
def test_sharing_uses_what_the_limit_leaves(room):
    cpu = replace(AVX2, scratch_limit=UNSHARED + room)
    plan = build_plan(gemm(f32), cpu)
    assert plan.scratch_bytes <= cpu.scratch_limit
    assert bool(shared(plan)) == (room >= 1 << 20)
    if not shared(plan):
        assert plan.grouping is None
        assert plan.together == 1


def test_a_tile_of_both_axes_is_not_shared():
    plan = build_plan(
        product(lambda ids, at, o: (ids[0], ids[1], at), lambda ids, at, o: (at, ids[2], ids[1])),
        AVX2,
    )
    assert [s.buffer.why for s in shared(plan)] == ["it is multiplied, by several blocks"]
    assert plan.grouping is None


def test_tiles_of_an_outer_axis_need_no_groups():
    """As the keys and values of a head: blocks that follow each other share all of them."""
    plan = build_plan(
        product(lambda ids, at, o: (ids[0], ids[1], o), lambda ids, at, o: (ids[0], at, o)), AVX2
    )
    assert [(s.row_axis, s.rows) for s in shared(plan)] == [(None, 1)]
    assert plan.grouping is None
    assert plan.together > 1


def test_batches_stay_outside_of_groups():
    plan = build_plan(
        product(lambda ids, at, o: (ids[0], ids[1], at), lambda ids, at, o: (ids[0], at, ids[2])),
        AVX2,
    )
    assert plan.grouping == Grouping(1, 2, 8)


@pytest.mark.parametrize(("tile", "rows"), [(16, MAX_ROWS), (128, 4), (256, 2)])
def test_groups_span_about_the_same_however_large_tiles_are(tile, rows):
    plan = build_plan(
        product(
            lambda ids, at, o: (ids[0], ids[1], at),
            lambda ids, at, o: (ids[0], at, ids[2]),
            tile=tile,
        ),
        AVX2,
    )
    assert plan.grouping is not None
    assert plan.grouping.rows == rows


def squares(pointer=False, written=False):
    """A product whose right side is read-only, or the output itself."""
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    if pointer:
        k.pointer("p", f32)
    i, j = k.block_id(0), k.block_id(1)
    zero = k.constant(0.0, f32, (32, 32))
    with k.region(TileType(i32), zero.type) as loop:
        at, acc = loop.args
        a = k.load(x, (32, 32), i, at)
        b = k.load(z if written else x, (32, 32), at, j)
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [zero], regions=[loop]).results
    k.store(total, z, i, j)
    return k.finish()


def test_only_memory_that_nobody_writes_is_shared():
    assert len(shared(build_plan(squares(), AVX2))) == 2
    assert len(shared(build_plan(squares(written=True), AVX2))) == 1
    assert not shared(build_plan(squares(pointer=True), AVX2))
