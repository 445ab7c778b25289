"""Walks every check of a function with the symbolic ranges of its operands, for `check_placement`.

One walk in program order. A value's facts hold wherever it is used (`integers`); in a branch on a
comparison they are sharpened by what the comparison says (`conditions`). How surely a check runs is
told by its `Path`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...ir.core import Block, Func, Op
from ..structure import Structure, structure
from .conditions import Conditions, apart
from .integers import Integers, is_index
from .linear import ONE, ZERO, Linear, condition
from .paths import Limit, Path, at_least_zero
from .placement_report import CHECKS
from .proofs import Prover
from .symbolic_range import Span, SymbolicRange, few
from .transfer import union


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
    _Walk(func, prover, settle).block(func.body, Path())


class _Walk:
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
        if op.name in CHECKS:
            self.check(op, path)
        elif (enter := _REGIONS.get(op.name)) is not None:
            enter(self, op, path)
        elif op.defn.terminator:
            self.leave(op)
        elif op.name == "tile_index":
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
        if target is not None and end.name in ("yield", "leave"):
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
        if op.name != "if":
            return path.unsure()
        back = [region for region in op.regions if region.terminator.name == "yield"]
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
        if any(end.name == "break" for end in exits) or any(True for _ in self.nesting.leaves(op)):
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

    def stepped(self, span: Span, lower: Span, upper: Span, step: SymbolicRange) -> Span:
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


Enter: TypeAlias = Callable[[_Walk, Op, Path], None]
_REGIONS: dict[str, Enter] = {
    "if": _Walk.branch, "scope": _Walk.scoped, "loop": _Walk.loop, "for": _Walk.for_loop,
}  # fmt: skip
