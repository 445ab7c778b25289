"""Comparisons that are decided, and selections that need no selecting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...analysis.ranges import Interval
from ...base.dtypes import bool_
from ...ir.attrs import Predicate
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule

SURE: dict[Predicate, Callable[[Interval, Interval], bool]] = {
    Predicate.LT: lambda a, b: a.high < b.low,
    Predicate.LE: lambda a, b: a.high <= b.low,
    Predicate.GT: lambda a, b: a.low > b.high,
    Predicate.GE: lambda a, b: a.low >= b.high,
    Predicate.EQ: lambda a, b: a.low == a.high == b.low == b.high,
    Predicate.NE: lambda a, b: a.high < b.low or a.low > b.high,
}
"""When a predicate surely holds, from the intervals of both sides."""

OPPOSITE: dict[Predicate, Predicate] = {
    Predicate.LT: Predicate.GE, Predicate.GE: Predicate.LT,
    Predicate.LE: Predicate.GT, Predicate.GT: Predicate.LE,
    Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
}  # fmt: skip

REFLEXIVE = (Predicate.EQ, Predicate.LE, Predicate.GE)


def decided(facts: Facts, op: Op) -> bool | None:
    """What a comparison of integers surely gives, or None."""
    lhs, rhs = op.operands
    predicate: Predicate = op.attrs["predicate"]
    if lhs is rhs:
        return predicate in REFLEXIVE
    a, b = facts.ranges.of(lhs), facts.ranges.of(rhs)
    if SURE[predicate](a, b):
        return True
    return False if SURE[OPPOSITE[predicate]](a, b) else None


def _cmpi(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    answer = decided(facts, op)
    return None if answer is None else (r.constant(answer, bool_, op.result.tile.shape),)


def _select(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    cond, a, b = op.operands
    chosen = facts.known.get(cond)
    if chosen is not None:
        return r.many((a if chosen else b,))
    if a is b:
        return r.many((a,))
    if facts.is_number(a, True) and facts.is_number(b, False):
        return r.many((cond,))
    if facts.is_number(a, False) and facts.is_number(b, True):
        return (r.emit("noti", r.get(cond)),)
    return None


RULES: dict[str, Rule] = {"cmpi": _cmpi, "select": _select}
