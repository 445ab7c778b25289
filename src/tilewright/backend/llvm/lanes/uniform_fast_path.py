"""Uniform fast path: finds when all lanes of a group take one branch, to emit it without masks.

Two scalars then say whether all lanes are inside, and whether the checks in there hold for all of
them; code for that case needs neither masks nor checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.dtypes import i32, int_range
from ....ir.attrs import Predicate
from ....ir.core import Op, Value
from ..functions.text import Value as Vec
from .machine import Lanes

ACCESSES = ("load_slice", "store_slice", "load_ptr", "store_ptr", "load_shared", "store_shared",
            "atomic_shared")  # fmt: skip
"""What is worth having twice."""
LAST = int_range(i32)[1]
TURNED = {
    Predicate.LT: Predicate.GT, Predicate.LE: Predicate.GE, Predicate.GT: Predicate.LT,
    Predicate.GE: Predicate.LE,
}  # fmt: skip
COMPARE: dict[Predicate, Callable[[Vec, Vec, Vec], Vec]] = {
    Predicate.LT: lambda first, last, limit: last < limit,
    Predicate.LE: lambda first, last, limit: limit >= last,
    Predicate.GT: lambda first, last, limit: (first > limit) & (last < LAST),
    Predicate.GE: lambda first, last, limit: (first >= limit) & (last < LAST),
}
"""Whether a comparison holds for all numbers of a row, which are 64-bit here and do not wrap."""


def wholly_inside(lanes: Lanes, op: Op, span: int) -> tuple[Vec, dict[Value, bool]] | None:
    """Whether all threads take the first way of an `if`, and what is known then; None if not asked.

    Rows have `span` threads: those of the group, or more. Nothing is asked where masks are needed
    anyway, or where they cost nothing.
    """
    region = op.regions[0]
    if lanes.live is not None or not any(o.name in ACCESSES for o in region.ops):
        return None
    tests = _tests(lanes, op.one("cond"), span)
    if tests is None:
        return None
    known = {op.one("cond"): True}
    for check in row_checks(lanes, region.ops):
        tests += check_tests(lanes, check, span)
        known[check.result] = True
    return lanes.emitter.any_of(tests), known


def check_tests(lanes: Lanes, check: Op, span: int) -> list[Vec]:
    """Scalars that all hold if a check of a row does for all its threads."""
    first, last = _ends(lanes, check.one("index"), span)
    return [first >= 0, last < lanes.scalar(check.one("length")).cast("sext", "i64")]


def _ends(lanes: Lanes, row: Value, span: int) -> tuple[Vec, Vec]:
    """The numbers of the first and of the last thread."""
    first = lanes.rows[row].cast("sext", "i64")
    return first, first + (span - 1)


def _is_row(lanes: Lanes, value: Value) -> bool:
    return value in lanes.rows and value not in lanes.gaps


def _tests(lanes: Lanes, cond: Value, span: int) -> list[Vec] | None:
    """Scalars that all hold if a condition holds in all lanes; None if there are none."""
    made = lanes.nesting.definer(cond)
    if cond not in lanes.facts.varying:
        return [lanes.scalar(cond)]
    if made is None or made.name not in ("andi", "cmpi"):
        return None
    if made.name == "cmpi":
        return _compared(lanes, made, span)
    parts = [_tests(lanes, v, span) for v in made.operands]
    return None if None in parts else [test for part in parts for test in part or []]


def _compared(lanes: Lanes, op: Op, span: int) -> list[Vec] | None:
    row, limit = op.operands
    predicate = Predicate(op.attrs["predicate"])
    if limit in lanes.rows:
        row, limit, predicate = limit, row, TURNED.get(predicate, predicate)
    if not _is_row(lanes, row) or limit in lanes.facts.varying or predicate not in COMPARE:
        return None
    first, last = _ends(lanes, row, span)
    return [COMPARE[predicate](first, last, lanes.scalar(limit).cast("sext", "i64"))]


def row_checks(lanes: Lanes, ops: Sequence[Op]) -> list[Op]:
    """Checks of rows that are known already, against lengths that are."""
    return [
        op for op in ops
        if op.name == "check_index" and _is_row(lanes, op.one("index"))
        and op.one("length") in lanes.names and op.one("length") not in lanes.facts.varying
    ]  # fmt: skip
