"""Bounds checks: remove those that are proved or evaluated at launch, hoist the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..analysis.bounds.check_placement import (
    OUTSIDE,
    Decision,
    bounded,
    checked_place,
    decide,
    worse,
)
from ..analysis.dataflow import Constants, constants
from ..analysis.structure import Structure, structure
from ..base.dtypes import bool_
from ..ir.attrs import Predicate
from ..ir.builder import Builder, Rewriter, rewrite
from ..ir.core import Block, BoundsCheck, Func, Op, Value
from ..ir.launch_expr import LaunchCheck
from ..ir.ops.control import FOR
from ..ir.ops.layout import CONSTANT
from ..ir.ops.simt import CHECKS
from ..ir.types import I1

# -------------------------------------------------------------------------------------------------
# Removal of checks that are proved, or that the host evaluates once for all blocks.
#
# Goals: a kernel whose accesses follow from its loops and its grid has no check left; the
# conditions on its launches are known before it runs. `check_placement` decides; this pass only
# carries out the decisions. It runs first, so that it sees every access of the source and notes its
# bounds check.
#
# Non-goals: moving the remaining checks (`place_checks`), conditions that the user wrote.
#
# Rules:
#
# 1. A check that is proved, or evaluated at launch, is true.
#        for %i in 0..(num_tiles %v) {%ok = check %i, (num_tiles %v)}  ->  %ok = constant True
# 2. A check equal to an earlier one is the earlier one: see `cse`.


def prove_checks(func: Func) -> Func:
    """Apply the rules above."""
    decisions = decide(func)
    gone = {d.op for d in decisions if d.placement in OUTSIDE}

    def visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
        return (r.constant(True, bool_),) if op in gone else None

    return replace(
        rewrite(func, visit),
        launch_checks=_distinct(func.launch_checks, decisions),
        obligations=(*func.obligations, *_obligations(decisions), *bounded(func)),
    )


def _distinct(known: Sequence[LaunchCheck], found: Sequence[Decision]) -> tuple[LaunchCheck, ...]:
    """Return each condition once, at its first place."""
    checks = {(check.expr, check.where): check for check in known}
    for check in (check for decision in found for check in decision.launch):
        checks.setdefault((check.expr, check.where), check)
    return tuple(checks.values())


def _obligations(decisions: Sequence[Decision]) -> tuple[BoundsCheck, ...]:
    """Return one per access and axis; a loop that was unrolled has several checks for each."""
    found: dict[tuple[object, ...], BoundsCheck] = {}
    for d in decisions:
        new = BoundsCheck(d.op.span, *checked_place(d.op), d.placement, d.reason, d.advice)
        found[new.key] = worse(found.get(new.key), new)
    return tuple(found.values())


# -------------------------------------------------------------------------------------------------
# Hoisting of checks out of loops: a failure of any iteration is found before the first one.
#
# Goals: loops of kernels with checked indices contain only loads and arithmetic. A launch fails if
# and only if it failed before, in the same block, and with the same index and extent.
#
# Non-goals: which of several failing checks of one block is the first; loops that may be left
# early, steps other than the constant 1 where the index is the counter, checks inside branches,
# launch checks.
#
# Rules (`ok` replaces the result of the check; the index of rule 2 is that of the first iteration
# that fails, or else of the last iteration):
#
# 1. A check of an index and an extent that are loop-invariant.
#        for i in lower..upper {%ok = check %a, %n; ...}
#     -> %ok = if (lower < upper) {yield (check %a, %n)} else {yield true}; for i in ... {...}
# 2. A check of the induction variable against a loop-invariant extent.
#        for i in lower..upper {%ok = check %i, %n; ...}
#     -> %ok = if (lower < upper) {yield (check (lower if lower < 0 else
#                                  max(lower, min(upper - 1, %n))), %n)} else ...
# 3. Rule 1 also moves what rules 1 and 2 hoisted out of an inner loop.


def place_checks(func: Func) -> Func:
    """Apply the rules above, inner loops first."""
    return rewrite(func, _Placer(structure(func), constants(func)).visit)


class _Placer:
    def __init__(self, nesting: Structure, known: Constants) -> None:
        self.nesting = nesting
        self.known = known
        self.placed: dict[Op, list[Op]] = {}
        """The branches that rules 1 and 2 have made, with the ops that their conditions took."""

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if not op.is_a(FOR) or self.may_end_early(op):
            return None
        region = r.region(op.regions[0])
        r.block.ops += _take_constants(region)
        space = _IterationSpace.of(r, op, region.args[0], self.known)
        for check in self.take(region, space):
            self.place(r, check, space)
        return r.put(op, r.many(op.operands), (region,)).results

    def may_end_early(self, loop: Op) -> bool:
        """Return whether an iteration, or the whole loop, may end before its last op."""
        return len(self.nesting.exits.get(loop, ())) != 1 or any(self.nesting.leaves(loop))

    def take(self, region: Block, space: _IterationSpace) -> list[Op]:
        """Take the checks that can be moved out of a new loop body."""
        inner = set(region.args) | {v for op in region.ops for v in op.results}
        found = [op for op in region.ops if self.movable(op, inner, space)]
        gone = {*found, *(own for op in found for own in self.placed.get(op, ()))}
        region.ops[:] = [op for op in region.ops if op not in gone]
        return found

    def movable(self, op: Op, inner: set[Value], space: _IterationSpace) -> bool:
        if op.is_a(*CHECKS):
            index, extent = op.operands
            return extent not in inner and (index not in inner or space.counts(index))
        if op not in self.placed:
            return False
        own = self.placed[op]
        made = {v for helper in own for v in helper.results}
        return not any(v in inner - made for each in (*own, op) for v in _used(each))

    def place(self, r: Rewriter, op: Op, space: _IterationSpace) -> None:
        """Put a check before the loop, if the loop runs at all."""
        start = len(r.block.ops)
        r.block.ops += self.placed.pop(op, ())
        runs = space.run(r)
        then, otherwise = Block(), Block()
        with r.at(then):
            moved = space.before(r, op)
            r.block.ops.append(moved)
            r.op("yield", [moved.result])
        with r.at(otherwise):
            r.op("yield", [r.constant(True, bool_)])
        own = r.block.ops[start:]
        branch = r.op("if", runs, regions=(then, otherwise), types=(I1,))
        # What uses the check finds its answer under the same name.
        branch.results = op.results
        self.placed[branch] = own


@dataclass(frozen=True, slots=True)
class _IterationSpace:
    """The iterations of a loop, in values defined before it; `step` if it is a constant."""

    lower: Value
    upper: Value
    by: Value
    step: int | None
    index: Value

    @classmethod
    def of(cls, r: Rewriter, loop: Op, index: Value, known: Constants) -> _IterationSpace:
        lower, upper, by = (r.get(loop.one(name)) for name in ("lower", "upper", "step"))
        step = known.get(loop.one("step"))
        return cls(lower, upper, by, step if isinstance(step, int) else None, index)

    def counts(self, value: Value) -> bool:
        """Return whether a value counts the iterations, one by one."""
        return value is self.index and self.step == 1

    def run(self, b: Builder) -> Value:
        """Return whether there is an iteration."""
        runs = b.emit("cmpi", self.lower, self.upper, predicate=Predicate.LT)
        if self.step is not None and self.step > 0:
            return runs
        zero = b.constant(0, self.by.tile.dtype)
        return b.emit("andi", runs, b.emit("cmpi", zero, self.by, predicate=Predicate.LT))

    def before(self, b: Builder, op: Op) -> Op:
        """Return the form of a check before a loop, which covers all of its iterations."""
        operands, attrs = op.operands, op.attrs
        if op.is_a(*CHECKS):
            attrs = {**attrs, "hoisted": True}
            index, extent = operands
            if index is self.index:
                operands = (self.first_failing(b, extent), extent)
        return Op(op.defn, operands, op.sizes, attrs, (Value(I1),), op.regions, op.span)

    def first_failing(self, b: Builder, extent: Value) -> Value:
        """Return the index in the first iteration that fails, or in the last one if none does."""
        dtype = self.upper.tile.dtype
        last = b.emit("subi", self.upper, b.constant(1, dtype))
        highest = b.emit("maxi", self.lower, b.emit("mini", last, extent))
        below = b.emit("cmpi", self.lower, b.constant(0, dtype), predicate=Predicate.LT)
        return b.emit("select", below, self.lower, highest)


def _take_constants(body: Block) -> list[Op]:
    """Take the constants that checks compare out of a new loop body, so that these can follow."""
    compared = {v for op in body.ops if op.is_a(*CHECKS) for v in op.operands}
    found = [op for op in body.ops if op.is_a(CONSTANT) and op.result in compared]
    body.ops[:] = [op for op in body.ops if op not in found]
    return found


def _used(op: Op) -> Iterator[Value]:
    yield from op.operands
    for region in op.regions:
        for inner in region.walk():
            yield from inner.operands
