"""Quotients, remainders and other atoms: all small cases, to the last unit."""

from __future__ import annotations

import itertools
import math

import pytest

from support.launch_space import SIGNATURE, X0, X1, M, N
from tilewright.analysis.bounds.proofs import ATOM_BOUNDS, EVERYTHING, Linear, Prover, atom, number
from tilewright.ir.launch_expr import BINARY, Expr, LaunchCheck

SMALL = range(-5, 6)
INTERVALS = [(a, b) for a in SMALL for b in SMALL if a <= b]
DIVISORS = range(1, 6)


def prover(*assumed: Expr) -> Prover:
    return Prover(SIGNATURE, [LaunchCheck(expr, "", None) for expr in assumed])


def constant(n: int) -> Expr:
    return ("const", n)


def plus(expr: Expr, n: int) -> Expr:
    return ("add", expr, constant(n))


# --- intervals ------------------------------------------------------------------------------------


def values_of(name: str, a: tuple[int, int], b: tuple[int, int]) -> list[int]:
    compute = BINARY[name][1]
    sides = [range(low, high + 1) for low, high in (a, b)]
    return [compute(x, y) for x, y in itertools.product(*sides)]


@pytest.mark.parametrize("name", ["mul", "mod", "floordiv", "ceildiv", "min", "max"])
def test_bounds_of_two_intervals_hold_all_results(name):
    for a, b in itertools.product(INTERVALS[::2], INTERVALS[::3]):
        found = values_of(name, a, b)
        low, high = ATOM_BOUNDS[name](a, b)
        assert low <= min(found) <= max(found) <= high, (a, b)


@pytest.mark.parametrize("name", ["mul", "floordiv", "ceildiv", "min", "max"])
@pytest.mark.parametrize("by", DIVISORS)
def test_bounds_beside_a_positive_number_are_the_least(name, by):
    for a in INTERVALS:
        found = values_of(name, a, (by, by))
        assert ATOM_BOUNDS[name](a, (by, by)) == (min(found), max(found)), a


@pytest.mark.parametrize("by", DIVISORS)
def test_a_remainder_is_below_its_divisor_and_not_above_what_is_divided(by):
    for low, high in INTERVALS:
        most = min(by - 1, high) if low >= 0 else by - 1
        assert ATOM_BOUNDS["mod"]((low, high), (by, by)) == (0, most)


def test_what_has_no_bound():
    assert ATOM_BOUNDS["mod"]((0, 9), (0, 3)) == EVERYTHING
    assert ATOM_BOUNDS["floordiv"]((0, 9), (-1, 3)) == EVERYTHING
    assert ATOM_BOUNDS["mul"]((0, math.inf), (-1, 0)) == (-math.inf, 0)
    assert ATOM_BOUNDS["floordiv"]((1, math.inf), (2, 2)) == (0, math.inf)


# --- quotients in proofs --------------------------------------------------------------------------

QUOTIENTS = [
    # n / d <= m follows from n <= d m + slack, and n / d >= m from n >= d m - slack.
    ("floordiv", "at most", lambda d: d - 1),
    ("floordiv", "at least", lambda d: 0),
    ("ceildiv", "at most", lambda d: 0),
    ("ceildiv", "at least", lambda d: d - 1),
]


@pytest.mark.parametrize("by", DIVISORS)
@pytest.mark.parametrize(("name", "side", "slack"), QUOTIENTS)
def test_quotients_are_bounded_to_the_last_unit(name, side, slack, by):
    product = ("mul", M, constant(by))
    for extra in range(-1, by + 2):
        at_most = side == "at most"
        assumed = ("le", N, plus(product, extra)) if at_most else ("ge", N, plus(product, -extra))
        known = prover(assumed)
        form = known.algebra.of((name, N, constant(by))).minus(atom(M)).times(-1 if at_most else 1)
        assert known.holds(form) == (extra <= slack(by)), extra


@pytest.mark.parametrize("by", DIVISORS)
@pytest.mark.parametrize("name", ["floordiv", "ceildiv"])
def test_a_greater_number_has_no_lesser_quotient(name, by):
    for more in range(-by, by + 1):
        known = prover()
        of = known.algebra.of
        form = of((name, plus(N, more), constant(by))).minus(of((name, N, constant(by))))
        assert known.holds(form) == (more >= 0), more


def test_a_quotient_by_a_number_of_the_launch_is_no_farther_from_0():
    """Both are known not to be negative: they are extents."""
    known = prover()

    def rest(a: Expr, b: Expr) -> Linear:
        return atom(a).minus(known.algebra.of(("floordiv", a, b)))

    assert known.holds(rest(X0, X1))
    assert not known.holds(rest(X0, X1).shifted(-1))
    assert not known.holds(rest(N, X1))
    assert not known.holds(rest(X0, N))
    assert not known.holds(rest(X0, X1).times(-1))


# --- equations ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(2, 3), (2, 2), (4, 6), (1, 3), (3, 1), (1, 1), (2, -1)])
def test_an_equation_is_solved_for_a_leaf_that_is_there_once(a, b):
    """a n == b m: in the integers it can only be divided by 1 or -1."""
    known = prover(("eq", ("mul", N, constant(a)), ("mul", M, constant(b))))
    equal = {leaf: form for leaf, form in known.algebra.equal.items() if leaf in (N, M)}
    assert bool(equal) == (1 in (abs(a), abs(b)))
    for x, y in itertools.product(range(-12, 13), repeat=2):
        if a * x != b * y:
            continue
        for leaf, form in equal.items():
            other, factor = (x, y), dict(form.terms)
            mine = other[0] if leaf == N else other[1]
            assert mine == sum(
                factor.get(term, 0) * v for term, v in zip((N, M), other, strict=True)
            )
    assert not known.holds(atom(N).minus(atom(M)).shifted(-1))
    difference = ("sub", ("mul", N, constant(a)), ("mul", M, constant(b)))
    assert known.holds(known.algebra.of(difference))


def test_equal_leaves_are_equal_in_all_that_is_known():
    known = prover(("eq", N, plus(M, 3)), ("eq", X0, ("mul", N, constant(2))))
    of = known.algebra.of
    assert of(X0) == of(("add", ("mul", M, constant(2)), constant(6)))
    assert known.holds(of(X0).minus(of(N)).plus(number(3)).minus(of(N)).shifted(-3))
