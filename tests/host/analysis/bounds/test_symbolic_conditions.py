"""What branches tell: bounds of integers inside, when control gets there, and what occurs there.

Random conditions on what launches and blocks are; each claim is compared with all of them.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.branching import TREES, Branches, Found, Tree, assert_claims, claims
from support.launch_space import CONDITIONS
from support.straight import PROGRAMS, RUNS
from tilewright.ir.attrs import Predicate


@settings(max_examples=40)
@given(PROGRAMS, st.lists(TREES, min_size=1, max_size=2), st.lists(CONDITIONS, max_size=1))
def test_what_branches_tell_is_so_in_every_launch_and_block(steps, trees, assumed):
    branches = Branches(steps[:3])
    branches.branch(trees, RUNS)
    assert_claims(branches, assumed)


# Values without steps: an extent, the block, n, m.
EXTENT, BLOCK, SCALAR, OTHER = range(4)


def compared(predicate: Predicate, a: int, b: int) -> Tree:
    return ("cmp", predicate, a, b)


@pytest.mark.parametrize("predicate", Predicate)
@pytest.mark.parametrize("operands", [(BLOCK, SCALAR), (SCALAR, BLOCK), (BLOCK, EXTENT), (3, 2)])
@pytest.mark.parametrize("word", ["cmp", "not"])
def test_one_comparison(predicate, operands, word):
    tree = compared(predicate, *operands)
    branches = Branches([])
    branches.branch([tree if word == "cmp" else ("not", tree)], RUNS)
    assert_claims(branches, [])


@pytest.mark.parametrize("word", ["and", "or", "then", "else"])
@pytest.mark.parametrize("first", [Predicate.LT, Predicate.GE, Predicate.EQ])
@pytest.mark.parametrize("pair", [((1, 2), (1, 3)), ((1, 2), (2, 3)), ((2, 3), (1, 2)),
                                  ((2, 3), (3, 0))])  # fmt: skip
def test_two_comparisons(word, first, pair):
    (a, b), (c, d) = pair
    for second in (Predicate.GT, Predicate.LE):
        branches = Branches([])
        branches.branch([(word, compared(first, a, b), compared(second, c, d))], RUNS)
        assert_claims(branches, [])


@pytest.mark.parametrize("second", [(1, 3), (3, 1), (2, 3), (0, 2)])
def test_a_branch_in_a_branch(second):
    for first in (Predicate.LT, Predicate.GT):
        branches = Branches([])
        branches.branch([compared(first, 1, 2), compared(Predicate.LE, *second)], RUNS)
        assert_claims(branches, [])


# --- what must be known ---------------------------------------------------------------------------


def first_arm(tree: Tree, of: int, *, other: bool = False) -> Found:
    branches = Branches([])
    branches.branch([tree], RUNS)
    found = claims(branches, [])
    return found[of + (len(branches.values) if other else 0)]


def test_a_branch_on_numbers_of_the_launch_is_taken_where_these_say_so():
    found = first_arm(compared(Predicate.LT, SCALAR, OTHER), BLOCK)
    assert found.path.sure
    assert found.path.guards == (("lt", ("scalar", "n"), ("scalar", "m")),)
    assert found.here
    other = first_arm(compared(Predicate.LT, SCALAR, OTHER), BLOCK, other=True)
    assert other.path.guards == (("not", ("lt", ("scalar", "n"), ("scalar", "m"))),)


def test_a_branch_on_the_block_is_taken_by_some_block():
    found = first_arm(compared(Predicate.LT, BLOCK, SCALAR), BLOCK)
    assert found.path.sure and len(found.path.guards) == 1
    assert found.index.span is not None and found.index.span.exact


def test_a_block_of_one_number_may_not_run():
    assert not first_arm(compared(Predicate.EQ, BLOCK, SCALAR), BLOCK).path.sure
