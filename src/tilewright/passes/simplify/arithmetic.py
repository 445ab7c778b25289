"""Identities of + - * / min max negation: exact for every operand, -0.0 and NaN included."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...analysis.fold import Number
from ...ir.attrs import Rounding
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _neutral(number: Number, *, either: bool = False) -> Rule:
    """x op number = x; also number op x where `either`."""

    def rule(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        lhs, rhs = op.operands
        if facts.is_number(rhs, number):
            return r.many((lhs,))
        if either and facts.is_number(lhs, number):
            return r.many((rhs,))
        return None

    return rule


def _same_gives_itself(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    return r.many((lhs,)) if lhs is rhs else None


def _same_gives_zero(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    return (r.zero(op.result.type),) if lhs is rhs else None


def _zero_wins(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """0 op x = x op 0 = 0; for integers only."""
    if any(facts.is_number(v, 0) for v in op.operands):
        return (r.zero(op.result.type),)
    return None


def _by_one_leaves_zero(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return (r.zero(op.result.type),) if facts.is_number(op.one("rhs"), 1) else None


def _twice(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """op(op(x)) = x."""
    inner = facts.made_by(op.one("arg"), op.name)
    return None if inner is None else r.many((inner.one("arg"),))


def _first_of(*rules: Rule) -> Rule:
    def rule(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        return next((found for one in rules if (found := one(facts, r, op)) is not None), None)

    return rule


def _exactly(rule: Rule, allowed: Callable[[Op], bool]) -> Rule:
    """A rule for floats, which may round otherwise or flush subnormals by attribute."""

    def guarded(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        return rule(facts, r, op) if allowed(op) and not op.attrs["ftz"] else None

    return guarded


def _nearest(op: Op) -> bool:
    # Rounded down, 0.0 - 0.0 is -0.0: another mode is not exact.
    return bool(op.attrs["rounding"] is Rounding.NEAREST_EVEN)


def _any_rounding(op: Op) -> bool:
    return True


RULES: dict[str, Rule] = {
    "addi": _neutral(0, either=True),
    "subi": _first_of(_neutral(0), _same_gives_zero),
    "muli": _first_of(_neutral(1, either=True), _zero_wins),
    "divi": _neutral(1),
    "remi": _by_one_leaves_zero,
    "maxi": _same_gives_itself,
    "mini": _same_gives_itself,
    "negi": _twice,
    # x + 0.0 is not x for x = -0.0, and x * 0.0 is not 0.0 for NaN: these are not here.
    "addf": _exactly(_neutral(-0.0, either=True), _nearest),
    "subf": _exactly(_neutral(0.0), _nearest),
    "mulf": _exactly(_neutral(1.0, either=True), _any_rounding),
    "divf": _exactly(_neutral(1.0), _any_rounding),
    "negf": _twice,
}
