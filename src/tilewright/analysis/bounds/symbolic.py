"""Symbolic evaluation of a function up to each of its bounds checks.

Sections: path conditions, refinement of ranges by branch conditions, and the walk that visits the
checks with the ranges of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.attrs import Predicate
from ...ir.core import Block, Func, Op, Value
from ...ir.launch_expr import Expr
from ...ir.ops.control import BREAK, IF, TILE_INDEX, YIELD
from ...ir.ops.elementwise import ANDI, CMPI, NOTI, ORI
from ...ir.ops.layout import CONSTANT
from ...ir.ops.simt import CHECKS
from ..structure import Structure, structure
from .proofs import ONE, ZERO, Linear, Prover, condition
from .symbolic_range import (
    Cause,
    Integers,
    SymbolicRange,
    SymbolicSpan,
    depend,
    few,
    is_index,
    union,
)

# -------------------------------------------------------------------------------------------------
# Path conditions, as in symbolic execution: the launches in which control reaches an op.
#
# A condition on a value that differs between blocks or iterations holds in some of them; a `Limit`
# has the exact condition for that. A `Path` is the conjunction on the way to an op.


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition that holds in some block or iteration if and only if all `guards` hold.

    It does so only where `causes` have some of their values, and if all `needs` are 0 or more.
    """

    guards: tuple[Expr, ...]
    needs: frozenset[Linear]
    causes: frozenset[Cause]


@dataclass(frozen=True, slots=True)
class Path:
    """A path condition: when control reaches an op.

    It does in some block whenever all `guards` hold (launch expressions), provided that it is
    `sure` and that all `needs` are 0 or more. What `restricted` names varies less here than
    elsewhere.
    """

    guards: tuple[Expr, ...] = ()
    needs: frozenset[Linear] = frozenset()
    restricted: frozenset[Cause] = frozenset()
    sure: bool = True

    def unsure(self) -> Path:
        """Return the path marked as one that control may not take for all launches."""
        return replace(self, sure=False)

    def under(self, limit: Limit, causes: Sequence[Cause]) -> Path:
        """Return the path under a further condition; `causes` existed before that condition."""
        # An earlier condition already restricts the same source: each holds somewhere, but perhaps
        # never both in one block.
        if limit.causes & self.restricted:
            return self.unsure()  # it may never hold together with those before it
        return replace(
            self,
            guards=(*self.guards, *limit.guards),
            needs=self.needs | limit.needs,
            # Every source that depends on the condition varies less from here on; its ends may not
            # occur.
            restricted=self.restricted.union(c for c in causes if depend((c,), limit.causes)),
        )


def at_least_zero(form: Linear) -> Limit:
    """Return the condition that a form, which the launch decides, is 0 or more."""
    return Limit((condition(form),), frozenset(), frozenset())


def somewhere(span: SymbolicSpan, best: Linear) -> Limit | None:
    """Return the limit of a condition on one value: it holds somewhere if it holds at an end."""
    return Limit((condition(best),), span.needs, span.varies) if span.exact else None


def both(a: Limit | None, b: Limit | None) -> Limit | None:
    """Return the conjunction of two limits, exact only if they vary independently."""
    if a is None or b is None or depend(a.causes, b.causes):
        return None
    return Limit((*a.guards, *b.guards), a.needs | b.needs, a.causes | b.causes)


# -------------------------------------------------------------------------------------------------
# Refinement: a branch condition narrows the ranges of the values it compares, and its path.


