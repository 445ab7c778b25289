"""Conversions that change nothing, and pairs of them that lead back."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import tf32
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _to_the_same(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    arg = op.one("arg")
    return r.many((arg,)) if arg.type == op.result.type else None


def _there_and_back(outward: str) -> Rule:
    """Narrowing what was widened from the same type gives the value before."""

    def rule(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        inner = facts.made_by(op.one("arg"), outward)
        if inner is None or inner.one("arg").type != op.result.type:
            return None
        return r.many((inner.one("arg"),))

    return rule


def _bitcast(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    inner = facts.made_by(op.one("arg"), "bitcast")
    # tf32 does not hold all of its bits.
    if inner is None or inner.attrs["to"] is tf32:
        return _to_the_same(facts, r, op)
    return (r.emit("bitcast", r.get(inner.one("arg")), to=op.attrs["to"]),)


RULES: dict[str, Rule] = {
    "ftof": _to_the_same,
    "trunci": _there_and_back("exti"),
    "bitcast": _bitcast,
    "pack": _there_and_back("unpack"),
    "unpack": _there_and_back("pack"),
}
