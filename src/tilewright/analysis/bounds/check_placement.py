"""Decide the placement of each bounds check, and report it: proved, at launch, or in the kernel.

The first stage that decides wins:

1. Proved: bounds that hold in every launch put the index in bounds, for all blocks and iterations.
2. Proved under conditions on the grid: thread numbers of a SIMT kernel do not wrap. The host checks
   these conditions; they are requested only if they decide a check.
3. At launch: the access runs in some block, and the ends of its index are launch values that occur.
   The host compares them once. It rejects the launch if and only if a block would have failed (or
   if index arithmetic that the bounds rest on would wrap).
4. Left in the kernel, where `place_checks` hoists it out of loops if it can.

Proofs use only conditions that every launch checks first, so they hold for any data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir.attrs import Predicate
from ...ir.core import BoundsCheck, Func, Op, Placement
from ...ir.launch_expr import COMPARISONS, Expr, LaunchCheck, LaunchFacts, evaluate, leaves, show
from ...ir.ops.control import ASSERT, IF
from ...ir.ops.layout import CONSTANT
from ...ir.ops.memory import CHECK, LOAD_VIEW, STORE_VIEW
from ...ir.ops.simt import CHECK_INDEX, CHECKS
from ..dataflow import Constants
from .proofs import PLAIN, Linear, Prover, condition
from .symbolic import Checked, Path, walk_checks
from .symbolic_range import SymbolicRange, SymbolicSpan

# --- decide the placement of each bounds check -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """The placement of one check, and the reason; `launch` is the check on the host instead."""

    op: Op
    placement: Placement
    reason: str
    advice: str = ""
    launch: tuple[LaunchCheck, ...] = ()


MOST_ASKED = 8
"""The largest number of conditions on the grid that are minimized one by one."""

NOTHING = LaunchFacts({}, {}, ())
PADDED = "make the view with padding=..., the value of elements outside the tensor"
"""The advice for checks of row numbers, or of the element at which a tile starts."""

OUTSIDE = (Placement.PROVED, Placement.AT_LAUNCH)
"""Placements that leave no check in the kernel."""


def decide(func: Func) -> list[Decision]:
    """Return the decision for each check of a function, in order."""
    decisions = _decided(func, _prover(func))
    # Only SIMT kernels have grids whose thread numbers may wrap, so only they have anything to gain
    # from conditions on the grid.
    if func.signature.block is None or _settled(decisions) == len(decisions):
        return decisions
    asked = _worth_asking(func, _settled(decisions))
    if not asked:
        return decisions
    # Decide a second time with the conditions as facts; a check that they decide becomes a check at
    # launch which includes them.
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
    """Return the conditions on the grid, as few as possible, that let more checks be proved."""
    prover = _prover(func)
    asked: list[Linear] = []
    prover.asked = asked
    # First collect every condition that some transfer function could use (`Prover.granted`), then
    # drop each one without which as many checks are decided: a launch must not be rejected for
    # nothing.
    best = _settled(_decided(func, prover))
    if best == before or len(asked) > MOST_ASKED:
        return []
    for form in tuple(asked):
        rest = [other for other in asked if other != form]
        if _settled(_decided(func, _prover(func, rest))) == best:
            asked = rest
    return asked


def _rests_on(alone: Decision, given: Decision, asked: Sequence[Linear]) -> Decision:
    """Return a decision that lists the conditions on the grid which its proof needs."""
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
        """The texts of conditions that folding would reduce to a number."""

    def decide(self) -> Decision:
        index, count = self.check.index, self.check.extent.point
        if count is None:
            return self.stays(
                f"the number of tiles of `{self.tensor}` is known only in the kernel",
                "pass the tensor as a parameter instead of a pointer",
            )
        # Stage 1: the bounds hold wherever the check runs, so it does not matter whether it runs.
        if (bound := self.inside(index, count)) is not None:
            return Decision(self.check.op, Placement.PROVED, self.proof(index, bound, count))
        # A check on the host must fail exactly if a block would fail; that needs a path that is
        # taken.
        if not self.check.path.sure:
            return self.stays(
                "it runs under a condition that is known only in the kernel",
                f"move the access out of the branch, or {self.kept_below(count)}",
            )
        # In bounds unless the tensor is empty: the condition for the launch is then `count > 0`
        # alone.
        if self.inside(index, count, (count.shifted(-1),)) is not None:
            return self.at_launch([count.shifted(-1)])
        return self.by_span(index.span, count)

    # --- stage 1 ---------------------------------------------------------------------------------

    def inside(
        self, index: SymbolicRange, count: Linear, given: Sequence[Linear] = ()
    ) -> Linear | None:
        """Return a bound that proves an index to be in bounds; None if there is no proof."""
        holds = self.prover.holds
        # 0 <= low and high <= count - 1, each for any one of the known bounds.
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
        """Return the conditions that let the extent be written as another."""
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
        # The ends of an inexact span, or of one that the path restricts, may not occur; to compare
        # them would reject launches that run without fault.
        if not span.exact or span.varies & self.check.path.restricted:
            return self.stays(
                f"its index is at most {show(span.high.expr())}, which may never be reached",
                self.guarded(count) or f"clamp it: min(i, {show(count.shifted(-1).expr())})",
            )
        # Both ends occur in some block, so these two comparisons are equivalent to the checks of
        # all blocks.
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
            # A guard is left out where the goal follows from its negation: the shorter condition is
            # easier to read and equivalent.
            where = tuple(guard for guard in path.guards if self.matters(guard, goal))
            expr = self.shown.get(goal) or condition(goal)
            yield LaunchCheck(expr, message, self.check.op.span, where, of_blocks=True)

    def matters(self, guard: Expr, goal: Linear) -> bool:
        """Return whether a goal may fail where a guard does not hold."""
        return not self.prover.always(goal, tuple(self.prover.forms(negated(guard))))

    # --- stage 4 ---------------------------------------------------------------------------------

    def stays(self, reason: str, advice: str) -> Decision:
        if self.check.op.attrs.get("elements"):
            advice = PADDED
        return Decision(self.check.op, Placement.IN_PLACE, reason, advice)

    def guarded(self, count: Linear) -> str:
        """Return the advice to guard the index of a slice by a comparison; empty for tiles."""
        below = f"compare it first: if 0 <= i and i < {show(count.expr())}"
        return below if self.axis is None else ""

    def kept_below(self, count: Linear) -> str:
        return self.guarded(count) or f"keep its index below {show(count.expr())} by min(...)"


def _sides(span: SymbolicSpan, count: Linear) -> tuple[Expr, Expr]:
    """Return the conditions `0 <= index` and `index < count`."""
    return ("le", ("const", 0), span.low.expr()), ("lt", span.high.expr(), count.expr())


def constant_bound(check: LaunchCheck) -> tuple[str, str]:
    """Return the expected range of a constant index, and the index, as texts."""
    word, low, high = check.expr
    if word == "le":  # 0 <= index
        return f"{show(low)} <= index", f"an index of {show(high)}"
    if word == "lt":
        return f"index < {show(high)}", f"an index of {show(low)}"
    return show(check.expr), "False"


def never_holds(check: LaunchCheck) -> bool:
    """Return whether a condition is false for all arguments of a launch."""
    return _decided_now(check.expr) is False and all(map(_decided_now, check.where))


def _decided_now(expr: Expr) -> bool | None:
    """Return whether a comparison holds, where its two sides differ by a number."""
    if expr[0] not in COMPARISONS:
        return None
    difference = PLAIN.of(("sub", expr[1], expr[2])).number
    if difference is None:
        return None
    return bool(evaluate((expr[0], ("const", difference), ("const", 0)), NOTHING))


def _ordered(forms: frozenset[Linear]) -> list[Linear]:
    return sorted(forms, key=lambda form: repr(form.expr()))


def shown(check: LaunchCheck) -> str:
    """Return the text of a check on the host."""
    where = " and ".join(map(show, check.where))
    return f"{show(check.expr)}, where {where}" if where else show(check.expr)


def negated(expr: Expr) -> Expr:
    """Return the opposite of a condition."""
    if expr[0] == "not":
        inner: Expr = expr[1]
        return inner
    if expr[0] in COMPARISONS:
        return (Predicate(expr[0]).negated.value, *expr[1:])
    return ("not", expr)


# --- report the placement of each bounds check of a finished function --------------------------

RANK = {placement: number for number, placement in enumerate(Placement)}

SETTLED = "it is unreachable, or equal to an earlier check"
BOUNDED = "rows and elements outside of the tensor load as padding and are not stored"
FORCED = "all checks are forced"


def final_placements(func: Func) -> tuple[BoundsCheck, ...]:
    """Return the obligations of a function, placed where its checks are now."""
    # Passes after the placement may merge, hoist or remove checks; what remains in the IR decides.
    left: dict[tuple[object, ...], BoundsCheck] = {}
    for op in func.walk():
        if op.is_a(*CHECKS) or is_of_span(op):
            found = _of_check(op)
            left[found.key] = worse(left.get(found.key), found)
    placed = [_placed(o, left.pop(o.key, None)) for o in func.obligations]
    return (*placed, *left.values())


def bounded(func: Func) -> Iterator[BoundsCheck]:
    """Yield the checks of accesses through padded row views, which accept any index."""
    for op in func.walk():
        if not op.is_a(LOAD_VIEW, STORE_VIEW):
            continue
        view = op.one("view").view
        if op.maybe("guard") is not None:
            continue  # its index has its own checks
        if view.sparse is not None and view.tensor.param is not None:
            for axis in view.dim_map:
                yield BoundsCheck(op.span, view.tensor.param, axis, Placement.PROVED, BOUNDED)


def worse(old: BoundsCheck | None, new: BoundsCheck) -> BoundsCheck:
    """Return the more expensive one of two checks with the same key."""
    return new if old is None or RANK[old.placement] < RANK[new.placement] else old


def checked_place(op: Op) -> tuple[str, int | None]:
    """Return the tensor and the axis that a check is about; a slice has no axes."""
    if op.is_a(CHECK_INDEX):
        return op.attrs["slice"], None
    return op.attrs["tensor"], op.attrs["axis"]


def named(tensor: str, axis: int | None) -> str:
    """Return the text for the place that a check is about."""
    return f"`{tensor}`" if axis is None else f"axis {axis} of `{tensor}`"


def is_of_span(op: Op) -> bool:
    """Return whether an op checks that a span of tiles lies inside of an output."""
    return op.is_a(ASSERT) and bool(op.attrs["tensor"])


def _of_check(op: Op) -> BoundsCheck:
    placement = Placement.HOISTED if op.attrs.get("hoisted") else Placement.IN_PLACE
    return BoundsCheck(op.span, *checked_place(op), placement, FORCED)


def _placed(decided: BoundsCheck, left: BoundsCheck | None) -> BoundsCheck:
    if left is not None:
        return replace(decided, placement=left.placement)
    if decided.placement is Placement.IN_PLACE:
        # No check is left for it, although none was proved: a pass found it redundant.
        return replace(decided, placement=Placement.PROVED, reason=SETTLED, advice="")
    return decided


# -------------------------------------------------------------------------------------------------
# Hoisted checks.

SAFE = ("addi", "andi", "cmpi", "constant", "maxi", "mini", "ori", "select", "subi")
"""What computes their operands, and may be computed where the loop does not run."""


def is_guarded_check(op: Op, known: Constants) -> bool:
    """Return whether an op is a check that may fail under a condition alone.

    So `passes.bounds_checks.place_checks` leaves them: in a branch, whose other side is true.
    """
    if not op.is_a(IF) or len(op.results) != 1:
        return False
    *before, end = op.regions[0].ops
    made = before.pop() if before else None
    if made is None or list(made.results) != list(end.operands):
        return False
    *others, rest = op.regions[1].ops
    is_true = known.get(rest.operands[0]) is True and all(each.is_a(CONSTANT) for each in others)
    is_one = made.is_a(CHECK) or is_guarded_check(made, known)
    return is_true and is_one and all(each.name in SAFE for each in before)