class Conditions:
    """The conditions of one function: which facts about integers each of them implies."""

    def __init__(self, integers: Integers, nesting: Structure) -> None:
        self.integers = integers
        self.nesting = nesting
        self.prover = integers.prover

    def refined(self, cond: Value, path: Path, *, holds: bool) -> Path:
        """Refine the facts by a condition; return the path into the branch."""
        # Read the condition before `sharpen` changes the ranges that it compares.
        expr = self.condition(cond)
        before = tuple(self.integers.causes)
        limit = self.sharpen(cond, holds=holds)
        if expr is not None:
            return replace(path, guards=(*path.guards, expr if holds else ("not", expr)))
        return path.unsure() if limit is None else path.under(limit, before)

    def condition(self, value: Value) -> Expr | None:
        """Return a condition that the launch decides, as a launch expression."""
        op = self.nesting.definer(value)
        if op is None:
            return None
        if op.is_a(CONSTANT):
            return ("const", bool(op.attrs["value"]))
        if op.is_a(CMPI) and is_index(op.operands[0]):
            points = [self.integers.of(v).point for v in op.operands]
            a, b = points
            predicate = Predicate(op.attrs["predicate"]).value
            return None if a is None or b is None else (predicate, a.expr(), b.expr())
        if op.is_a(IF):
            return self.chosen(op)
        if op.defn not in _LOGIC or not op.result.tile.dtype.is_bool or op.result.tile.rank:
            return None
        parts = [self.condition(v) for v in op.operands]
        return None if None in parts else (_LOGIC[op.defn], *parts)

    def chosen(self, op: Op) -> Expr | None:
        """Return a condition that a branch yields, as `a and b` and `a or b` do."""
        arms = _yielded(op)
        cond = self.condition(op.one("cond"))
        if cond is None or arms is None:
            return None
        then, other = map(self.condition, arms)
        if then is None or other is None:
            return None
        # The front end lowers `a and b` to an `if` that yields b or False, and `a or b`
        # accordingly.
        if other == ("const", False):
            return ("and", cond, then)
        if then == ("const", True):
            return ("or", cond, other)
        return ("or", ("and", cond, then), ("and", ("not", cond), other))

    def taken(self, op: Op, *, holds: bool) -> Limit | None:
        """Refine by a condition that a branch yields, if only one arm can have yielded it."""
        arms = _yielded(op)
        if arms is None:
            return None
        for taken, other in ((0, 1), (1, 0)):
            # The other arm yields the opposite constant, so the result holds only if this arm ran:
            # both its condition and its yielded value hold.
            if self.condition(arms[other]) == ("const", not holds):
                first = self.sharpen(op.one("cond"), holds=taken == 0)
                for inner in op.regions[taken].ops:
                    if len(inner.results) == 1 and is_index(inner.result):
                        self.integers.evaluate(inner)
                return both(first, self.sharpen(arms[taken], holds=holds))
        return None

    def sharpen(self, cond: Value, *, holds: bool) -> Limit | None:
        """Refine the facts by a condition.

        Return where it holds; None if that is not known exactly.
        """
        op = self.nesting.definer(cond)
        if op is None:
            return None
        if op.is_a(NOTI):
            return self.sharpen(op.operands[0], holds=not holds)
        if op.is_a(IF):
            return self.taken(op, holds=holds)
        if op.is_a(ANDI if holds else ORI):
            return both(*(self.sharpen(v, holds=holds) for v in op.operands))
        if not op.is_a(CMPI) or not is_index(op.operands[0]):
            return None
        predicate = Predicate(op.attrs["predicate"])
        return self.compare(predicate if holds else predicate.negated, *op.operands)

    def compare(self, predicate: Predicate, a: Value, b: Value) -> Limit | None:
        """Refine the facts by a comparison of two integers."""
        if predicate in (Predicate.GT, Predicate.GE):
            return self.compare(predicate.swapped, b, a)
        if predicate is Predicate.EQ:
            self.bound(a, b, 0)
            self.bound(b, a, 0)
            return None
        if predicate is Predicate.NE:
            return None
        return self.bound(a, b, int(predicate is Predicate.LT))

    def bound(self, a: Value, b: Value, less: int) -> Limit | None:
        """Refine the facts by a + less <= b."""
        old, other = self.integers.of(a), self.integers.of(b)
        # Bounds from the comparison come first: `few` keeps only some, and these are the sharpest.
        highs = few((*(f.shifted(-less) for f in other.highs), *old.highs))
        lows = few((*(f.shifted(less) for f in old.lows), *other.lows))
        self.integers.note(
            a, SymbolicRange(old.lows, highs, self.lowered(old.span, other.point, less))
        )
        self.integers.note(
            b, SymbolicRange(lows, other.highs, self.raised(other.span, old.point, less))
        )
        # Control is here only if the least a is below the greatest b, which may be a fact about
        # launch values alone.
        self.prover.believe(apart(old, other, less))
        # The comparison holds somewhere if and only if it holds at the end of the span that suits
        # it best.
        if old.span is not None and other.point is not None:
            return somewhere(old.span, other.point.minus(old.span.low).shifted(-less))
        if other.span is not None and old.point is not None:
            return somewhere(other.span, other.span.high.minus(old.point).shifted(-less))
        return None

    def lowered(
        self, span: SymbolicSpan | None, limit: Linear | None, less: int
    ) -> SymbolicSpan | None:
        """Return the range of a value that is at most a limit less `less`."""
        if span is None or limit is None or not span.varies:
            return span
        high = self.prover.least(span.high, limit.shifted(-less))
        return replace(
            # The new end occurs only if the values are dense; a strided value may jump over it.
            span,
            high=high,
            exact=span.dense,
            varies=self.integers.narrowed(span.varies),
        )

    def raised(
        self, span: SymbolicSpan | None, limit: Linear | None, less: int
    ) -> SymbolicSpan | None:
        """Return the range of a value that is at least a limit plus `less`."""
        if span is None or limit is None or not span.varies:
            return span
        low = self.prover.algebra.max(span.low, limit.shifted(less))
        return replace(span, low=low, exact=span.dense, varies=self.integers.narrowed(span.varies))


