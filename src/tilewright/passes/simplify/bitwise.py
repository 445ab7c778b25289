"""Identities of and, or, xor, not and shifts, on integers and booleans."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.fold import Number
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _zeros(op: Op) -> Number:
    return False if op.result.tile.dtype.is_bool else 0


def _ones(op: Op) -> Number:
    """All bits set."""
    dtype = op.result.tile.dtype
    if dtype.is_bool:
        return True
    return -1 if dtype.is_signed else (1 << dtype.bits) - 1


def _other_than(facts: Facts, op: Op, number: Number) -> Value | None:
    """The operand beside one that is surely this number."""
    lhs, rhs = op.operands
    if facts.is_number(rhs, number):
        return lhs
    return rhs if facts.is_number(lhs, number) else None


def _andi(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _lattice(facts, r, op, neutral=_ones(op), winner=_zeros(op))


def _ori(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _lattice(facts, r, op, neutral=_zeros(op), winner=_ones(op))


def _lattice(
    facts: Facts, r: Rewriter, op: Op, neutral: Number, winner: Number
) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    if lhs is rhs:
        return r.many((lhs,))
    if (other := _other_than(facts, op, neutral)) is not None:
        return r.many((other,))
    if _other_than(facts, op, winner) is not None:
        kind = op.result.tile
        return (r.constant(winner, kind.dtype, kind.shape),)
    return None


def _xori(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    if lhs is rhs:
        return (r.zero(op.result.type),)
    if (other := _other_than(facts, op, _zeros(op))) is not None:
        return r.many((other,))
    if (other := _other_than(facts, op, _ones(op))) is not None:
        return (r.emit("noti", r.get(other)),)
    return None


def _noti(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    inner = facts.made_by(op.one("arg"), "noti")
    return None if inner is None else r.many((inner.one("arg"),))


def _shift(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return r.many((op.one("lhs"),)) if facts.is_number(op.one("rhs"), 0) else None


RULES: dict[str, Rule] = {
    "andi": _andi, "ori": _ori, "xori": _xori, "noti": _noti, "shli": _shift, "shri": _shift,
}  # fmt: skip
