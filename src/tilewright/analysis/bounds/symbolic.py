"""Symbolic evaluation of every check: path conditions, refined ranges, obligations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.attrs import Predicate
from ...ir.core import Block, Func, Op, Value
from ...ir.launch_expr import Expr
from ...ir.ops.control import BREAK, IF, LEAVE, TILE_INDEX, YIELD
from ...ir.ops.elementwise import ANDI, CMPI, NOTI, ORI
from ...ir.ops.layout import CONSTANT
from ..structure import Structure, structure
from .linear import ONE, ZERO, Linear, condition
from .placement_report import CHECKS
from .proofs import Prover
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
# Path conditions: when control reaches an op, as far as the launch decides it.
#
# A condition on what differs between blocks or rounds holds in some of them: a `Limit` says
# exactly when. A `Path` is all that must hold on the way to an op.


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition that holds in some block or round if and only if all `guards` hold.

    It does so only where `causes` have some of their values, and if all `needs` are 0 or more.
    """

    guards: tuple[Expr, ...]
    needs: frozenset[Linear]
    causes: frozenset[Cause]


@dataclass(frozen=True, slots=True)
class Path:
    """When control gets to a place.

    It does in some block whenever all `guards` hold (launch expressions), provided that it is
    `sure` and that all `needs` are 0 or more. What `restricted` names varies less here than
    elsewhere.
    """

    guards: tuple[Expr, ...] = ()
    needs: frozenset[Linear] = frozenset()
    restricted: frozenset[Cause] = frozenset()
    sure: bool = True

    def unsure(self) -> Path:
        """The same, but whether control gets there is not for the launch to say."""
        return replace(self, sure=False)

    def under(self, limit: Limit, causes: Sequence[Cause]) -> Path:
        """The path on under a further condition; `causes` are all that were there before it."""
        if limit.causes & self.restricted:
            return self.unsure()  # it may never hold together with those before it
        return replace(
            self,
            guards=(*self.guards, *limit.guards),
            needs=self.needs | limit.needs,
            restricted=self.restricted.union(c for c in causes if depend((c,), limit.causes)),
        )


def at_least_zero(form: Linear) -> Limit:
    """The condition that a form, which the launch decides, is 0 or more."""
    return Limit((condition(form),), frozenset(), frozenset())


def somewhere(span: SymbolicSpan, best: Linear) -> Limit | None:
    """A condition on one value that holds somewhere if it does where it holds best."""
    return Limit((condition(best),), span.needs, span.varies) if span.exact else None


def both(a: Limit | None, b: Limit | None) -> Limit | None:
    """Two conditions on what varies independently; else they may hold, but never together."""
    if a is None or b is None or depend(a.causes, b.causes):
        return None
    return Limit((*a.guards, *b.guards), a.needs | b.needs, a.causes | b.causes)


# -------------------------------------------------------------------------------------------------
# Refines symbolic ranges by the conditions of branches, and tells when branches are taken.