def apart(a: SymbolicRange, b: SymbolicRange, less: int) -> tuple[Linear, ...]:
    """Return the limit of a + less <= b."""
    return few(high.minus(low).shifted(-less) for low in a.lows for high in b.highs)


def _yielded(op: Op) -> tuple[Value, Value] | None:
    """Return the values that the arms of a branch with one result yield, if both yield."""
    ends = [region.terminator for region in op.regions]
    if len(op.results) != 1 or any(not end.is_a(YIELD) for end in ends):
        return None
    (first,), (second,) = (end.operands for end in ends)
    return first, second


_LOGIC = {ANDI: "and", ORI: "or", NOTI: "not"}


# -------------------------------------------------------------------------------------------------
# The walk: one pass in program order that visits each check with the ranges of its operands.
#
# Loops need no fixpoint: induction variables have closed forms, and carried values are unknown.


@dataclass(frozen=True, slots=True)
class Checked:
    """One check, with the facts that hold where it is."""

    op: Op
    index: SymbolicRange
    extent: SymbolicRange
    path: Path


Settle: TypeAlias = Callable[[Checked], bool]
"""Decide the placement of a check; return whether it cannot fail in a launch that runs."""


def walk_checks(func: Func, prover: Prover, settle: Settle) -> None:
    """Visit all checks of a function in order; a check that holds adds facts from there on."""
    _CheckWalk(func, prover, settle).block(func.body, Path())


