"""What is known of the integers of straight programs holds in every launch and every block."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.launch_space import CONDITIONS, X0, M, N, where
from support.straight import (
    CHOSEN,
    PROGRAMS,
    RUNS,
    SMALL,
    Program,
    Step,
    assert_bounds,
    assert_span,
    program,
)
from tilewright.analysis.bounds.proofs import ZERO, Prover, atom, number
from tilewright.analysis.bounds.symbolic_range import Integers, SymbolicRange, is_index
from tilewright.base.dtypes import AnyDType, i8, i32
from tilewright.ir.launch_expr import Expr, LaunchCheck


def analyzed(found: Program, assumed: Sequence[Expr] = ()) -> Integers:
    checks = [LaunchCheck(expr, "", None) for expr in assumed]
    integers = Integers(found.func, Prover(found.func.signature, checks))
    for op in found.func.body.ops:
        if len(op.results) == 1 and is_index(op.result):
            integers.evaluate(op)
    return integers


def assert_known(found: Program, assumed: Sequence[Expr] = ()) -> None:
    integers = analyzed(found, assumed)
    runs = RUNS & where(assumed)[CHOSEN][:, None]
    for value, computed in zip(found.values, found.computed, strict=True):
        known = integers.of(value)
        assert_bounds(known, computed, runs)
        if known.span is not None:
            assert_span(known.span, computed, runs)


@settings(max_examples=100)
@given(PROGRAMS, st.sampled_from((i8, i32)), st.lists(CONDITIONS, max_size=2))
def test_what_is_known_holds_in_every_block_of_every_launch(steps, dtype, assumed):
    assert_known(program(steps, dtype), assumed)


SIGNED = ((("ge", N, ("const", 0)),), (("gt", M, ("const", 0)),), (("lt", N, ("const", 0)),), ())
NOT_NEGATIVE = (("ge", N, ("const", 0)), ("ge", M, ("const", 0)))


WAYS = [("divi", 0), ("divi", 1), ("divi", 2), ("remi", 0), ("remi", 1), ("muli", 0), ("absi", 0),
        ("mini", 0), ("maxi", 0)]  # fmt: skip
"""Ops, and which way they round: down, up, toward zero."""


@pytest.mark.thinned(20)
@pytest.mark.parametrize(("name", "way"), [*WAYS, ("shli", 0), ("shri", 0)])
@pytest.mark.parametrize("assumed", [*SIGNED, NOT_NEGATIVE], ids=str)
def test_operands_of_either_sign(name, way, assumed):
    """n and m are the last and the first value of i8; so is a number, on either side."""
    steps = [Step(name, a, b, way) for a, b in ((1, 0), (0, 1), (0, 0))]
    numbers = [Step("constant", 0, 0, k) for k in (7, 0, 5)]
    for step in steps:
        assert_known(program([step]), assumed)
    for made in numbers:
        assert_known(program([made, Step(name, 1, 0, way), Step(name, 0, 1, way)]), assumed)
        assert_known(program([made, Step(name, 2, 0, way)]), assumed)


@pytest.mark.thinned(20)
@pytest.mark.parametrize(("name", "way"), [*WAYS, ("subi", 0)])
@pytest.mark.parametrize("assumed", [*SIGNED, NOT_NEGATIVE], ids=str)
def test_operands_of_either_sign_that_cannot_wrap(name, way, assumed):
    """Values of i32, from the last: m, n, the block, an extent."""
    for a, b in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (3, 1)):
        assert_known(program([Step(name, a, b, way)], i32), assumed)


# --- what must be known ---------------------------------------------------------------------------


def last(steps: Sequence[Step], *assumed: Expr, dtype: AnyDType = i8) -> SymbolicRange:
    found = program(steps, dtype)
    assert_known(found, assumed)
    return analyzed(found, assumed).of(found.values[-1])


def number_step(n: int) -> Step:
    return Step("constant", 0, 0, SMALL.index(n))


@pytest.mark.parametrize(
    ("steps", "assumed", "lows", "highs"),
    [
        # Values of i8, from the last: the number, m, n.
        ([number_step(4), Step("remi", 1, 0, 0)], (), ZERO, number(3)),
        ([number_step(4), Step("remi", 1, 0, 1)], (("ge", M, ("const", 0)),), ZERO, number(3)),
        ([number_step(4), Step("divi", 1, 0, 0)], (), atom(("floordiv", M, ("const", 4))),
         atom(("floordiv", M, ("const", 4)))),
        ([number_step(4), Step("divi", 1, 0, 1)], (), atom(("ceildiv", M, ("const", 4))),
         atom(("ceildiv", M, ("const", 4)))),
        ([number_step(4), Step("divi", 1, 0, 2)], (("ge", M, ("const", 0)),), ZERO,
         atom(("floordiv", M, ("const", 4)))),
        ([number_step(4), Step("shri", 1, 0, 0)], (), atom(("floordiv", M, ("const", 16))),
         atom(("floordiv", M, ("const", 16)))),
        ([number_step(0), Step("shri", 1, 0, 0)], (), atom(M), atom(M)),
        ([number_step(0), Step("shli", 1, 0, 0)], (), atom(M), atom(M)),
        ([number_step(1), Step("shri", 1, 0, 0)], (), atom(("floordiv", M, ("const", 2))),
         atom(("floordiv", M, ("const", 2)))),
        ([number_step(1), Step("remi", 1, 0, 0)], (), ZERO, ZERO),
        ([Step("remi", 0, 1, 0)], (("ge", N, ("const", 1)),), ZERO, atom(N).shifted(-1)),
        ([Step("remi", 1, 0, 0)], (("ge", M, ("const", 1)),), ZERO, atom(M).shifted(-1)),
        ([Step("mini", 0, 1, 0)], (), None, atom(M)),
        ([Step("maxi", 0, 1, 0)], (), atom(N), None),
        ([Step("absi", 0, 0, 0)], (("ge", M, ("const", 0)),), atom(M), atom(M)),
        ([Step("cast", 0, 0, 1), Step("negi", 0, 0, 0)], (), atom(M).times(-1), atom(M).times(-1)),
        ([Step("cast", 0, 0, 1), Step("addi", 0, 0, 0)], (), atom(M).times(2), atom(M).times(2)),
        ([Step("cast", 0, 0, 1), Step("subi", 0, 0, 0)], (), ZERO, ZERO),
    ],
)  # fmt: skip
def test_what_is_known_where_it_can_be(steps, assumed, lows, highs):
    known = last(steps, *assumed)
    assert lows is None or lows in known.lows
    assert highs is None or highs in known.highs


@pytest.mark.parametrize("steps", [
    [number_step(4), Step("remi", 1, 0, 1)],
    [number_step(0), Step("remi", 1, 0, 0)],
    [number_step(-3), Step("remi", 1, 0, 0)],
    [number_step(4), Step("divi", 1, 0, 2)],
    [Step("addi", 0, 1, 0)],
    [Step("muli", 0, 1, 0)],
    [Step("absi", 0, 0, 0)],
    [number_step(8), Step("shli", 1, 0, 0)],
])  # fmt: skip
def test_what_may_be_of_either_sign_or_wrap_is_anything(steps):
    known = last(steps)
    assert (known.lows, known.highs) == ((number(-128),), (number(127),))


def test_products_of_what_is_not_negative_need_nothing_but_to_fit():
    known = last([Step("muli", 0, 1, 0)], *NOT_NEGATIVE)
    assert known.span is not None
    assert known.span.needs == {number(127).minus(atom(("mul", M, N)))}
    assert known.point is None


def test_products_that_fit_are_points():
    fits = ("le", ("mul", N, M), ("const", 127))
    assert last([Step("muli", 0, 1, 0)], *NOT_NEGATIVE, fits).point == atom(("mul", M, N))


def test_blocks_vary_and_launches_do_not():
    across = last([Step("addi", 0, 2, 0)], dtype=i32)
    assert across.point is None
    assert across.span is not None and across.span.exact and across.span.dense
    for way in (0, 1):  # down and up
        halves = last([number_step(2), Step("divi", 3, 0, way)], dtype=i32).span
        assert halves is not None and halves.exact and halves.dense
    same = last([Step("addi", 0, 3, 0)], ("le", M, ("const", 0)), dtype=i32)
    assert same.point == atom(M).plus(atom(X0))


def test_products_of_one_that_may_be_negative_are_anything():
    for a, b in ((0, 1), (1, 0)):
        known = last([Step("muli", a, b, 0)], ("ge", N, ("const", 0)), dtype=i32)
        assert known.highs == (number(2**31 - 1),)


def test_factors_that_are_not_negative_bound_their_product():
    known = last([Step("muli", 0, 1, 0)], *NOT_NEGATIVE, dtype=i32)
    assert known.point == atom(("mul", M, N))
    blocks = last([Step("muli", 2, 2, 0)], dtype=i32)
    assert blocks.span is not None and not blocks.span.exact


@pytest.mark.parametrize("by", [-2, 2])
@pytest.mark.parametrize("operands", [(0, 1), (1, 0)])
def test_multiples_are_known_whichever_side_their_number_stands_on(by, operands):
    """Values from the last: the number, m, n, the block."""
    assert last([number_step(by), Step("muli", *operands, 0)], dtype=i32).point == atom(M).times(by)


def test_multiples_of_what_varies_have_gaps():
    blocks = last([number_step(2), Step("muli", 0, 3, 0)], dtype=i32)
    assert blocks.span is not None and not blocks.span.dense
    assert blocks.span.low == ZERO
    once = last([number_step(1), Step("muli", 0, 3, 0)], dtype=i32)
    assert once.span is not None and once.span.dense
