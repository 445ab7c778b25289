"""The builder takes operands in declared order and gets result types from the op's rule."""

from __future__ import annotations

import pytest

from ir_kit import tensor, tile
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.base.source import SourceFile, Span
from tilewright.ir.attrs import Predicate
from tilewright.ir.builder import Builder, make_op
from tilewright.ir.core import Block, Value
from tilewright.ir.opdef import TypeRuleError
from tilewright.ir.types import I32, TileType


def value(type_=None):
    return Value(type_ or tile(8))


def test_result_types_come_from_the_rule():
    op = make_op("cmpf", value(), value(), attrs={"predicate": Predicate.LT})
    assert op.result.type == TileType(bool_, (8,))


def test_operands_are_found_by_name():
    view = make_op(
        "make_view", value(tensor(None, None)), attrs={"tile": (4, 4), "dim_map": (0, 1)}
    )
    i, j, guard = value(I32), value(I32), value(TileType(bool_))
    with_guard = make_op("load_view", view.result, [i, j], guard)
    assert with_guard.one("view") is view.result
    assert with_guard.all("index") == (i, j)
    assert with_guard.maybe("guard") is guard
    assert make_op("load_view", view.result, [i, j]).maybe("guard") is None
    with pytest.raises(KeyError, match="no operand 'nothing'"):
        with_guard.all("nothing")


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "message"),
    [
        ("addf", ("a",), {}, "operand 'rhs' got 0 values"),
        ("addf", ("a", "a", "a"), {}, "takes 2 operands, got 3"),
        ("addf", (["a", "a"], "a"), {}, "operand 'lhs' got 2 values"),
        ("addf", ("a", "i"), {}, "operands differ"),
        ("addf", ("a", "a"), {"color": 3}, "no attribute color"),
        ("addi", ("a", "a"), {}, "not accepted"),
        ("reduce", (["a"],), {"axis": 1, "identities": (0,)}, "has no axis 1"),
        ("reduce", (["a"],), {"axis": 0}, "one identity per input"),
    ],
)
def test_what_does_not_fit_is_refused(name, operands, attrs, message):
    known = {"a": value(), "i": value(TileType(i32, (8,)))}

    def look_up(x):
        return [known[n] for n in x] if isinstance(x, list) else known[x]

    with pytest.raises(TypeRuleError, match=message):
        make_op(name, *map(look_up, operands), attrs=attrs)


def test_attributes_have_defaults():
    op = make_op("maxf", value(), value())
    assert op.attrs["nan"] is True
    assert make_op("maxf", value(), value(), attrs={"nan": False}).attrs["nan"] is False


def test_ops_go_to_the_current_block():
    outer, inner = Block(), Block()
    builder = Builder(outer)
    builder.constant(1.0, f32)
    with builder.at(inner):
        builder.constant(2.0, f32)
    with pytest.raises(TypeRuleError), builder.at(inner):
        builder.op("negf")
    builder.constant(3.0, f32)
    assert [op.attrs["value"] for op in outer.ops] == [1.0, 3.0]
    assert [op.attrs["value"] for op in inner.ops] == [2.0]


def test_ops_carry_the_builders_span():
    span = Span(SourceFile("k.py", "x"), 1, 0, 1, 1)
    op = Builder(Block(), span).op("block_id", axis=2)
    assert op.span is span
    assert op.result.type == I32
