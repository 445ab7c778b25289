"""Places each bounds check of a function: proved, evaluated at launch, or left in the kernel.

The first stage that decides wins:

1. Proved: bounds that hold in every launch put the index inside, for all blocks and rounds.
2. Proved for launches whose numbers of threads do not wrap, which the host sees to: asked for only
   where it decides, and only of the grid of a SIMT kernel.
3. At launch: the access surely runs in some block, and the ends of its index are numbers that the
   launch knows and that occur. The host compares them once; the launch is refused if and only if
   a block would have failed (or if index arithmetic that the bounds rest on would wrap).
4. Left in the kernel, for `place_checks` to move before the loop where it can.

Proofs rest on nothing but what every launch checks first, so they hold whatever the data is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir.attrs import Predicate
from ...ir.core import Func, Op, Placement
from ...ir.launch_expr import COMPARISONS, Expr, LaunchCheck, LaunchFacts, evaluate, leaves, show
from .linear import PLAIN, Linear, condition
from .placement_report import checked_place, named
from .proofs import Prover
from .symbolic import Checked, Path, walk_checks
from .symbolic_range import SymbolicRange, SymbolicSpan


@dataclass(frozen=True, slots=True)
class Decision:
    """Where one check goes, and why; `launch` is what the host checks in its place."""

    op: Op
    placement: Placement
    reason: str
    advice: str = ""
    launch: tuple[LaunchCheck, ...] = ()


MOST_ASKED = 8
"""Conditions on the grid that are tried one by one."""

NOTHING = LaunchFacts({}, {}, ())
PADDED = "make the view with padding=..., the value of elements outside the tensor"
"""How to do without a check of row numbers, or of the element that a tile starts at."""

OUTSIDE = (Placement.PROVED, Placement.AT_LAUNCH)
"""Where checks are that the kernel does not make."""


def decide(func: Func) -> list[Decision]:
    """The decision for each check of a function, in order."""
    decisions = _decided(func, _prover(func))
    if func.signature.block is None or _settled(decisions) == len(decisions):
        return decisions
    asked = _worth_asking(func, _settled(decisions))
    if not asked:
        return decisions
    again = _decided(func, _prover(func, asked))
    return [_rests_on(a, b, asked) for a, b in zip(decisions, again, strict=True)]


def _prover(func: Func, asked: Sequence[Linear] = ()) -> Prover:
    prover = Prover(func.signature, func.launch_checks)
    prover.facts += tuple(asked)
    return prover


def _decided(func: Func, prover: Prover) -> list[Decision]:
    decisions: list[Decision] = []

    def settle(check: Checked) -> bool:
        decisions.append(_Stages(prover, func, check).decide())
        return decisions[-1].placement in OUTSIDE

    walk_checks(func, prover, settle)
    return decisions


def _settled(decisions: Sequence[Decision]) -> int:
    return sum(d.placement in OUTSIDE for d in decisions)


def _worth_asking(func: Func, before: int) -> list[Linear]:
    """The conditions on the grid that let more checks be proved: none that could be left out."""
    prover = _prover(func)
    asked: list[Linear] = []
    prover.asked = asked
    best = _settled(_decided(func, prover))
    if best == before or len(asked) > MOST_ASKED:
        return []
    for form in tuple(asked):
        rest = [other for other in asked if other != form]
        if _settled(_decided(func, _prover(func, rest))) == best:
            asked = rest
    return asked


def _rests_on(alone: Decision, given: Decision, asked: Sequence[Linear]) -> Decision:
    """A decision; one that needs them rests on conditions on the grid."""
    if alone.placement in OUTSIDE or given.placement not in OUTSIDE:
        return alone
    message = f"{named(*checked_place(alone.op))}, whose index wraps around"
    checks = [
        LaunchCheck(condition(form), message, alone.op.span, of_blocks=True) for form in asked
    ]
    reason = f"{given.reason}; given {' and '.join(map(shown, checks))}"
    return replace(
        given, placement=Placement.AT_LAUNCH, reason=reason, launch=(*checks, *given.launch)
    )


class _Stages:
    """The stages for one check."""

    def __init__(self, prover: Prover, func: Func, check: Checked) -> None:
        self.prover = prover
        self.func = func
        self.check = check
        self.tensor, self.axis = checked_place(check.op)
        self.named = named(self.tensor, self.axis)
        self.shown: dict[Linear, Expr] = {}
        """How conditions are said of which only a number would be left."""

    def decide(self) -> Decision:
        index, count = self.check.index, self.check.extent.point
        if count is None:
            return self.stays(
                f"the number of tiles of `{self.tensor}` is known only in the kernel",
                "pass the tensor as a parameter instead of a pointer",
            )
        if (bound := self.inside(index, count)) is not None:
            return Decision(self.check.op, Placement.PROVED, self.proof(index, bound, count))
        if not self.check.path.sure:
            return self.stays(
                "it runs under a condition that is known only in the kernel",
                f"move the access out of the branch, or {self.kept_below(count)}",
            )
        if self.inside(index, count, (count.shifted(-1),)) is not None:
            return self.at_launch([count.shifted(-1)])
        return self.by_span(index.span, count)

    # --- stage 1 ---------------------------------------------------------------------------------

    def inside(
        self, index: SymbolicRange, count: Linear, given: Sequence[Linear] = ()
    ) -> Linear | None:
        """An upper bound of an index that surely lies inside; None where that is not sure."""
        holds = self.prover.holds
        if not any(holds(low, given) for low in index.lows):
            return None
        return next(
            (high for high in index.highs if holds(count.minus(high).shifted(-1), given)), None
        )

    def proof(self, index: SymbolicRange, bound: Linear, count: Linear) -> str:
        limit = show(count.expr())
        if index.point is not None and index.point.number is not None:
            text = f"{index.point.number} < {limit}"
        else:
            text = f"index <= {show(bound.expr())} < {limit}"
        return text + self.given()

    def given(self) -> str:
        """The conditions that let the extent be written as another."""
        leaf: Expr = ("extent", self.tensor, self.axis)
        if self.axis is None:
            leaf = ("length", self.tensor)
        believed = [c.expr for c in self.func.launch_checks if leaf in leaves(c.expr)]
        return f", given {' and '.join(map(show, believed))}" if believed else ""

    # --- stage 3 ---------------------------------------------------------------------------------

    def by_span(self, span: SymbolicSpan | None, count: Linear) -> Decision:
        if span is None:
            return self.stays(
                "its index comes from data, or from a value that a loop carries",
                self.guarded(count)
                or f"count with `for i in range({show(count.expr())})`, or clamp the index:"
                f" min(max(i, 0), {show(count.shifted(-1).expr())})",
            )
        if not span.exact or span.varies & self.check.path.restricted:
            return self.stays(
                f"its index is at most {show(span.high.expr())}, which may never be reached",
                self.guarded(count) or f"clamp it: min(i, {show(count.shifted(-1).expr())})",
            )
        goals = [span.low, count.minus(span.high).shifted(-1)]
        for goal, shown_as in zip(goals, _sides(span, count), strict=True):
            if not goal.terms:  # it never holds, or always
                self.shown[goal] = shown_as
        return self.at_launch([g for g in goals if not self.prover.holds(g)], span)

    def at_launch(self, goals: Sequence[Linear], span: SymbolicSpan | None = None) -> Decision:
        path, needs = self.check.path, span.needs if span is not None else frozenset[Linear]()
        fits = f"{self.named}, whose index wraps around"
        checks = [
            # Guards may rest on these: they are asked for in any case.
            *self.conditions(_ordered(path.needs), Path(), fits),
            *self.conditions(_ordered(needs), path, fits),
            *self.conditions(goals, path, self.named),
        ]
        reason = " and ".join(map(shown, checks))
        return Decision(self.check.op, Placement.AT_LAUNCH, reason, launch=tuple(checks))

    def conditions(
        self, goals: Sequence[Linear], path: Path, message: str
    ) -> Iterator[LaunchCheck]:
        for goal in goals:
            where = tuple(guard for guard in path.guards if self.matters(guard, goal))
            expr = self.shown.get(goal) or condition(goal)
            yield LaunchCheck(expr, message, self.check.op.span, where, of_blocks=True)

    def matters(self, guard: Expr, goal: Linear) -> bool:
        """Whether a goal may fail where a guard does not hold."""
        return not self.prover.always(goal, tuple(self.prover.forms(negated(guard))))

    # --- stage 4 ---------------------------------------------------------------------------------

    def stays(self, reason: str, advice: str) -> Decision:
        if self.check.op.attrs.get("elements"):
            advice = PADDED
        return Decision(self.check.op, Placement.IN_PLACE, reason, advice)

    def guarded(self, count: Linear) -> str:
        """How to do without a check of a thread's index, which is not to be brought inside."""
        below = f"compare it first: if 0 <= i and i < {show(count.expr())}"
        return below if self.axis is None else ""

    def kept_below(self, count: Linear) -> str:
        return self.guarded(count) or f"keep its index below {show(count.expr())} by min(...)"


