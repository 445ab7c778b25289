"""IR as text: one op a line, defaults left out, regions indented."""

from __future__ import annotations

from ir_kit import func, tensor, tile
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Value
from tilewright.ir.launch_expr import LaunchCheck
from tilewright.ir.printer import attr_text, print_func
from tilewright.ir.types import I32, TileType


def test_straight_code(golden):
    def build(b, x, out):
        view = b.emit("make_view", x, tile=(4, 8), dim_map=(1, 0), padding=-1.5)
        i = b.emit("block_id")
        loaded = b.emit("load_view", view, [i, i])
        rounded = b.emit("addf", loaded, loaded, rounding=Rounding.ZERO)
        target = b.emit("make_view", out, tile=(4, 8), dim_map=(0, 1), frame=(4, 8))
        b.op("store_view", rounded, target, [i, i])

    made = func(build, x=tensor(None, 8), out=tensor(4, None, mutable=True))
    made.launch_checks = (LaunchCheck(("gt", ("extent", "x", 0), ("const", 0)), "", None),)
    golden(print_func(made))


def test_regions(golden):
    def build(b, start, n):
        one = b.constant(1, i32)
        body = Block((Value(I32, "i"), Value(I32, "sum")))
        inner = Builder(body)
        i, total = body.args
        odd = inner.emit("cmpi", i, one, predicate=Predicate.EQ)
        yes, no = Block(), Block()
        Builder(yes).op("yield", [total])
        other = Builder(no)
        other.op("yield", [other.emit("addi", total, i)])
        chosen = inner.op("if", odd, regions=(yes, no), types=(I32,)).result
        inner.op("continue", [chosen])
        b.op("for", one, n, one, [start], regions=(body,))

    golden(print_func(func(build, start=I32, n=I32)))


def test_combiner(golden):
    def build(b, x):
        body = Block((Value(TileType(f32), "element"), Value(TileType(f32), "acc")))
        inner = Builder(body)
        inner.op("yield", [inner.emit("addf", *body.args)])
        b.op("reduce", [x], regions=(body,), axis=1, identities=(0.0,))

    golden(print_func(func(build, x=tile(4, 8))))


def test_values_of_one_name_are_told_apart():
    def build(b, x):
        b.op("negf", x).result.name = "x"
        b.op("negf", x).result.name = "x"

    text = print_func(func(build, x=tile(8)))
    names = [line.split(" = ")[0].strip() for line in text.splitlines() if " = " in line]
    assert len(set(names)) == 2
    assert "%x" not in names


def test_attribute_values():
    assert attr_text(Rounding.ZERO) == "zero"
    assert attr_text((1, (None, f32))) == "(1, (None, f32))"
    assert attr_text(bool_) == "bool"
    assert attr_text("a b") == "'a b'"
