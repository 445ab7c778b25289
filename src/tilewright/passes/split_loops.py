"""Splits a loop where a branch on its induction variable changes sides, so that neither half asks.

Goals: the loop of a causal kernel, whose last rounds need a mask and whose others do not, becomes
two loops without the question. Each round runs once, in the same order, with the same answer.

Non-goals: steps other than the constant 1, comparisons with something that changes in the loop,
equality, loops with a `break` (the second half would not know of it), peeling, large bodies
(beyond MAX_OPS ops, regions included), branches with nothing in them, loops in which threads meet
(those of different halves would not). One split per loop.

Rules (`n` is defined outside the loop; the branch stands at the top of the body):

1. i < n and i >= n change at n; i <= n and i > n at min(n, upper - 1) + 1, which cannot wrap in a
   loop that runs. With b for that:
       for i in lower..upper {if (i < n) {A} else {B}}
    -> for i in lower..min(b, upper) {A}; for i in max(lower, b)..upper {B}
2. What the first loop ends with the second begins with.
       %r = for ..., %x {...}             ->  %s = for ..., %x {...}; %r = for ..., %s {...}
3. Where n stands on the left the comparison is read from the right.
       cmpi %n, %i {predicate=gt}         is  cmpi %i, %n {predicate=lt}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..analysis.constants import Constants, constants
from ..analysis.structure import Structure, structure
from ..base.dtypes import bool_
from ..ir.attrs import Predicate
from ..ir.core import Func, Op, Value
from ..ir.opdef import Effect
from ..ir.ops.control import BREAK, FOR, IF
from ..ir.ops.elementwise import CMPI
from ..ir.rewrite import Rewriter, rewrite

MAX_OPS = 200


def split_loops(func: Func) -> Func:
    """Split every loop that the rules above allow, once."""
    return rewrite(func, _Splitter(structure(func), constants(func)).visit)


class Split(NamedTuple):
    """Where to split: the comparison, the value compared with, and what holds in the first half."""

    comparison: Op
    limit: Value
    after_limit: bool
    first: bool


SIDES: dict[Predicate, tuple[bool, bool]] = {
    Predicate.LT: (False, True), Predicate.LE: (True, True),
    Predicate.GE: (False, False), Predicate.GT: (True, False),
}  # fmt: skip
"""Whether the change comes after the limit itself, and the answer before it."""


class _Splitter:
    """Copies the function; inside a half the split comparison has an answer."""

    def __init__(self, nesting: Structure, known: Constants) -> None:
        self.nesting = nesting
        self.known = known
        self.answers: dict[Op, bool] = {}

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op in self.answers:
            return (r.constant(self.answers[op], bool_),)
        if op.is_a(IF):
            return self.branch(r, op)
        split = self.find(op) if op.is_a(FOR) else None
        return None if split is None else self.halves(r, op, split)

    def branch(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        """Take the side that is known in this half."""
        comparison = self.nesting.definer(op.one("cond"))
        if comparison is None or comparison not in self.answers:
            return None
        passed = r.inline(op.regions[0 if self.answers[comparison] else 1])
        return op.results if passed is None else passed

    def find(self, op: Op) -> Split | None:
        (body,) = op.regions
        breaks = any(end.is_a(BREAK) for end in self.nesting.exits.get(op, []))
        inner = list(body.walk())
        if breaks or self.known.get(op.one("step")) != 1 or len(inner) > MAX_OPS:
            return None
        if any(o.defn.effects & Effect.SYNC for o in inner):
            return None
        branches = [o for o in body.ops if o.is_a(IF) and _has_content(o)]
        return next((s for b in branches if (s := self.split_at(op, b.one("cond")))), None)

    def split_at(self, op: Op, cond: Value) -> Split | None:
        comparison = self.nesting.definer(cond)
        if comparison is None or not comparison.is_a(CMPI) or comparison in self.answers:
            return None
        predicate = Predicate(comparison.attrs["predicate"])
        induction, limit = comparison.operands
        if limit is op.regions[0].args[0]:  # Rule 3
            induction, limit = limit, induction
            predicate = predicate.swapped
        invariant = not self.nesting.inside(limit, op)
        if induction is not op.regions[0].args[0] or not invariant or predicate not in SIDES:
            return None
        return Split(comparison, limit, *SIDES[predicate])

    def halves(self, r: Rewriter, op: Op, split: Split) -> Sequence[Value]:
        """Rules 1 and 2."""
        lower, upper, step = r.many((op.one("lower"), op.one("upper"), op.one("step")))
        change = r.get(split.limit)
        if split.after_limit:
            one = r.constant(1, lower.tile.dtype)
            last = r.emit("mini", change, r.emit("subi", upper, one))
            change = r.emit("addi", last, one)
        bounds = ((lower, r.emit("mini", change, upper)), (r.emit("maxi", lower, change), upper))
        carried = r.many(op.all("init"))
        for (start, end), answer in zip(bounds, (split.first, not split.first), strict=True):
            self.answers[split.comparison] = answer
            region = r.region(op.regions[0])
            carried = r.put(op, (start, end, step, *carried), (region,)).results
        del self.answers[split.comparison]
        return carried


def _has_content(branch: Op) -> bool:
    return any(len(region.ops) > 1 for region in branch.regions)
