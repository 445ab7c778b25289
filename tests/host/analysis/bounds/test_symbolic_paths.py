"""When control gets to a place: conditions add up, unless they may never hold together."""

from __future__ import annotations

from support.launch_space import M, N
from tilewright.analysis.bounds.proofs import ONE, ZERO, atom, number
from tilewright.analysis.bounds.symbolic import Limit, Path, at_least_zero, both, somewhere
from tilewright.analysis.bounds.symbolic_range import Cause, SymbolicSpan

A, B = Cause(), Cause()
TIED = Cause(frozenset((A,)))
FIRST = Limit((("ge", N, ("const", 0)),), frozenset((ONE,)), frozenset((A,)))
SECOND = Limit((("ge", M, ("const", 0)),), frozenset((ZERO,)), frozenset((B,)))


def test_conditions_add_up():
    path = Path().under(FIRST, (A, B, TIED)).under(SECOND, (A, B, TIED))
    assert path.guards == (*FIRST.guards, *SECOND.guards)
    assert path.needs == {ONE, ZERO}
    assert path.restricted == {A, B, TIED}
    assert path.sure


def test_what_depends_on_a_condition_varies_less_under_it():
    assert Path().under(FIRST, (A, B, TIED)).restricted == {A, TIED}
    assert Path().under(FIRST, ()).restricted == frozenset()


def test_two_conditions_on_one_cause_may_never_hold_together():
    path = Path().under(FIRST, (A,))
    again = path.under(FIRST, (A,))
    assert not again.sure
    assert again.guards == path.guards
    assert not path.unsure().sure


def test_conditions_of_the_launch_restrict_nothing():
    limit = at_least_zero(atom(N).shifted(-1))
    assert limit == Limit((("gt", N, ("const", 0)),), frozenset(), frozenset())
    assert Path().under(limit, (A,)).restricted == frozenset()


def test_a_condition_on_one_value_holds_where_it_holds_best():
    span = SymbolicSpan(ZERO, number(4), frozenset((ONE,)), frozenset((A,)))
    found = somewhere(span, atom(N))
    assert found == Limit((("ge", N, ("const", 0)),), frozenset((ONE,)), frozenset((A,)))
    assert somewhere(SymbolicSpan(ZERO, number(4), exact=False), atom(N)) is None


def test_two_conditions_hold_together_where_they_are_apart():
    assert both(FIRST, SECOND) == Limit(
        (*FIRST.guards, *SECOND.guards), frozenset((ONE, ZERO)), frozenset((A, B))
    )
    assert both(FIRST, FIRST) is None
    assert both(FIRST, Limit((), frozenset(), frozenset((TIED,)))) is None
    assert both(None, FIRST) is None
    assert both(FIRST, None) is None
