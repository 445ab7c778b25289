"""Rewriting builds a new function: ops are copied, replaced or dropped; the old one stays."""

from __future__ import annotations

from ir_kit import func, tile
from tilewright.base.dtypes import i32
from tilewright.base.source import SourceFile, Span
from tilewright.ir.builder import Builder, rewrite
from tilewright.ir.core import Block, Value
from tilewright.ir.printer import print_func
from tilewright.ir.types import I32
from tilewright.ir.verify import verify


def nested(b, x):
    """A loop that negates x, so that a rewrite has to go into a region."""
    body = Block((Value(I32, "i"), Value(x.type, "v")))
    inner = Builder(body, Span(SourceFile("k.py", "-v"), 1, 0, 1, 2))
    inner.op("continue", [inner.emit("negf", body.args[1])])
    zero, n = b.constant(0, i32), b.constant(3, i32)
    result = b.op("for", zero, n, n, [x], regions=(body,)).result
    b.op("negf", result)


def test_copying_everything_changes_nothing():
    before = func(nested, x=tile(8))
    after = rewrite(before, lambda rewriter, op: None)
    verify(after)
    assert print_func(after) == print_func(before)
    assert not {id(op) for op in after.walk()} & {id(op) for op in before.walk()}
    assert [op.span for op in after.walk()] == [op.span for op in before.walk()]


def test_an_op_is_replaced_inside_regions_too():
    def visit(rewriter, op):
        if op.name != "negf":
            return None
        zero = rewriter.constant(0.0, op.result.tile.dtype, op.result.tile.shape)
        return [rewriter.emit("subf", zero, rewriter.get(op.operands[0]))]

    before = func(nested, x=tile(8))
    text = print_func(before)
    after = rewrite(before, visit)
    verify(after)
    names = [op.name for op in after.walk()]
    assert names.count("subf") == 2
    assert "negf" not in names
    assert print_func(before) == text


def test_new_ops_stand_where_the_old_ones_stood():
    def visit(rewriter, op):
        if op.name != "negf":
            return None
        return [rewriter.emit("absf", rewriter.get(op.operands[0]))]

    after = rewrite(func(nested, x=tile(8)), visit)
    first = next(op for op in after.walk() if op.name == "absf")
    assert first.span is not None
    assert first.span.place == "k.py:1:1"


def test_an_op_is_dropped_by_giving_another_value_for_it():
    def visit(rewriter, op):
        return [rewriter.get(op.operands[0])] if op.name == "negf" else None

    after = rewrite(func(nested, x=tile(8)), visit)
    verify(after)
    assert "negf" not in print_func(after)
