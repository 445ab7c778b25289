"""Unmasked loop iterations: those in which all threads of the block are in bounds.

The threads of a block that is one row are compared with a number by two scalars, as those of a
group are; what is known of all of them then needs no test in any group. The numbers they compare
follow from where the block stands, so they are written before any group runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.attrs import Place
from ....ir.core import Op, Value
from ..functions.text import Value as Vec
from .live_across_barriers import REMATERIALIZED
from .machine import Lanes
from .uniform_fast_path import check_tests, row_checks, wholly_inside


def all_inside(front: Lanes, ops: Sequence[Op], span: int) -> tuple[Vec, dict[Value, bool]] | None:
    """Whether all threads of a block take the first ways of the branches in a phase, and what is
    known then; None if there is nothing to ask.

    `front` is the block's first group, with what is the same in all threads of the block as
    scalars; `span` is how many threads follow each other from there on.
    """
    tests: list[Vec] = []
    known: dict[Value, bool] = {}
    for op in ops:
        if op.name == "if" and front.facts.varies(op.one("cond")):
            checks = [held for held in op.regions[0].ops if held.name == "check_index"]
            for value in (op.one("cond"), *(v for check in checks for v in check.operands)):
                _follows(front, value)
            inside = wholly_inside(front, op, span)
            if inside is not None:
                tests.append(inside[0])
                known |= inside[1]
        elif op.name == "check_index" and all(_follows(front, v) for v in op.operands):
            for check in row_checks(front, [op]):
                tests += check_tests(front, check, span)
                known[check.result] = True
    return (front.emitter.any_of(tests), known) if tests else None


def _follows(front: Lanes, value: Value) -> bool:
    """Write a number that follows from where the block stands; gives whether it does."""
    if value in front.names or value in front.emitter.tensors:
        return True
    made = front.nesting.definer(value)
    if made is None or made.name not in REMATERIALIZED or _starts_again(made):
        return False
    if not all(_follows(front, operand) for operand in made.operands):
        return False
    front.table[made.name](front, made)
    return True


def _starts_again(op: Op) -> bool:
    """Whether an op counts the threads of each group from zero."""
    return op.name == "place" and op.attrs["what"] is Place.LANE
