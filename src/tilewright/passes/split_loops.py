"""Index-set splitting: split a loop where a branch on its induction variable changes sides.

Goals: the loop of a causal kernel, whose last iterations need a mask while the others do not,
becomes two loops without the branch. Each iteration runs once, in the same order, with the same
result. (LLVM's InductiveRangeCheckElimination splits loops in the same way.)

Non-goals: steps other than the constant 1, comparisons with something that changes in the loop,
equality, loops with a `break` (it would have to skip the second half), peeling, large bodies
(beyond MAX_OPS ops, regions included), empty branches, loops in which threads synchronize (threads
in different halves would not meet at one barrier). One split per loop.

Rules (`n` is defined outside the loop; the branch is at the top of the body):

1. i < n and i >= n change at n; i <= n and i > n at min(n, upper - 1) + 1, which cannot wrap in a
   loop that runs. With b for that:
       for i in lower..upper {if (i < n) {A} else {B}}
    -> for i in lower..min(b, upper) {A}; for i in max(lower, b)..upper {B}
2. The second loop starts with the final carried values of the first.
       %r = for ..., %x {...}             ->  %s = for ..., %x {...}; %r = for ..., %s {...}
3. A comparison with n on the left is swapped.
       cmpi %n, %i {predicate=gt}         is  cmpi %i, %n {predicate=lt}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..analysis.dataflow import Constants, constants
from ..analysis.structure import Structure, structure
from ..base.dtypes import bool_
from ..ir.attrs import Predicate
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Func, Op, Value
from ..ir.opdef import Effect
from ..ir.ops.control import BREAK, FOR, IF
from ..ir.ops.elementwise import CMPI

MAX_OPS = 200


def split_loops(func: Func) -> Func:
    """Split every loop that the rules above allow, once."""
    return rewrite(func, _LoopSplitter(structure(func), constants(func)).visit)


class Split(NamedTuple):
    """A split: the comparison, the compared value, and what holds in the first half."""

    comparison: Op
    limit: Value
    after_limit: bool
    first: bool


SIDES: dict[Predicate, tuple[bool, bool]] = {
    Predicate.LT: (False, True), Predicate.LE: (True, True),
    Predicate.GE: (False, False), Predicate.GT: (True, False),
}  # fmt: skip
"""Whether the change comes after the limit itself, and the answer before it."""


class _LoopSplitter:
    """A copy of the function; inside a half the split comparison is a constant."""

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
        """Select the side that is known in this half."""
        comparison = self.nesting.definer(op.one("cond"))
        if comparison is None or comparison not in self.answers:
            return None
        passed = r.inline(op.regions[0 if self.answers[comparison] else 1])
        return op.results if passed is None else passed

    def find(self, op: Op) -> Split | None:
        (body,) = op.regions
        breaks = any(end.is_a(BREAK) for end in self.nesting.exits.get(op, []))
        inner = list(body.walk())
        # The body is duplicated, so its size bounds the code growth.
        if breaks or self.known.get(op.one("step")) != 1 or len(inner) > MAX_OPS:
            return None
        # Two threads at one barrier in different halves would wait at different ops.
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
        """Apply rules 1 and 2."""
        lower, upper, step = r.many((op.one("lower"), op.one("upper"), op.one("step")))
        change = r.get(split.limit)
        if split.after_limit:
            one = r.constant(1, lower.tile.dtype)
            # min(n, upper - 1) + 1 instead of min(n + 1, upper): n + 1 may wrap, upper - 1 cannot
            # in a loop that has an iteration.
            last = r.emit("mini", change, r.emit("subi", upper, one))
            change = r.emit("addi", last, one)
        bounds = ((lower, r.emit("mini", change, upper)), (r.emit("maxi", lower, change), upper))
        carried = r.many(op.all("init"))
        for (start, end), answer in zip(bounds, (split.first, not split.first), strict=True):
            # The region is rewritten once per half; meanwhile the comparison is a constant, and
            # `branch` takes the arm that it selects.
            self.answers[split.comparison] = answer
            region = r.region(op.regions[0])
            carried = r.put(op, (start, end, step, *carried), (region,)).results
        del self.answers[split.comparison]
        return carried


def _has_content(branch: Op) -> bool:
    return any(len(region.ops) > 1 for region in branch.regions)
