"""Sites: which ops may report from a running kernel, numbered in walk order."""

from __future__ import annotations

from ir_kit import func, tile
from tilewright.base.dtypes import i32
from tilewright.ir.artifact import reporting_ops, sites_of
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block
from tilewright.ir.types import I1, I32


def build(b, x, i, ok):
    b.op("check", i, i, tensor="x", axis=1)
    yes, no = Block(), Block()
    inner = Builder(yes)
    inner.op("print", [x], template=("x is ", (0, "")))
    inner.op("yield", [])
    Builder(no).op("yield", [])
    b.op("if", ok, regions=(yes, no))
    b.op("assert", ok, message="i is even")
    b.constant(1, i32)


def test_sites_follow_the_walk():
    made = func(build, x=tile(4), i=I32, ok=I1)
    check, printed, asserted = sites_of(made)
    assert (check.kind, check.tensor, check.axis) == ("check", "x", 1)
    assert (printed.kind, printed.types) == ("print", (tile(4),))
    assert printed.template == ("x is ", (0, ""))
    assert (asserted.kind, asserted.message) == ("assert", "i is even")
    assert [op.name for op in reporting_ops(made)] == ["check", "print", "assert"]
