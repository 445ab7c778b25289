"""What numbers of a plan are made of, and which of them come from memory that nobody writes."""

from __future__ import annotations

from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Nest, ReadView, SharedStmt, walk
from tilewright.backend.cpu.loopnest.packing import roots_of
from tilewright.base.dtypes import f32, i32
from tilewright.ir.types import TileType


def experts(written: bool = False):
    """A product whose right side is chosen by a number that is loaded for each tile visited."""
    k = Dense()
    x, w, numbers = k.tensor("x", f32, 2), k.tensor("w", f32, 3), k.tensor("numbers", i32, 1)
    z, others = k.output("z", f32, 2, (32, 32)), k.output("others", i32, 1, (1,))
    zero = k.constant(0.0, f32, (32, 32))
    with k.region(TileType(i32)) as tiles:
        m, n = k.op("tile_index", tiles.args[0], [k.i32(6), k.i32(5)], groups=(4, 1)).results
        chosen = k.load(others if written else numbers, (1,), m)
        expert = k.emit("reshape", chosen, shape=())
        with k.region(TileType(i32), zero.type) as loop:
            at, acc = loop.args
            a, b = k.load(x, (32, 32), m, at), k.load(w, (1, 32, 32), expert, at, n)
            b = k.emit("reshape", b, shape=(32, 32))
            k.op("continue", [k.emit("mmaf", a, b, acc)])
        (total,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [zero], regions=[loop]).results
        k.store(total, z, m, n)
        k.op("continue", [])
    k.op("for", k.block_id(0), k.i32(30), k.i32(2), [], regions=[tiles])
    return k.finish()


def shared_tensors(func):
    plan = build_plan(func, AVX2)
    shared = [s for s in walk(plan.body) if isinstance(s, SharedStmt)]
    nests = [s for whole in shared for s in whole.body if isinstance(s, Nest)]
    reads = [read for nest in nests for read in nest.reads if isinstance(read, ReadView)]
    return [read.access.tensor.name for read in reads]


def test_places_of_visited_tiles_are_roots_with_their_groups():
    roots = roots_of(build_plan(experts(), AVX2).body)
    assert sorted(roots.axes[place] for place in roots.groups) == [0, 1]
    assert set(roots.groups.values()) == {(4, 1)}


def test_a_number_that_is_loaded_tells_tiles_apart():
    assert len(roots_of(build_plan(experts(), AVX2).body).loaded) == 1
    assert shared_tensors(experts()) == ["x", "w"]


def test_a_number_from_memory_that_is_written_does_not():
    assert not roots_of(build_plan(experts(written=True), AVX2).body).loaded
    assert shared_tensors(experts(written=True)) == ["x"]
