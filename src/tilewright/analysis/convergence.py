"""Where threads are to meet, but some may not come: barriers and warp ops in divergent code.

A thread that has returned is not waited for. So only conditions and loops count here, on which
threads part and then go on: in those that hold an op, and in the rounds of loops around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.core import Func, Op, Value
from ..ir.opdef import Effect
from .structure import Structure, structure
from .uniformity import Over, Uniformity, uniformity


@dataclass(frozen=True, slots=True)
class Parting:
    """That threads part before they meet at `meeting`."""

    meeting: Op
    over: Over
    """Whose threads are to meet: those of a block, or of a warp."""
    at: Op
    """The branch, loop or scope around the meeting on which they part."""
    condition: Value
    """What differs between them."""
    source: Op | None
    """What first made it differ."""
    made: Op | None
    """The op that computes the condition."""


def partings(func: Func) -> Iterator[Parting]:
    """All ops at which threads meet that some of them may not reach, in order."""
    meetings = [op for op in func.walk() if op.defn.effects & Effect.SYNC and not _is_masked(op)]
    if not meetings:
        return
    nesting = structure(func)
    facts = {over: uniformity(func, over) for over in {met_over(op) for op in meetings}}
    for op in meetings:
        over = met_over(op)
        found = _parting(op, over, facts[over], nesting)
        if found is not None:
            yield found


def met_over(op: Op) -> Over:
    """Whose threads meet at an op."""
    return Over.BLOCK if op.name == "sync_threads" else Over.WARP


def _is_masked(op: Op) -> bool:
    """Whether the author names the lanes that get there."""
    return "mask" in [spec.name for spec in op.defn.operands] and op.maybe("mask") is not None


def _parting(op: Op, over: Over, facts: Uniformity, nesting: Structure) -> Parting | None:
    for outer in nesting.ancestors(op):
        condition = _condition(outer, facts)
        if condition is not None:
            source, made = facts.source(condition), nesting.definer(condition)
            return Parting(op, over, outer, condition, source, made)
    return None


def _condition(outer: Op, facts: Uniformity) -> Value | None:
    """What lets only some threads be inside of an op; None if all of them are."""
    if outer.name == "if":
        return outer.one("cond") if facts.varies(outer.one("cond")) else None
    return facts.uneven.get(outer)