def _sides(span: SymbolicSpan, count: Linear) -> tuple[Expr, Expr]:
    """That an index is not below 0, and that it is below a count."""
    return ("le", ("const", 0), span.low.expr()), ("lt", span.high.expr(), count.expr())


def constant_bound(check: LaunchCheck) -> tuple[str, str]:
    """What is expected of an index that is known while compiling, and what it is."""
    word, low, high = check.expr
    if word == "le":  # 0 <= index
        return f"{show(low)} <= index", f"an index of {show(high)}"
    if word == "lt":
        return f"index < {show(high)}", f"an index of {show(low)}"
    return show(check.expr), "False"


def never_holds(check: LaunchCheck) -> bool:
    """Whether no launch can meet a condition, whatever its arguments are."""
    return _decided_now(check.expr) is False and all(map(_decided_now, check.where))


def _decided_now(expr: Expr) -> bool | None:
    """Whether a comparison holds, where its two sides differ by a number."""
    if expr[0] not in COMPARISONS:
        return None
    difference = PLAIN.of(("sub", expr[1], expr[2])).number
    if difference is None:
        return None
    return bool(evaluate((expr[0], ("const", difference), ("const", 0)), NOTHING))


def _ordered(forms: frozenset[Linear]) -> list[Linear]:
    return sorted(forms, key=lambda form: repr(form.expr()))


def shown(check: LaunchCheck) -> str:
    """What the host checks, in words."""
    where = " and ".join(map(show, check.where))
    return f"{show(check.expr)}, where {where}" if where else show(check.expr)


def negated(expr: Expr) -> Expr:
    """The opposite of a condition."""
    if expr[0] == "not":
        inner: Expr = expr[1]
        return inner
    if expr[0] in COMPARISONS:
        return (Predicate(expr[0]).negated.value, *expr[1:])
    return ("not", expr)