class Conditions:
    """Reads the conditions of one function, and notes what they say of its integers."""

    def __init__(self, integers: Integers, nesting: Structure) -> None:
        self.integers = integers
        self.nesting = nesting
        self.prover = integers.prover

    def refined(self, cond: Value, path: Path, *, holds: bool) -> Path:
        """Sharpen the facts by a condition; give the path into the branch."""
        expr = self.condition(cond)
        before = tuple(self.integers.causes)
        limit = self.sharpen(cond, holds=holds)
        if expr is not None:
            return replace(path, guards=(*path.guards, expr if holds else ("not", expr)))
        return path.unsure() if limit is None else path.under(limit, before)

    def condition(self, value: Value) -> Expr | None:
        """A condition that the launch decides, as a launch expression."""
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
        """A condition that a branch yields, as `a and b` and `a or b` do."""
        arms = _yielded(op)
        cond = self.condition(op.one("cond"))
        if cond is None or arms is None:
            return None
        then, other = map(self.condition, arms)
        if then is None or other is None:
            return None
        if other == ("const", False):
            return ("and", cond, then)
        if then == ("const", True):
            return ("or", cond, other)
        return ("or", ("and", cond, then), ("and", ("not", cond), other))

    def taken(self, op: Op, *, holds: bool) -> Limit | None:
        """Sharpen by a condition that a branch yields, if only one arm can have yielded it."""
        arms = _yielded(op)
        if arms is None:
            return None
        for taken, other in ((0, 1), (1, 0)):
            if self.condition(arms[other]) == ("const", not holds):
                first = self.sharpen(op.one("cond"), holds=taken == 0)
                for inner in op.regions[taken].ops:
                    if len(inner.results) == 1 and is_index(inner.result):
                        self.integers.evaluate(inner)
                return both(first, self.sharpen(arms[taken], holds=holds))
        return None

    def sharpen(self, cond: Value, *, holds: bool) -> Limit | None:
        """Note what a condition says of integers.

        Gives where it holds; None where that cannot be said exactly.
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
        """Note that two integers compare so."""
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
        """Note that a + less <= b."""
        old, other = self.integers.of(a), self.integers.of(b)
        highs = few((*(f.shifted(-less) for f in other.highs), *old.highs))
        lows = few((*(f.shifted(less) for f in old.lows), *other.lows))
        self.integers.note(
            a, SymbolicRange(old.lows, highs, self.lowered(old.span, other.point, less))
        )
        self.integers.note(
            b, SymbolicRange(lows, other.highs, self.raised(other.span, old.point, less))
        )
        self.prover.believe(apart(old, other, less))
        if old.span is not None and other.point is not None:
            return somewhere(old.span, other.point.minus(old.span.low).shifted(-less))
        if other.span is not None and old.point is not None:
            return somewhere(other.span, other.span.high.minus(old.point).shifted(-less))
        return None

    def lowered(
        self, span: SymbolicSpan | None, limit: Linear | None, less: int
    ) -> SymbolicSpan | None:
        """The range of a value where it is at least `less` below a limit."""
        if span is None or limit is None or not span.varies:
            return span
        high = self.prover.least(span.high, limit.shifted(-less))
        return replace(
            span, high=high, exact=span.dense, varies=self.integers.narrowed(span.varies)
        )

    def raised(
        self, span: SymbolicSpan | None, limit: Linear | None, less: int
    ) -> SymbolicSpan | None:
        """The range of a value where it is at least `less` above a limit."""
        if span is None or limit is None or not span.varies:
            return span
        low = self.prover.algebra.max(span.low, limit.shifted(less))
        return replace(span, low=low, exact=span.dense, varies=self.integers.narrowed(span.varies))


def apart(a: SymbolicRange, b: SymbolicRange, less: int) -> tuple[Linear, ...]:
    """What the launch must be like where a + less <= b."""
    return few(high.minus(low).shifted(-less) for low in a.lows for high in b.highs)


def _yielded(op: Op) -> tuple[Value, Value] | None:
    """What the arms of a branch with one result yield, if both do."""
    ends = [region.terminator for region in op.regions]
    if len(op.results) != 1 or any(not end.is_a(YIELD) for end in ends):
        return None
    (first,), (second,) = (end.operands for end in ends)
    return first, second


_LOGIC = {ANDI: "and", ORI: "or", NOTI: "not"}


# -------------------------------------------------------------------------------------------------
# Walks every check of a function with the symbolic ranges of its operands, for `check_placement`.
#
# One walk in program order. A value's facts hold wherever it is used (`integers`); in a branch on
# a comparison they are sharpened by what the comparison says (`conditions`). How surely a check
# runs is told by its `Path`.


@dataclass(frozen=True, slots=True)
class Checked:
    """One check, with what is known where it stands."""

    op: Op
    index: SymbolicRange
    extent: SymbolicRange
    path: Path


Settle: TypeAlias = Callable[[Checked], bool]
"""Decides where a check goes; says whether it never fails in a launch that was not refused."""


def walk_checks(func: Func, prover: Prover, settle: Settle) -> None:
    """Have all checks of a function settled, in order; what never fails is known from there on."""
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
        """All ops of a block; facts that only hold to its end are dropped there."""
        with self.integers.scope():
            for op in block.ops:
                self.op(op, path)
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
            below = few((*(f.shifted(-1) for f in extent.highs), *index.highs))
            self.integers.note(
                op.operands[0], replace(index, lows=few((*index.lows, ZERO)), highs=below)
            )

    # --- control ---------------------------------------------------------------------------------

    def leave(self, end: Op) -> None:
        target = self.nesting.target.get(end)
        if target is not None and end.is_a(YIELD, LEAVE):
            values = [self.integers.of(v) if is_index(v) else None for v in end.operands]
            self.passed.setdefault(target, []).append([v or ANYTHING for v in values])

    def join(self, op: Op) -> None:
        """Results of a branch or a scope: one of what was passed on."""
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
        """Where one arm of a branch never comes back, the rest runs in the other case alone."""
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
            self.prover.believe(apart(lower, upper, 1))
            self.block(op.regions[0], inner)

    def entered(self, path: Path, lower: SymbolicRange, upper: SymbolicRange) -> Path:
        """The path into a loop that runs if its bounds let it."""
        if any(self.prover.holds(b.minus(a).shifted(-1)) for a in lower.highs for b in upper.lows):
            return path
        a, b = lower.span, upper.span
        if a is None or b is None or not (a.exact and b.exact and a.apart(b)):
            return path.unsure()
        runs = condition(b.high.minus(a.low).shifted(-1))
        return path.under(
            Limit((runs,), a.needs | b.needs, a.varies | b.varies), self.integers.causes
        )

    def forward(self, path: Path, step: SymbolicRange) -> Path:
        """The path into a loop that runs only if its step is positive."""
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
        """The variable runs from the lower bound to just below the upper one."""
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
        """The range of a variable that does not take every number."""
        by = step.point
        if by == ONE:
            return span
        if by is not None and lower.dense and lower.high.minus(lower.low) == by.shifted(-1):
            return span  # blocks start next to each other, and step over all of them
        start = lower.point
        if by is None or start is None or upper.point is None or not self.prover.holds(by):
            return replace(span, exact=False, dense=False)
        return replace(span, high=self.reached(start, span.high, by), dense=False)

    def reached(self, start: Linear, end: Linear, by: Linear) -> Linear:
        """The last of the steps from a start that is not behind an end."""
        rounds = self.prover.algebra.floordiv(end.minus(start), by)
        return start.plus(self.prover.algebra.mul(rounds, by))

    def last(
        self, lower: SymbolicRange, upper: SymbolicRange, step: SymbolicRange
    ) -> Iterator[Linear]:
        """The greatest number that a variable takes, which steps over some."""
        start, end, by = lower.point, upper.point, step.point
        if start is None or end is None or by is None or by == ONE or not self.prover.holds(by):
            return
        yield self.reached(start, end.shifted(-1), by)


ANYTHING = SymbolicRange((), ())
"""Stands for what is no integer."""


Enter: TypeAlias = Callable[[_CheckWalk, Op, Path], None]
_REGIONS: dict[str, Enter] = {
    "if": _CheckWalk.branch, "scope": _CheckWalk.scoped, "loop": _CheckWalk.loop,
    "for": _CheckWalk.for_loop,
}  # fmt: skip
