"""Takes checks out of a kernel that are proved, or that the host can make once for all blocks.

Goals: a kernel whose accesses follow from its loops and its grid has no check in it; what it must
be launched with is known before it runs. `check_placement` decides; this only carries it out. To be
run first, so that every access of the source is seen, and noted as a bounds check.

Non-goals: moving what is left (`place_checks`), conditions that the user wrote.

Rules:

1. A check that is proved, or made at launch, is true.
       for %i in 0..(num_tiles %v) {%ok = check %i, (num_tiles %v)}  ->  %ok = constant True
2. A check equal to one before it is the one before it: see `cse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..analysis.bounds.check_placement import OUTSIDE, Decision, decide
from ..analysis.bounds.placement_report import bounded, checked_place, worse
from ..base.dtypes import bool_
from ..ir.core import BoundsCheck, Func, Op, Value
from ..ir.launch_expr import LaunchCheck
from ..ir.rewrite import Rewriter, rewrite


def prove_checks(func: Func) -> Func:
    """Apply the rules above."""
    decisions = decide(func)
    gone = {d.op for d in decisions if d.placement in OUTSIDE}

    def visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
        return (r.constant(True, bool_),) if op in gone else None

    return replace(
        rewrite(func, visit),
        launch_checks=_distinct(func.launch_checks, decisions),
        obligations=(*func.obligations, *_obligations(decisions), *bounded(func)),
    )


def _distinct(known: Sequence[LaunchCheck], found: Sequence[Decision]) -> tuple[LaunchCheck, ...]:
    """Each condition once: where it was asked for first."""
    checks = {(check.expr, check.where): check for check in known}
    for check in (check for decision in found for check in decision.launch):
        checks.setdefault((check.expr, check.where), check)
    return tuple(checks.values())


def _obligations(decisions: Sequence[Decision]) -> tuple[BoundsCheck, ...]:
    """One per access and axis; a loop that was unrolled has several checks for each."""
    found: dict[tuple[object, ...], BoundsCheck] = {}
    for d in decisions:
        new = BoundsCheck(d.op.span, *checked_place(d.op), d.placement, d.reason, d.advice)
        found[new.key] = worse(found.get(new.key), new)
    return tuple(found.values())
