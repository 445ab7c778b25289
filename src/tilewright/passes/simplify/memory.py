"""Asserts that hold, and accesses whose guard or mask is known."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import FLOATS
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _assert(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return () if facts.is_number(op.one("cond"), True) else None


def _without(r: Rewriter, op: Op, *names: str) -> Sequence[Value]:
    """The op again, without these optional operands."""
    given = [() if o.name in names else r.many(op.all(o.name)) for o in op.defn.operands]
    return r.op(op.name, *given, **op.attrs).results


def _load_slice(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    guard = op.maybe("guard")
    known = None if guard is None else facts.known.get(guard)
    if known is None:
        return None
    return _without(r, op, "guard") if known else (r.zero(op.result.type),)


def _load_view(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    guard = op.maybe("guard")
    known = None if guard is None else facts.known.get(guard)
    if known is None:
        return None
    if known:
        return _without(r, op, "guard")
    return (r.zero(op.result.type),) if _padded_with_zero(op) else None


def _padded_with_zero(op: Op) -> bool:
    view = op.one("view").view
    dtype = view.tensor.dtype
    plain = dtype.is_int or dtype.is_bool or dtype in FLOATS
    return plain and (view.padding is None or repr(float(view.padding)) == "0.0")


def _write(mask: str) -> Rule:
    """A store: nothing where the mask is surely false, unmasked where it is surely true."""

    def rule(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        value = op.maybe(mask)
        known = None if value is None else facts.known.get(value)
        if known is None:
            return None
        return _without(r, op, mask) if known else ()

    return rule


def _unmasked(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """A read that surely is of every element."""
    mask = op.maybe("mask")
    if mask is None or not facts.is_number(mask, True):
        return None
    return _without(r, op, "mask", "padding")


RULES: dict[str, Rule] = {
    "assert": _assert,
    "load_view": _load_view, "store_view": _write("guard"), "atomic_red_view": _write("guard"),
    "load_ptr": _unmasked, "store_ptr": _write("mask"),
    "atomic_rmw": _unmasked, "atomic_cas": _unmasked,
    "load_slice": _load_slice, "store_slice": _write("guard"),
}  # fmt: skip
