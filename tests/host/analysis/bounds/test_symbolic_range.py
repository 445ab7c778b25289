"""Ranges and causes: what varies together, what ends where, what fits its type."""

from __future__ import annotations

import pytest

from support.launch_space import SIGNATURE, X0, M, N
from tilewright.analysis.bounds.proofs import ONE, ZERO, Linear, Prover, atom, number
from tilewright.analysis.bounds.symbolic_range import (
    MOST,
    Cause,
    SymbolicRange,
    SymbolicSpan,
    depend,
    few,
    fitted,
    point_range,
    tied,
    unknown,
)
from tilewright.base.dtypes import i8, i32, u8
from tilewright.ir.launch_expr import LaunchCheck

A, B = Cause(), Cause()
AB = Cause(frozenset((A, B)))
C, D = number(10), number(20)


def varying(*causes: Cause, low: Linear = ZERO, high: Linear = C) -> SymbolicSpan:
    return SymbolicSpan(low, high, varies=frozenset(causes))


# --- causes --------------------------------------------------------------------------------------


def test_a_cause_depends_on_itself_and_on_what_it_is_tied_to():
    assert A.depends(A)
    assert not A.depends(B)
    assert AB.depends(A) and A.depends(AB)
    assert Cause(frozenset((A,))).depends(AB)
    assert not Cause(frozenset((A,))).depends(Cause(frozenset((B,))))


def test_parts_of_one_whole_depend_on_their_own_alone():
    whole = object()
    first, second = (Cause(frozenset((A,)), whole, part) for part in (0, 1))
    assert not first.depends(second)
    assert first.depends(Cause(frozenset((A,)), whole, 0))
    assert first.depends(Cause(frozenset((A,)), object(), 1))
    assert first.depends(A)


def test_ties_come_along():
    assert tied(frozenset((AB,))) == {A, B, AB}
    assert tied(frozenset()) == frozenset()
    assert depend([A], [B, AB])
    assert not depend([A], [B])
    assert not depend([], [A])


# --- ranges --------------------------------------------------------------------------------------


def test_only_what_the_launch_decides_has_a_point():
    assert SymbolicSpan(C, C).point == C
    assert SymbolicSpan(ZERO, C).point is None
    assert varying(A, low=C).point is None
    assert point_range(C).point == C
    assert SymbolicRange((C,), (C,)).point is None
    assert point_range(C).with_span(SymbolicSpan(C, C, needs=frozenset((D,)))).point is None


@pytest.mark.parametrize("other", [A, AB])
def test_ends_of_what_varies_together_may_not_occur(other):
    joined = varying(A).joined(varying(other), ZERO, D)
    assert not joined.exact and not joined.dense
    assert joined.varies == {A, other}


def test_ends_of_what_varies_apart_occur():
    joined = varying(A).joined(varying(B), ZERO, D)
    assert (joined.low, joined.high) == (ZERO, D)
    assert joined.exact and joined.dense
    for exact, dense in ((False, True), (True, False)):
        less = SymbolicSpan(ZERO, C, varies=frozenset((B,)), exact=exact, dense=dense)
        assert varying(A).joined(less, ZERO, D).exact is exact
        assert varying(A).joined(less, ZERO, D).dense is dense
        assert less.joined(varying(A), ZERO, D).exact is exact
        assert less.joined(varying(A), ZERO, D).dense is dense


def test_joined_ranges_need_what_each_needs():
    a, b = (SymbolicSpan(ZERO, C, needs=frozenset((form,))) for form in (ONE, D))
    assert a.joined(b, ZERO, C).needs == {ONE, D}


def test_a_range_that_is_moved_has_gaps_unless_told():
    assert not varying(A).moved(lambda f: f.times(2)).dense
    assert varying(A).moved(lambda f: f.shifted(2), dense=True).dense
    assert varying(A).moved(lambda f: f.times(2)).high == D
    gaps = SymbolicSpan(ZERO, C, dense=False)
    assert not gaps.moved(lambda f: f, dense=True).dense


def test_a_range_that_is_turned_has_its_ends_exchanged():
    turned = varying(A).turned()
    assert (turned.low, turned.high) == (C.times(-1), ZERO)
    assert turned.exact and turned.dense


# --- values --------------------------------------------------------------------------------------


def test_the_first_few_different_bounds_are_kept():
    forms = [number(n % 6) for n in range(12)]
    assert few(forms) == tuple(number(n) for n in range(MOST))


def test_what_is_unknown_has_the_range_of_its_type():
    assert unknown(i8) == SymbolicRange((number(-128),), (number(127),))
    assert unknown(u8) == SymbolicRange((ZERO,), (number(255),))


def test_what_fits_keeps_its_bounds():
    prover = Prover(SIGNATURE)
    exact = point_range(atom(N))
    assert fitted(prover, i8, exact) == exact
    assert fitted(prover, i32, exact) == exact


@pytest.mark.parametrize(
    ("form", "needs"),
    [
        (atom(N).shifted(1), {number(127).minus(atom(N).shifted(1))}),
        (atom(N).shifted(-1), {atom(N).shifted(-1 + 128)}),
        (atom(N).plus(atom(M)), {atom(N).plus(atom(M)).shifted(128),
                                 number(127).minus(atom(N)).minus(atom(M))}),
    ],
)  # fmt: skip
def test_what_may_wrap_has_a_range_with_conditions(form, needs):
    found = fitted(Prover(SIGNATURE), i8, point_range(form))
    assert (found.lows, found.highs) == (unknown(i8).lows, unknown(i8).highs)
    assert found.span is not None
    assert found.span.needs == needs
    assert found.point is None


def test_one_bound_of_each_side_that_fits_is_enough():
    prover = Prover(SIGNATURE, [LaunchCheck(("le", N, ("const", 5)), "", None)])
    exact = SymbolicRange((atom(N), number(-1000)), (number(1000), atom(N)))
    assert fitted(prover, i8, exact) == exact
    wide = SymbolicRange((number(-1000),), (atom(N),))
    assert fitted(prover, i8, wide) == unknown(i8)
    assert fitted(prover, i8, SymbolicRange((atom(N),), (atom(X0),))) == unknown(i8)
