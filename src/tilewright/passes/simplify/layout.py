"""Rearrangements that change nothing, and chains of them that one op can do."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _same_shape(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Also of extract: the one part as large as the whole is the whole."""
    arg = op.one("arg")
    return r.many((arg,)) if arg.type == op.result.type else None


def _reshape(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _same_shape(facts, r, op) or _through(facts, r, op)


def _broadcast(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _same_shape(facts, r, op) or _through(facts, r, op)


def _through(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """A reshape of a reshape, or a broadcast of a broadcast, is one from the first shape."""
    inner = facts.made_by(op.one("arg"), op.name)
    if inner is None:
        return None
    return (r.emit(op.name, r.get(inner.one("arg")), shape=op.attrs["shape"]),)


def _permute(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    order: tuple[int, ...] = op.attrs["order"]
    if order == tuple(range(len(order))):
        return r.many((op.one("arg"),))
    inner = facts.made_by(op.one("arg"), "permute")
    if inner is None:
        return None
    first: tuple[int, ...] = inner.attrs["order"]
    return (r.emit("permute", r.get(inner.one("arg")), order=tuple(first[k] for k in order)),)


RULES: dict[str, Rule] = {
    "reshape": _reshape, "broadcast": _broadcast, "permute": _permute, "extract": _same_shape,
}  # fmt: skip
