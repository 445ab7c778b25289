"""Kernels of branches and loops with checks in them, run for every launch of a small space.

Arrays have a row for each launch, with an element for each block, and in loops for each block and
iteration; what is claimed of a check is compared with all elements that get to it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from support.ir import Kernel
from support.launch_space import value, where
from support.straight import (
    CHOSEN,
    Array,
    assert_bounds,
    assert_span,
    built,
    of_launches,
    program,
    scalars,
)
from tilewright.analysis.bounds.proofs import Linear, Prover
from tilewright.analysis.bounds.symbolic import Checked, Path, walk_checks
from tilewright.analysis.bounds.symbolic_range import SymbolicRange
from tilewright.base.dtypes import bool_, i32
from tilewright.ir.attrs import Predicate
from tilewright.ir.core import Value
from tilewright.ir.launch_expr import Expr, LaunchCheck
from tilewright.ir.types import I1, I32

MOST_ITERATIONS = 9
"""Launches with loops that take more are left out."""

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
        self.values: list[Value] = [v for v, _ in pairs]
        self.computed: list[Array] = [c for _, c in pairs]
        self.short_loops = np.ones(len(CHOSEN), np.bool_)
        """Launches in which all loops were followed to their end."""
        self.arms: list[tuple[Array, Array]] = []
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
        for each, computed in zip(self.values, self.computed, strict=True):
            self.k.emit("check", each, self.k.i32(4), tensor="x", axis=0)
            self.arms.append((computed, runs))

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

    def loop(self, bounds: tuple[int, int, int], trees: list[Tree], runs: Array) -> None:
        """A loop from one value to another, by a third, with checks and branches in it."""
        places = [n % len(self.values) for n in bounds]
        lower, upper, by = (self.computed[n] for n in places)
        taken = runs & (by > 0) & (lower < upper)
        count = np.where(taken, -(-(upper - lower) // np.where(by > 0, by, 1)), 0)
        self.short_loops &= (count <= MOST_ITERATIONS).all(axis=1)
        outside = [*self.values], [*self.computed]

        def spread(a: Array) -> Array:
            return np.repeat(a, MOST_ITERATIONS, axis=1)

        turn = np.tile(np.arange(MOST_ITERATIONS), runs.shape[1])[None, :]
        with self.k.region(I32) as region:
            self.values = [*outside[0], region.args[0]]
            self.computed = [*map(spread, outside[1]), spread(lower) + turn * spread(by)]
            inner = spread(taken) & (turn < spread(count))
            self.check(inner)
            if trees:
                self.branch(trees, inner)
            self.k.op("continue")
        values = [outside[0][n] for n in places]
        self.k.op("for", *values, [], regions=(region,))
        self.values, self.computed = outside


class Found(NamedTuple):
    """What is claimed of a check."""

    index: SymbolicRange
    path: Path
    here: tuple[Linear, ...]


def claims(branches: Branches, assumed: list[Expr]) -> list[Found]:
    """What is claimed of each check, in order."""
    func = branches.k.finish()
    prover = Prover(func.signature, [LaunchCheck(expr, "", None) for expr in assumed])
    found: list[Found] = []

    def settle(check: Checked) -> bool:
        found.append(Found(check.index, check.path, prover.here))
        return False

    walk_checks(func, prover, settle)
    return found


def assert_claims(branches: Branches, assumed: list[Expr]) -> None:
    """Compare what is claimed of each check with what is so."""
    held = where(assumed)[CHOSEN] & branches.short_loops
    for (computed, runs), found in zip(branches.arms, claims(branches, assumed), strict=True):
        runs = runs & held[:, None]
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
