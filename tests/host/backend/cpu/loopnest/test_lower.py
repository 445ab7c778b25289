"""Control flow in plans, and what a plan cannot be made of."""

from __future__ import annotations

import pytest

from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan, print_plan
from tilewright.base.dtypes import f32, i32
from tilewright.base.errors import InternalError
from tilewright.ir.attrs import Predicate
from tilewright.ir.types import TileType


def test_every_form_of_control_flow(golden):
    k = Dense("flow")
    n, x, z = k.scalar("n", i32), k.tensor("x", f32, 1), k.output("z", f32, 1)
    start = k.load(x, (64,))
    with k.region() as scope:
        with k.region(TileType(i32), start.type) as loop:
            count, tile = loop.args
            done = k.emit("cmpi", count, n, predicate=Predicate.GE)
            with k.region() as stop:
                k.op("break", [count, tile])
            with k.region() as go:
                k.op("yield", [])
            k.op("if", done, regions=[stop, go])
            k.op("continue", [k.emit("addi", count, k.i32(1)), k.emit("addf", tile, tile)])
        rounds, tile = k.op("loop", [k.i32(0), start], regions=[loop]).results
        few = k.emit("cmpi", rounds, k.i32(3), predicate=Predicate.LT)
        with k.region() as early:
            k.op("return")
        with k.region() as late:
            k.op("yield", [])
        k.op("if", few, regions=[early, late])
        k.op("leave", [tile])
    (result,) = k.op("scope", regions=[scope], types=(start.type,)).results
    k.store(result, z)
    golden(print_plan(build_plan(k.finish(), AVX2)))


def test_tokens_are_for_gpus():
    k = Dense()
    k.emit("make_token")
    with pytest.raises(InternalError, match="program order"):
        build_plan(k.finish(), AVX2)
