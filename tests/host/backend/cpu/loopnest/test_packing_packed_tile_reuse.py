"""Which tiles blocks share, how much room they get, and in which order blocks run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.native import Dense
from support.plans import AVX2, gemm
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Grouping, SharedStmt, walk
from tilewright.backend.cpu.loopnest.packing import MAX_ROWS, SHARED_BYTES
from tilewright.base.dtypes import f32, i32
from tilewright.ir.types import TileType

UNSHARED = 4 * (64 * 64 + 64 * 32 + 32 * 64)


def shared(plan):
    return [s for s in walk(plan.body) if isinstance(s, SharedStmt)]


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
    assert [[row.size for row in s.rows] for s in shared(plan)] == [[8], []]
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
    assert [s.rows for s in shared(plan)] == [()]
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


# --- mapped outputs: one block visits many tiles -------------------------------------------------


def visited(groups):
    """A product in a loop over the tiles of a mapped output, visited in groups."""
    k = Dense()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2, (32, 32))
    counts = [k.i32(6), k.i32(5)]
    zero = k.constant(0.0, f32, (32, 32))
    with k.region(TileType(i32)) as tiles:
        m, n = k.op("tile_index", tiles.args[0], counts, groups=groups).results
        with k.region(TileType(i32), zero.type) as loop:
            at, acc = loop.args
            a, b = k.load(x, (32, 32), m, at), k.load(y, (32, 32), at, n)
            k.op("continue", [k.emit("mmaf", a, b, acc)])
        (total,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [zero], regions=[loop]).results
        k.store(total, z, m, n)
        k.op("continue", [])
    k.op("for", k.block_id(0), k.i32(30), k.i32(2), [], regions=[tiles])
    return k.finish()


@pytest.mark.parametrize(
    ("groups", "sets"),
    [
        ((1, 1), [1]),  # the left side stays while a row is walked; the right one changes
        ((8, 1), [8, 1]),
        ((4, 2), [4, 2]),
        ((1, 3), [1]),
    ],
)
def test_tiles_that_a_block_meets_again_are_shared(groups, sets):
    plan = build_plan(visited(groups), AVX2)
    assert [s.sets for s in shared(plan)] == sets
    assert all(s.visited for s in shared(plan))
    assert plan.grouping is None, "the program says in which order tiles are visited"
    assert plan.together == 1, "each block has work for a worker"
    assert "between the tiles that a block visits" in "\n".join(plan.decisions)
