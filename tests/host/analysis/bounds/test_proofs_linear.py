"""Linear forms equal the expressions they are made from, in every launch of a small space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.launch_space import EXPRESSIONS, LEAF, X0, X1, M, N, form_value, value, where
from tilewright.analysis.bounds.proofs import (
    ONE,
    PLAIN,
    ZERO,
    Algebra,
    Linear,
    atom,
    condition,
    number,
)
from tilewright.ir.launch_expr import Expr

FORMS = EXPRESSIONS.map(PLAIN.of)
SUM = PLAIN.of(("add", ("mul", X0, ("const", 3)), ("sub", N, ("const", 2))))


def same(a: object, b: object) -> bool:
    return bool(np.all(a == b))


# --- forms ----------------------------------------------------------------------------------------


@given(FORMS, FORMS, st.integers(-5, 5))
def test_arithmetic_of_forms_is_that_of_their_values(a, b, n):
    x, y = form_value(a), form_value(b)
    assert same(form_value(a.plus(b, n)), x + n * y)
    assert same(form_value(a.plus(b)), x + y)
    assert same(form_value(a.minus(b)), x - y)
    assert same(form_value(a.shifted(n)), x + n)
    assert same(form_value(a.times(n)), x * n)
    assert same(value(a.expr()), x)


@given(FORMS)
def test_what_is_taken_away_from_itself_is_nothing(a):
    assert a.minus(a) == ZERO
    assert a.times(0) == ZERO
    assert a.plus(ONE) == a.shifted(1)


def test_only_a_form_without_terms_is_a_number():
    assert number(7).number == 7
    assert ZERO.number == 0
    assert atom(N).number is None
    assert atom(N).minus(atom(N)).shifted(4).number == 4


@pytest.mark.parametrize(
    ("form", "expr"),
    [
        (number(-3), ("const", -3)),
        (atom(N), N),
        (atom(N).shifted(2), ("add", N, ("const", 2))),
        (atom(N).shifted(-2), ("sub", N, ("const", 2))),
        (atom(N).times(-1), ("sub", ("const", 0), N)),
        (atom(N).times(-2), ("sub", ("const", 0), ("mul", N, ("const", 2)))),
        (atom(M).minus(atom(N)), ("sub", M, N)),
        (atom(N).minus(atom(M)), ("sub", N, M)),
    ],
)
def test_what_is_added_is_written_before_what_is_taken_away(form: Linear, expr: Expr):
    assert form.expr() == expr


# --- from expressions -----------------------------------------------------------------------------


@given(EXPRESSIONS)
def test_a_form_equals_its_expression(expr):
    form = PLAIN.of(expr)
    assert same(form_value(form), value(expr))
    assert PLAIN.of(form.expr()) == form


@given(EXPRESSIONS, st.dictionaries(st.sampled_from((X0, X1, N, M)), st.integers(1, 6)))
def test_a_form_equals_its_expression_where_divisors_divide(expr, divisors):
    held = where(("eq", ("mod", leaf, ("const", d)), ("const", 0)) for leaf, d in divisors.items())
    form = Algebra(divisors=divisors).of(expr)
    assert same(form_value(form)[held], value(expr)[held])


@given(EXPRESSIONS, st.sampled_from((N, M, X1)), st.sampled_from((X0, N, M)), st.integers(-2, 2))
def test_a_form_equals_its_expression_where_leaves_are_equal(expr, leaf, other, n):
    rest = number(n) if leaf == other else atom(other).shifted(n)
    held = where([("eq", leaf, rest.expr())])
    form = Algebra({leaf: rest}).of(expr)
    assert leaf not in dict(form.terms)
    assert same(form_value(form)[held], value(expr)[held])


@given(LEAF, LEAF, LEAF)
def test_expressions_that_are_equal_by_algebra_have_one_form(a, b, c):
    of = PLAIN.of
    assert of(("add", a, b)) == of(("add", b, a))
    assert of(("mul", a, b)) == of(("mul", b, a))
    assert of(("min", a, b)) == of(("min", b, a))
    assert of(("max", a, b)) == of(("max", b, a))
    assert of(("mul", a, ("mul", b, c))) == of(("mul", ("mul", a, b), c))
    assert of(("mul", a, ("add", b, c))) == of(("add", ("mul", a, b), ("mul", a, c)))
    assert of(("sub", a, ("sub", b, c))) == of(("add", ("sub", a, b), c))


def constant(n: int) -> Expr:
    return ("const", n)


@pytest.mark.parametrize("name", ["floordiv", "ceildiv", "mod"])
@pytest.mark.parametrize("by", [-3, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("n", [-7, -6, -1, 0, 1, 5, 8])
def test_numbers_are_divided_at_once(name, n, by):
    form = PLAIN.of((name, constant(n), constant(by)))
    assert form.number == value((name, constant(n), constant(by)))[0]


@pytest.mark.parametrize(
    ("expr", "form"),
    [
        (("floordiv", ("mul", N, constant(6)), constant(3)), atom(N).times(2)),
        (("floordiv", ("add", ("mul", N, constant(6)), constant(-4)), constant(3)),
         atom(N).times(2).shifted(-2)),
        (("ceildiv", ("add", ("mul", N, constant(6)), constant(4)), constant(3)),
         atom(N).times(2).shifted(2)),
        (("mod", ("add", ("mul", N, constant(6)), constant(-4)), constant(3)), number(2)),
        (("mod", ("mul", X0, constant(2)), constant(8)), ZERO),
        (("min", SUM.expr(), SUM.shifted(1).expr()), SUM),
        (("max", SUM.expr(), SUM.shifted(1).expr()), SUM.shifted(1)),
        (("max", SUM.shifted(1).expr(), SUM.expr()), SUM.shifted(1)),
        (("min", SUM.shifted(1).expr(), SUM.expr()), SUM),
    ],
)  # fmt: skip
def test_multiples_leave_quotients_and_what_differs_by_a_number_compares(expr, form):
    assert Algebra(divisors={X0: 4}).of(expr) == form


@pytest.mark.parametrize("extra", [0, 1, 3, 4, 5])
def test_quotients_of_what_is_divided_evenly_round_alike(extra):
    """A ceiling is the floor, and one more where something is left over."""
    algebra = Algebra(divisors={X0: 4})
    top = ("add", X0, constant(extra))
    whole = algebra.of(("floordiv", X0, constant(4)))
    assert algebra.of(("floordiv", top, constant(4))) == whole.shifted(extra // 4)
    assert algebra.of(("ceildiv", top, constant(4))) == whole.shifted(-(-extra // 4))


def test_long_products_are_one_atom_with_the_same_value():
    sums = [
        ("add", ("add", X0, X1), ("add", N, M)),
        ("add", ("sub", X0, X1), ("sub", N, constant(2))),
    ]
    form = PLAIN.of(("mul", *sums))
    assert len(form.terms) == 1
    assert same(form_value(form), value(("mul", *sums)))
    assert form == PLAIN.of(("mul", *reversed(sums)))
    nine = PLAIN.of(("mul", ("add", X0, ("add", N, M)), ("add", X1, ("add", N, M))))
    assert len(nine.terms) > 1


# --- conditions -----------------------------------------------------------------------------------


@given(FORMS)
def test_a_condition_holds_where_its_form_is_not_negative(form):
    assert same(value(condition(form)), form_value(form) >= 0)


@pytest.mark.parametrize("by", [-2, 0, 2])
@pytest.mark.parametrize("name", ["floordiv", "ceildiv"])
def test_a_quotient_is_at_least_one_where_the_launch_says_so(name, by):
    form = Linear(frozenset([((name, N, constant(by)), 1)]), -1)
    assert same(value(condition(form)), form_value(form) >= 0)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (atom(N), ("ge", N, constant(0))),
        (atom(N).shifted(-3), ("gt", N, constant(2))),
        (atom(N).shifted(3), ("ge", N, constant(-3))),
        (atom(M).minus(atom(N)).shifted(-1), ("lt", N, M)),
        (atom(M).minus(atom(N)), ("le", N, M)),
        (atom(M).minus(atom(N)).shifted(2), ("le", N, ("add", M, constant(2)))),
        (atom(M).minus(atom(N)).shifted(-2), ("le", ("add", N, constant(2)), M)),
        (number(-1), ("ge", constant(-1), constant(0))),
        (atom(("ceildiv", X0, constant(4))).shifted(-1), ("gt", X0, constant(0))),
    ],
)
def test_conditions_read_as_one_writes_them(form, text):
    assert condition(form) == text
