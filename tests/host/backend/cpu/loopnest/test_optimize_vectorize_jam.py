"""Which reductions take several steps of an outer loop at once."""

from __future__ import annotations

import pytest

from support.native import Dense
from support.plans import AVX2, body
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Combine, Nest, walk
from tilewright.base.dtypes import f32


def reduction(shape, axis, costly=False, op="reduce", kept=False):
    k = Dense()
    tile = k.load(k.tensor("x", f32, len(shape)), shape)
    for _ in range(3 if costly else 1):
        tile = k.emit("exp" if costly else "negf", tile)
    reduced = k.emit(op, [tile], regions=body("addf", f32), axis=axis, identities=(0.0,))
    k.store(reduced, k.output("z", f32, reduced.tile.rank))
    if kept:
        k.store(tile, k.output("y", f32, len(shape)))
    return k.finish()


def jams(func):
    plan = build_plan(func, AVX2)
    nests = [n for n in walk(plan.body) if isinstance(n, Nest)]
    return [n.jam for n in nests if any(isinstance(e, Combine) for e in n.effects)]


@pytest.mark.parametrize(
    ("shape", "axis", "steps"),
    [
        ((64, 128), 0, 8), ((8, 128), 0, 8), ((12, 32), 0, 4), ((6, 32), 0, 2), ((7, 32), 0, 1),
        ((4, 8, 64), 1, 8),
    ],
)  # fmt: skip
def test_outer_axes_are_taken_in_steps_that_fit(shape, axis, steps):
    assert jams(reduction(shape, axis)) == [steps]


@pytest.mark.parametrize(("shape", "axis"), [((64, 128), 1), ((4, 8, 64), 0), ((64,), 0)])
def test_lanes_and_loops_further_out_are_not(shape, axis):
    assert jams(reduction(shape, axis)) == [1]


def test_costly_elements_scans_and_stores_are_not():
    assert jams(reduction((64, 128), 0, costly=True)) == [1]
    assert jams(reduction((64, 128), 0, op="scan")) == [1]
    assert jams(reduction((64, 128), 0, kept=True)) == [1]
