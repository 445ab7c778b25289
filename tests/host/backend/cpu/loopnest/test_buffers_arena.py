"""Places of buffers: copies vanish, dead buffers are reused, and what is too large is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.native import Dense
from support.plans import AVX2, gemm, rows, softmax
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Nest, WriteBuffer, buffers_of, walk
from tilewright.base.dtypes import f32, i32
from tilewright.base.errors import Code, CompileError
from tilewright.ir.types import TileType


def copies(plan):
    """Nests that only move a tile from one buffer to another."""
    nests = [s for s in walk(plan.body) if isinstance(s, Nest)]
    return [n for n in nests if len(n.reads) == len(n.effects) == 1 and _moves(n)]


def _moves(nest):
    return isinstance(nest.effects[0], WriteBuffer) and hasattr(nest.reads[0], "buffer")


def test_an_accumulator_has_one_buffer():
    whole = 4 * (64 * 64 + 64 * 32 + 32 * 64)
    plan = build_plan(gemm(f32), replace(AVX2, scratch_limit=whole))
    assert copies(plan) == []
    assert len(buffers_of(plan)) == 3
    assert plan.scratch_bytes == whole


def test_nested_loops_share_their_accumulator():
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    zero = k.constant(0.0, f32, (32, 32))
    with k.region(TileType(i32), zero.type) as outer:
        with k.region(TileType(i32), zero.type) as inner:
            a = k.load(x, (32, 32), inner.args[0], outer.args[0])
            k.op("continue", [k.emit("mmaf", a, a, inner.args[1])])
        inits = [outer.args[1]]
        (got,) = k.op("for", k.i32(0), k.i32(2), k.i32(1), inits, regions=[inner]).results
        k.op("continue", [got])
    (total,) = k.op("for", k.i32(0), k.i32(2), k.i32(1), [zero], regions=[outer]).results
    k.store(total, z)
    assert copies(build_plan(k.finish(), AVX2)) == []


def test_dead_buffers_are_reused():
    """A long chain of row statistics needs room for two tiles, not for all."""
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    tile = k.load(x, (8, 256))
    for _ in range(6):
        tile = k.emit("exp", k.emit("subf", tile, rows(k, tile, "maxf", float("-inf"))))
    k.store(tile, z)
    plan = build_plan(k.finish(), AVX2)
    tile_bytes = 8 * 256 * 4
    assert sum(b.bytes for b in buffers_of(plan)) > 4 * tile_bytes
    assert plan.scratch_bytes < 3 * tile_bytes


def test_places_are_aligned():
    plan = build_plan(softmax(), AVX2)
    assert all(at % 64 == 0 for at in plan.offsets.values())


def test_too_large_tiles_are_refused(golden):
    small = replace(AVX2, scratch_limit=32 << 10)
    k = Dense("big")
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    k.line(3, "    a = x.load_tile((128, 256), [0, 0])")
    tile = k.load(x, (128, 256))
    k.line(4, "    p = tl.exp(a)")
    p = k.emit("exp", tile)
    k.line(5, "    z.store(p / tl.reduce_sum(p, 1, keepdims=True))")
    k.store(k.emit("divf", p, rows(k, p, "addf", 0.0)), z)
    func = k.finish()
    with pytest.raises(CompileError) as caught:
        build_plan(func, small)
    assert caught.value.code is Code.RESOURCES
    golden(str(caught.value))
    assert build_plan(func, AVX2).scratch_bytes > small.scratch_limit