class _CheckWalk:
    def __init__(self, func: Func, prover: Prover, settle: Settle) -> None:
        self.prover = prover
        self.settle = settle
        self.nesting: Structure = structure(func)
        self.integers = Integers(func, prover)
        self.conditions = Conditions(self.integers, self.nesting)
        self.passed: dict[Op, list[list[SymbolicRange]]] = {}
        """What the terminators of branches and scopes pass on."""

    def block(self, block: Block, path: Path) -> None:
        """Evaluate the ops of a block; drop the facts that only hold in it at its end."""
        with self.integers.scope():
            for op in block.ops:
                self.op(op, path)
                # A region with an exit to outside may end the block early; what follows runs
                # conditionally.
                if op.regions and (leaving := [*self.nesting.leaves(op)]):
                    path = self.after_exit(op, leaving, path)

    def op(self, op: Op, path: Path) -> None:
        if op.is_a(*CHECKS):
            self.check(op, path)
        elif (enter := _REGIONS.get(op.name)) is not None:
            enter(self, op, path)
        elif op.defn.terminator:
            self.leave(op)
        elif op.is_a(TILE_INDEX):
            self.integers.tile_index(op)
        elif len(op.results) == 1 and is_index(op.result):
            self.integers.evaluate(op)

    def check(self, op: Op, path: Path) -> None:
        index, extent = map(self.integers.of, op.operands)
        if self.settle(Checked(op, index, extent, path)):
            # After a check that cannot fail the index is in bounds, which later proofs may use.
            below = few((*(f.shifted(-1) for f in extent.highs), *index.highs))
            self.integers.note(
                op.operands[0], replace(index, lows=few((*index.lows, ZERO)), highs=below)
            )

    # --- control ---------------------------------------------------------------------------------

    def leave(self, end: Op) -> None:
        target = self.nesting.target.get(end)
        if target is not None:
            values = [self.integers.of(v) if is_index(v) else None for v in end.operands]
            self.passed.setdefault(target, []).append([v or ANYTHING for v in values])

    def join(self, op: Op) -> None:
        """Join the values that arms or exits pass on into the results of a branch or a scope."""
        rows = self.passed.get(op, [])
        for k, result in enumerate(op.results):
            if rows and is_index(result):
                self.integers.known[result] = union(self.prover, [row[k] for row in rows])

    def branch(self, op: Op, path: Path) -> None:
        cond = op.one("cond")
        for region, holds in zip(op.regions, (True, False), strict=True):
            with self.integers.scope():
                inner = self.conditions.refined(cond, path, holds=holds)
                self.block(region, inner)
        self.join(op)

    def after_exit(self, op: Op, leaving: Sequence[Op], path: Path) -> Path:
        """Return the path after an exit: if one arm never returns, the other one was taken."""
        if not op.is_a(IF):
            return path.unsure()
        back = [region for region in op.regions if region.terminator.is_a(YIELD)]
        if len(back) != 1:
            return path.unsure()
        rest = self.conditions.refined(op.one("cond"), path, holds=back[0] is op.regions[0])
        inside = {*back[0].walk()}
        return rest.unsure() if inside.intersection(leaving) else rest

    def scoped(self, op: Op, path: Path) -> None:
        self.block(op.regions[0], path)
        self.join(op)

    def loop(self, op: Op, path: Path) -> None:
        self.block(op.regions[0], path)

    def for_loop(self, op: Op, path: Path) -> None:
        lower, upper, step = (self.integers.of(op.one(name)) for name in ("lower", "upper", "step"))
        inner = self.forward(self.entered(path, lower, upper), step)
        self.integers.known[op.regions[0].args[0]] = self.induction(op, lower, upper, step)
        exits = self.nesting.exits.get(op, [])
        if any(end.is_a(BREAK) for end in exits) or any(True for _ in self.nesting.leaves(op)):
            inner = inner.unsure()
        with self.integers.scope():
            # Inside the body at least one iteration runs, hence lower < upper.
            self.prover.believe(apart(lower, upper, 1))
            self.block(op.regions[0], inner)

    def entered(self, path: Path, lower: SymbolicRange, upper: SymbolicRange) -> Path:
        """Return the path into a loop that runs if its bounds let it."""
        if any(self.prover.holds(b.minus(a).shifted(-1)) for a in lower.highs for b in upper.lows):
            return path
        a, b = lower.span, upper.span
        if a is None or b is None or not (a.exact and b.exact and a.apart(b)):
            return path.unsure()
        # The loop runs in some block if and only if it does where its bounds are farthest apart,
        # which occurs because both vary independently.
        runs = condition(b.high.minus(a.low).shifted(-1))
        return path.under(
            Limit((runs,), a.needs | b.needs, a.varies | b.varies), self.integers.causes
        )

    def forward(self, path: Path, step: SymbolicRange) -> Path:
        """Return the path into a loop that runs only if its step is positive."""
        by = step.point
        if by is None:
            return path.unsure()
        return (
            path
            if self.prover.holds(by.shifted(-1))
            else path.under(at_least_zero(by.shifted(-1)), ())
        )

    def induction(
        self, op: Op, lower: SymbolicRange, upper: SymbolicRange, step: SymbolicRange
    ) -> SymbolicRange:
        """Return the range of an induction variable: lower bound to below the upper bound."""
        ends = [form.shifted(-1) for form in upper.highs]
        found = SymbolicRange(
            lower.lows, few((*ends[:1], *self.last(lower, upper, step), *ends[1:]))
        )
        if lower.span is None or upper.span is None:
            return found
        span = lower.span.joined(upper.span, lower.span.low, upper.span.high.shifted(-1))
        # A loop from the least to the greatest bound takes every number between them.
        span = replace(span, dense=span.exact, varies=self.integers.cause(span.varies))
        return found.with_span(self.stepped(span, lower.span, upper.span, step))

    def stepped(
        self, span: SymbolicSpan, lower: SymbolicSpan, upper: SymbolicSpan, step: SymbolicRange
    ) -> SymbolicSpan:
        """Return the range of a variable that does not take every number."""
        by = step.point
        if by == ONE:
            return span
        if by is not None and lower.dense and lower.high.minus(lower.low) == by.shifted(-1):
            return span  # blocks start next to each other, and step over all of them
        start = lower.point
        if by is None or start is None or upper.point is None or not self.prover.holds(by):
            return replace(span, exact=False, dense=False)
        # The last value is start + floor((end - start) / by) * by.
        return replace(span, high=self.reached(start, span.high, by), dense=False)

    def reached(self, start: Linear, end: Linear, by: Linear) -> Linear:
        """Return the last of the steps from a start that is not behind an end."""
        trips = self.prover.algebra.floordiv(end.minus(start), by)
        return start.plus(self.prover.algebra.mul(trips, by))

    def last(
        self, lower: SymbolicRange, upper: SymbolicRange, step: SymbolicRange
    ) -> Iterator[Linear]:
        """Yield the greatest value of a loop variable, which may step over some."""
        start, end, by = lower.point, upper.point, step.point
        if start is None or end is None or by is None or by == ONE or not self.prover.holds(by):
            return
        yield self.reached(start, end.shifted(-1), by)


ANYTHING = SymbolicRange((), ())
"""The range of a value that is no integer."""


Enter: TypeAlias = Callable[[_CheckWalk, Op, Path], None]
_REGIONS: dict[str, Enter] = {
    "if": _CheckWalk.branch, "scope": _CheckWalk.scoped, "loop": _CheckWalk.loop,
    "for": _CheckWalk.for_loop,
}  # fmt: skip
