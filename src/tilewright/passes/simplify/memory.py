"""Checks of threads and asserts that hold, and accesses whose guard or mask is known."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.guards import bounds_of
from ...base.dtypes import FLOATS, bool_
from ...ir.core import Op, Value
from ...ir.rewrite import Rewriter
from .facts import Facts, Rule


def _check_index(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    index, length = op.one("index"), op.one("length")
    low, high = facts.ranges.of(index)
    proved = high < facts.ranges.of(length).low or _is_below_length(facts, op)
    return (r.constant(True, bool_),) if low >= 0 and proved else None


def _is_below_length(facts: Facts, op: Op) -> bool:
    """Whether the index was compared with the length, or one that is promised to be no more."""
    index, length = op.one("index"), op.one("length")
    return any(
        bound is length or _is_promised(facts, bound, length)
        for bound in bounds_of(facts.nesting, op, index)
    )


def _is_promised(facts: Facts, less: Value, more: Value) -> bool:
    """Whether the launch promises that one slice is no longer than another."""
    small, large = (facts.made_by(value, "length") for value in (less, more))
    if small is None or large is None:
        return False
    a, b = (("length", op.one("slice").tensor.param) for op in (small, large))
    forms = (("le", a, b), ("ge", b, a), ("eq", a, b), ("eq", b, a), ("lt", a, b), ("gt", b, a))
    return any(form in facts.promised for form in forms)


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
    "check_index": _check_index, "load_slice": _load_slice, "store_slice": _write("guard"),
}  # fmt: skip
