"""Layouts of the tiles that products take."""

from __future__ import annotations

from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.index import panels, row_major
from tilewright.backend.cpu.loopnest.nodes import Matmul, Nest, walk, writes_of
from tilewright.base.dtypes import f32


def test_a_packed_tile_is_copied_once_for_all_left_sides():
    """The nest that packs it also writes the copy."""
    k = Dense()
    x = k.tensor("x", f32, 2)
    tile, other = k.load(x, (16, 64)), k.load(x, (64, 16))
    wide, narrow = (k.constant(0.0, f32, (n, n)) for n in (64, 16))
    k.store(k.emit("mmaf", other, tile, wide), k.output("y", f32, 2))
    once = k.emit("mmaf", tile, other, narrow)
    k.store(k.emit("mmaf", tile, other, once), k.output("z", f32, 2))
    plan = build_plan(k.finish(), AVX2)
    right, *left = [s for s in walk(plan.body) if isinstance(s, Matmul)]
    assert right.rhs.layout == panels((16, 64), 16)
    assert left[0].lhs is left[1].lhs
    assert left[0].lhs.layout == row_major((16, 64))
    writers = [s for s in walk(plan.body) if isinstance(s, Nest) and right.rhs in writes_of(s)]
    assert [left[0].lhs in writes_of(nest) for nest in writers] == [True]
