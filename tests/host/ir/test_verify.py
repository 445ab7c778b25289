"""The verifier refuses IR that breaks its own rules, and says which rule and after which stage."""

from __future__ import annotations

import dataclasses

import pytest

from ir_kit import func, tensor, tile
from tilewright.base.dtypes import f32, i32
from tilewright.ir.attrs import Predicate
from tilewright.ir.builder import Builder, make_op
from tilewright.ir.core import Block, Func, Op, Value
from tilewright.ir.types import I1, I32, TileType
from tilewright.ir.verify import InvalidIR, verify


def loop(b, start, body_ends_with, times=3):
    """A `for` over range(times) carrying one i32, whose body ends as told."""
    body = Block((Value(I32), Value(I32)))
    body_ends_with(Builder(body), *body.args)
    zero, one, n = b.constant(0, i32), b.constant(1, i32), b.constant(times, i32)
    return b.op("for", zero, n, one, [start], regions=(body,))


def good(b, x, start):
    total = loop(b, start, lambda c, i, s: c.op("continue", [c.emit("addi", i, s)])).result
    positive = b.emit("cmpi", total, start, predicate=Predicate.GT)
    yes, no = Block(), Block()
    Builder(yes).op("yield", [total])
    Builder(no).op("yield", [start])
    b.op("if", positive, regions=(yes, no), types=(I32,))
    inside = Block()
    Builder(inside).op("leave", [x])
    b.op("scope", regions=(inside,), types=(x.type,))


def test_good_ir_passes():
    verify(func(good, x=tile(8), start=I32))


def refused(build, message, **params):
    with pytest.raises(InvalidIR, match=message):
        verify(func(build, **(params or {"x": tile(8)})))


def test_a_value_from_elsewhere():
    refused(lambda b, x: b.op("addf", x, Value(tile(8))), "addf uses a value that is not visible")


def test_a_value_of_another_region():
    def build(b, start):
        found = []
        loop(b, start, lambda c, i, s: (found.append(i), c.op("continue", [s])))
        b.op("addi", found[0], start)

    refused(build, "addi uses a value that is not visible", start=I32)


def test_a_block_that_does_not_end():
    made = func(lambda b, x: None, x=tile(8))
    made.body.ops.clear()
    with pytest.raises(InvalidIR, match="a block without a terminator"):
        verify(made)


def test_a_terminator_in_the_middle():
    refused(lambda b, x: b.op("return"), "return in the middle of a block")


def test_a_block_ending_in_something_else():
    made = func(lambda b, x: b.op("negf", x), x=tile(8))
    made.body.ops.pop()
    with pytest.raises(InvalidIR, match="a block that ends in negf"):
        verify(made)


def test_wrong_result_types():
    def build(b, x):
        op = make_op("negf", x)
        b.block.ops.append(dataclasses.replace(op, results=(Value(tile(4)),)))

    refused(build, "negf has wrong result types")


def test_operands_that_break_the_rule():
    def build(b, x):
        op = make_op("negf", x)
        bad = Value(TileType(i32, (8,)))
        b.block.ops.append(Op(op.defn, (bad,), op.sizes, op.attrs, (bad,), (), None))

    made = func(build, x=tile(8))
    made.params = (*made.params, made.body.ops[0].operands[0])
    with pytest.raises(InvalidIR, match="negf: elements of tile<8xi32> are not accepted"):
        verify(made)


def test_a_missing_region():
    def build(b, start):
        op = make_op("if", Value(I1), regions=(), attrs={"types": ()})
        b.block.ops.append(op)

    made = func(build, start=I32)
    made.params = (*made.params, made.body.ops[0].operands[0])
    with pytest.raises(InvalidIR, match="if has wrong number of regions"):
        verify(made)


@pytest.mark.parametrize("name", ["break", "continue"])
def test_loop_exits_outside_a_loop(name):
    made = func(lambda b, x: None, x=tile(8))
    made.body.ops[:] = [make_op(name)]
    with pytest.raises(InvalidIR, match=f"{name} outside a loop"):
        verify(made)


def test_leave_outside_a_scope():
    made = func(lambda b, x: None, x=tile(8))
    made.body.ops[:] = [make_op("leave")]
    with pytest.raises(InvalidIR, match="leave outside a scope"):
        verify(made)


def test_yield_in_a_loop():
    def build(b, start):
        loop(b, start, lambda c, i, s: c.op("yield", [s]))

    refused(build, "yield outside if, reduce and scan", start=I32)


def test_a_loop_that_carries_another_type():
    def build(b, start):
        loop(b, start, lambda c, i, s: c.op("continue", [c.constant(1.0, f32)]))

    refused(build, r"continue passes \(tile<f32>\), expected \(tile<i32>\)", start=I32)


def test_a_loop_with_wrong_block_arguments():
    def build(b, start):
        body = Block((Value(I32),))
        Builder(body).op("continue", [body.args[0]])
        one = b.constant(1, i32)
        b.op("for", one, one, one, [start], regions=(body,))

    refused(build, "for block arguments", start=I32)


def test_a_branch_that_yields_too_little():
    def build(b, start):
        yes, no = Block(), Block()
        Builder(yes).op("yield", [start])
        Builder(no).op("yield", [])
        cond = b.emit("cmpi", start, start, predicate=Predicate.EQ)
        b.op("if", cond, regions=(yes, no), types=(I32,))

    refused(build, r"yield passes \(\), expected \(tile<i32>\)", start=I32)


def test_a_combiner_with_an_effect():
    def build(b, x):
        body = Block((Value(TileType(f32)), Value(TileType(f32))))
        inner = Builder(body)
        inner.op("print", [body.args[0]], template=("x",))
        inner.op("yield", [body.args[1]])
        b.op("reduce", [x], regions=(body,), axis=0, identities=(0.0,))

    refused(build, "print inside reduce")


def test_a_store_to_a_read_only_tensor():
    def build(b, x, out, t):
        i = b.emit("block_id")
        cut = {"tile": (8,), "dim_map": (0,)}
        target, read_only = b.emit("make_view", out, **cut), b.emit("make_view", t, **cut)
        store = make_op("store_view", x, target, [i])
        b.block.ops.append(dataclasses.replace(store, operands=(x, read_only, i)))

    params = {"x": tile(8), "out": tensor(None, mutable=True), "t": tensor(None)}
    refused(build, "store_view: .* is read only", **params)


def test_the_message_names_the_stage_and_shows_the_ir():
    made: Func = func(lambda b, x: b.op("addf", x, Value(tile(8))), x=tile(8))
    with pytest.raises(InvalidIR) as caught:
        verify(made, "licm")
    text = str(caught.value)
    assert text.startswith("invalid IR after licm: addf uses")
    assert "kernel test(%x: tile<8xf32>)" in text


def test_a_value_defined_twice():
    def build(b, x):
        b.block.ops.append(b.op("negf", x))

    refused(build, "negf defines a value twice")
