"""What branches tell: bounds of integers inside, when control gets there, and what occurs there.

Random conditions on what launches and blocks are; each claim is compared with all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.ir import Kernel
from support.launch_space import CONDITIONS, value, where
from support.straight import (
    CHOSEN,
    PROGRAMS,
    RUNS,
    Array,
    assert_bounds,
    assert_span,
    built,
    of_launches,
    program,
    scalars,
)
from tilewright.analysis.known import Known
from tilewright.analysis.linear import Linear
from tilewright.analysis.paths import Path
from tilewright.analysis.proofs import Prover
from tilewright.analysis.symbolic import Checked, walk_checks
from tilewright.base.dtypes import bool_, i32
from tilewright.ir.attrs import Predicate
from tilewright.ir.core import Value
from tilewright.ir.launch_expr import Expr, LaunchCheck
from tilewright.ir.types import I1

COMPARE: dict[Predicate, Callable[[Any, Any], Any]] = {
    Predicate.LT: operator.lt, Predicate.LE: operator.le, Predicate.GT: operator.gt,
    Predicate.GE: operator.ge, Predicate.EQ: operator.eq, Predicate.NE: operator.ne,
}  # fmt: skip

Tree = tuple[Any, ...]
"""("cmp", predicate, a, b), or "not", "and", "or", "then" or "else" of others.

The last two are `and` and `or` as Python has them: the second part is asked for in a branch.
"""

COMPARISON = st.tuples(
    st.just("cmp"), st.sampled_from(tuple(Predicate)), st.integers(0, 7), st.integers(0, 7)
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    COMPARISON,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(("and", "or", "then", "else")), inner, inner),
    ),
    max_leaves=3,
)


class Branches:
    """A kernel of nested branches with checks in them, and where each arm runs."""

    def __init__(self, steps: Any) -> None:
        self.k: Kernel
        self.k, leaves = scalars()
        values = built(self.k, leaves, steps, i32)
        computed = program(steps, i32).computed
        pairs = [(v, c) for v, c in zip(values, computed, strict=True) if v.tile.dtype is i32]
        self.values, self.computed = zip(*pairs, strict=True)
        self.arms: list[tuple[int, Array]] = []
        """Of each check the value that it is about, and where it runs."""

    def emit(self, tree: Tree) -> tuple[Value, Array]:
        """A condition, and where it holds."""
        if tree[0] == "cmp":
            a, b = (n % len(self.values) for n in tree[2:])
            made = self.k.emit("cmpi", self.values[a], self.values[b], predicate=tree[1])
            return made, COMPARE[tree[1]](self.computed[a], self.computed[b])
        if tree[0] == "not":
            inner, held = self.emit(tree[1])
            return self.k.emit("noti", inner), ~held
        first, held = self.emit(tree[1])
        if tree[0] in ("and", "or"):
            second, other = self.emit(tree[2])
            word, join = ("andi", held & other) if tree[0] == "and" else ("ori", held | other)
            return self.k.emit(word, first, second), join
        return self.short(first, held, tree[2], conjunction=tree[0] == "then")

    def short(
        self, first: Value, held: Array, tree: Tree, *, conjunction: bool
    ) -> tuple[Value, Array]:
        other = held
        regions: list[Any] = []
        for asked in (conjunction, not conjunction):
            with self.k.region() as region:
                if asked:
                    second, other = self.emit(tree)
                    self.k.op("yield", [second])
                else:
                    self.k.op("yield", [self.k.constant(not conjunction, bool_)])
            regions.append(region)
        made = self.k.op("if", first, regions=tuple(regions), types=(I1,)).result
        return made, held & other if conjunction else held | other

    def check(self, runs: Array) -> None:
        """Checks of all values, wherever these run."""
        for k, each in enumerate(self.values):
            self.k.emit("check", each, self.k.i32(4), tensor="x", axis=0)
            self.arms.append((k, runs))

    def branch(self, trees: list[Tree], runs: Array) -> None:
        cond, held = self.emit(trees[0])
        regions: list[Any] = []
        for side in (held, ~held):
            with self.k.region() as region:
                self.check(runs & side)
                if len(trees) > 1:
                    self.branch(trees[1:], runs & side)
                self.k.op("yield")
            regions.append(region)
        self.k.op("if", cond, regions=tuple(regions), types=())


class Found(NamedTuple):
    """What is claimed of a check."""

    index: Known
    path: Path
    here: tuple[Linear, ...]


def claims(branches: Branches, assumed: list[Expr]) -> list[Found]:
    func = branches.k.finish()
    prover = Prover(func.signature, [LaunchCheck(expr, "", None) for expr in assumed])
    found: list[Found] = []

    def settle(check: Checked) -> bool:
        found.append(Found(check.index, check.path, prover.here))
        return False

    walk_checks(func, prover, settle)
    return found


def assert_claims(branches: Branches, assumed: list[Expr]) -> None:
    held = where(assumed)[CHOSEN]
    for (k, runs), found in zip(branches.arms, claims(branches, assumed), strict=True):
        runs = runs & RUNS & held[:, None]
        computed = branches.computed[k]
        gets_there = runs.any(axis=1)
        for form in found.here:
            assert np.all((of_launches(form)[:, 0] >= 0) | ~gets_there), "that is not so here"
        assert_bounds(found.index, computed, runs)
        fits = held.copy()
        for need in found.path.needs:
            fits &= of_launches(need)[:, 0] >= 0
        if found.path.sure:
            said = np.ones(len(CHOSEN), np.bool_)
            for guard in found.path.guards:
                said &= value(guard)[CHOSEN]
            assert np.all((said == gets_there)[fits]), "control gets there in other launches"
        span = found.index.span
        if span is not None:
            occurs = found.path.sure and not span.varies & found.path.restricted
            assert_span(span, computed, runs & fits[:, None], occurs=occurs)


@settings(max_examples=60)
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


# --- what must be known -------------------------------------------------------------------------------


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
