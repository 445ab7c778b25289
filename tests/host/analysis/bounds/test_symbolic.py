"""What loops tell: the range of their variable, and when and how often their body runs.

Each claim is compared with every iteration in every block of every launch of a small space.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_text import kernel, parse
from support.branching import TREES, Branches, Found, assert_claims, claims
from support.launch_space import CONDITIONS, X0, M, N
from support.straight import PROGRAMS, RUNS, SMALL, Step
from tilewright.analysis.bounds.proofs import PLAIN, ZERO, Prover, atom
from tilewright.analysis.bounds.symbolic import Checked, walk_checks
from tilewright.ir.attrs import Predicate

PLACE = st.integers(0, 7)


@settings(max_examples=40)
@given(
    PROGRAMS,
    st.tuples(PLACE, PLACE, PLACE),
    st.lists(TREES, max_size=1),
    st.lists(CONDITIONS, max_size=1),
)
def test_what_loops_tell_is_so_in_every_iteration(steps, bounds, trees, assumed):
    branches = Branches(steps[:3])
    branches.loop(bounds, trees, RUNS)
    assert_claims(branches, assumed)


ZERO_, ONE_, TWO_, THREE_ = (Step("constant", 0, 0, SMALL.index(n)) for n in (0, 1, 2, 3))
NUMBERS = [ZERO_, ONE_, TWO_, THREE_]
# Values with these: an extent, the block, n, m, 0, 1, 2, 3.
EXTENT, BLOCK, SCALAR, OTHER, NONE, ONE, TWO, THREE = range(8)


@pytest.mark.parametrize("step", [ONE, TWO, THREE, SCALAR, NONE])
@pytest.mark.parametrize("lower", [NONE, TWO, SCALAR, BLOCK])
@pytest.mark.parametrize("upper", [EXTENT, OTHER, THREE, BLOCK])
def test_loops_by_their_bounds(lower, upper, step):
    branches = Branches(NUMBERS)
    branches.loop((lower, upper, step), [], RUNS)
    assert_claims(branches, [])


def test_a_loop_in_a_branch_and_a_branch_in_a_loop():
    for tree in (("cmp", predicate, 8, OTHER) for predicate in Predicate):
        branches = Branches(NUMBERS)
        branches.loop((NONE, EXTENT, ONE), [tree], RUNS)
        assert_claims(branches, [])


# --- what must be known --------------------------------------------------------------------------


def variable(lower: int, upper: int, step: int, *assumed) -> Found:
    branches = Branches(NUMBERS)
    branches.loop((lower, upper, step), [], RUNS)
    assert_claims(branches, list(assumed))
    return claims(branches, list(assumed))[-1]


def test_a_loop_over_an_extent_takes_every_number_below_it():
    found = variable(NONE, EXTENT, ONE)
    assert ZERO in found.index.lows
    assert atom(X0).shifted(-1) in found.index.highs
    assert found.index.span is not None and found.index.span.exact and found.index.span.dense
    assert found.path.sure
    assert found.path.guards == (("gt", X0, ("const", 0)),)
    assert atom(X0).shifted(-1) in found.here


def test_a_loop_that_surely_runs_has_no_guard():
    assert variable(NONE, EXTENT, ONE, ("gt", X0, ("const", 2))).path.guards == ()
    assert variable(ONE, THREE, ONE).path.guards == ()


def test_a_loop_by_more_than_one_ends_where_its_steps_do():
    found = variable(NONE, EXTENT, TWO)
    assert found.index.span is not None
    assert found.index.span.exact and not found.index.span.dense
    last = PLAIN.of(("floordiv", atom(X0).shifted(-1).expr(), ("const", 2))).times(2)
    assert found.index.span.high == last
    assert last in found.index.highs


def test_a_step_that_may_not_be_positive_is_a_guard():
    found = variable(NONE, EXTENT, SCALAR)
    assert ("gt", N, ("const", 0)) in found.path.guards
    assert found.index.span is not None and not found.index.span.exact
    sure = variable(NONE, EXTENT, SCALAR, ("gt", N, ("const", 0)))
    assert sure.path.guards == (("gt", X0, ("const", 0)),)
    assert sure.index.span is not None and sure.index.span.exact


def test_a_loop_that_may_be_left_early_may_not_run_further():
    text = """
    %zero = constant {dtype=i32}
    %one = constant {value=1, dtype=i32}
    for %zero, %n, %one { (%i: tile<i32>)
      %ok = check %i, %m {tensor="x", axis=0}
      if %c {
        END
      } else {
        yield
      }
      continue
    }
    return
    """
    sure: dict[str, bool] = {}
    for end in ("break", "continue", "return"):
        func = parse(kernel(text.replace("END", end)))

        def settle(check: Checked, end: str = end) -> bool:
            sure[end] = check.path.sure
            return False

        walk_checks(func, Prover(func.signature), settle)
    assert sure == {"break": False, "continue": True, "return": False}


def test_bounds_that_vary_together_say_nothing_of_when_a_loop_runs():
    assert not variable(BLOCK, BLOCK, ONE).path.sure


def test_a_loop_from_each_block_on_takes_every_number():
    found = variable(BLOCK, OTHER, ONE)
    assert found.path.sure
    assert found.index.span is not None and found.index.span.exact
    assert found.index.span.high == atom(M).shifted(-1)
    assert found.index.span.low == ZERO
