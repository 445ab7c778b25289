"""Moves checks out of loops: what would fail in some round is found before the first one.

Goals: loops of kernels with checked indices have nothing in them but loads and arithmetic. A launch
fails if and only if it failed before, in the same block, and with the same index and extent.

Non-goals: which of several failing checks of one block is the first; loops with a `break`, steps
other than the constant 1 where the index is counted, checks inside branches, launch checks.

Rules (`ok` takes the place of what the check gave; the index of rule 2 is that of the first round
that fails, or else of the last round):

1. A check of an index and an extent that do not change in the loop.
       for i in lower..upper {%ok = check %a, %n; ...}
    -> %ok = if (lower < upper) {yield (check %a, %n)} else {yield true}; for i in ... {...}
2. A check of the induction variable against an extent that does not change.
       for i in lower..upper {%ok = check %i, %n; ...}
    -> %ok = if (lower < upper) {yield (check max(lower, min(upper - 1, %n)), %n)} else ...
3. What rules 1 and 2 gave for an inner loop is moved by rule 1 too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..analysis.constants import Constants, constants
from ..analysis.structure import Structure, structure
from ..base.dtypes import bool_
from ..ir.attrs import Predicate
from ..ir.builder import Builder
from ..ir.core import Block, Func, Op, Value
from ..ir.rewrite import Rewriter, rewrite
from ..ir.types import I1


def place_checks(func: Func) -> Func:
    """Apply the rules above, inner loops first."""
    return rewrite(func, _Placer(structure(func), constants(func)).visit)


class _Placer:
    def __init__(self, nesting: Structure, known: Constants) -> None:
        self.nesting = nesting
        self.known = known
        self.placed: set[Op] = set()
        """The branches that rules 1 and 2 have made."""

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.name != "for" or len(self.nesting.exits.get(op, ())) != 1:
            return None
        region = r.region(op.regions[0])
        bounds = r.many((op.one("lower"), op.one("upper")))
        counted = self.known.get(op.one("step")) == 1
        for check in self.take(region, counted):
            self.place(r, check, bounds, region.args[0])
        return r.put(op, r.many(op.operands), (region,)).results

    def take(self, region: Block, counted: bool) -> list[Op]:
        """Take the checks that can be moved out of a new loop body."""
        inner = set(region.args) | {v for op in region.ops for v in op.results}
        iv = region.args[0]
        found = [op for op in region.ops if self.movable(op, inner, iv if counted else None)]
        region.ops[:] = [op for op in region.ops if op not in found]
        return found

    def movable(self, op: Op, inner: set[Value], iv: Value | None) -> bool:
        if op.name == "check":
            index, extent = op.operands
            return extent not in inner and (index not in inner or index is iv)
        return op in self.placed and not any(v in inner for v in _used(op))

    def place(self, r: Rewriter, op: Op, bounds: Sequence[Value], iv: Value) -> None:
        """Put a check before the loop, if the loop runs at all."""
        lower, upper = bounds
        runs = r.emit("cmpi", lower, upper, predicate=Predicate.LT)
        then, otherwise = Block(), Block()
        with r.at(then):
            operands = op.operands
            if op.name == "check" and op.one("index") is iv:
                operands = (_first_failing(r, lower, upper, op.one("extent")), op.one("extent"))
            attrs = {**op.attrs, "hoisted": True} if op.name == "check" else op.attrs
            moved = Op(op.defn, operands, op.sizes, attrs, (Value(I1),), op.regions, op.span)
            r.block.ops.append(moved)
            r.op("yield", [moved.result])
        with r.at(otherwise):
            r.op("yield", [r.constant(True, bool_)])
        branch = r.op("if", runs, regions=(then, otherwise), types=(I1,))
        # What uses the check finds its answer under the same name.
        branch.results = op.results
        self.placed.add(branch)


def _first_failing(b: Builder, lower: Value, upper: Value, extent: Value) -> Value:
    """The index of the first round that fails; that of the last one if none does."""
    last = b.emit("subi", upper, b.constant(1, upper.tile.dtype))
    return b.emit("maxi", lower, b.emit("mini", last, extent))


def _used(op: Op) -> Iterator[Value]:
    yield from op.operands
    for region in op.regions:
        for inner in region.walk():
            yield from inner.operands
