"""Make the trip counts of loops over a stride uniform: the same in all threads of a block.

Goals: in `for i in range(simt.index_1d(), n, threads)` the trip counts of a block's threads differ
by one, at most. A CPU runs these threads as lanes: it would keep a mask in every iteration, and
could not run one iteration of all threads before the next, in the order of memory. With a uniform
trip count and a bounds test inside, only the last iteration needs the mask. For SIMT kernels on
CPUs, after the shared passes: they prove by the loop itself that accesses are in bounds.

Non-goals: loops with a `break`, or a `continue` in the middle; a start that is neither the index of
the thread nor its place in the block along x; bounds that differ between threads. GPUs run such
loops well.

Rules (`first` is the start of the block's first thread; `n` and `step` are equal in all threads):

1. The loop runs from `first`, and each thread adds its distance from there.
       for %i = %start .. %n step %s {A; continue}
    -> %away = %start - %first
       for %j = %first .. %n step %s {%i = %j + %away; if (%i < %n and %i >= 0) {A}; continue}
   The second test is for sums that wrap: %j is less than %n, so such a sum is negative.
2. Carried values of a thread that has finished stay as they are.
       for ..., %x {(%i, %a): A; continue %b}
    -> for ..., %x {(%j, %a): ...; %c = if ... {A; yield %b} else {yield %a}; continue %c}
3. `first` is 0 for the place in the block, and the block's number times its size for the index.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.structure import Structure, structure
from ..analysis.uniformity import Uniformity, uniformity
from ..base.dtypes import i32
from ..ir.attrs import Predicate, ThreadCoordinate
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect
from ..ir.ops.control import CONTINUE, FOR
from ..ir.ops.simt import INDEX_1D, PLACE


def uniform_trip_counts(func: Func) -> Func:
    """Make the trip count of every loop that the rules above allow uniform."""
    return rewrite(func, _Evener(structure(func), uniformity(func)).visit)


class _Evener:
    """A copy of the function with uniform loops."""

    def __init__(self, nesting: Structure, facts: Uniformity) -> None:
        self.nesting = nesting
        self.facts = facts

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        return self.uniform(r, op) if op.is_a(FOR) and self.is_strided(op) else None

    def is_strided(self, op: Op) -> bool:
        start = self.nesting.definer(op.one("lower"))
        if start is None or not (start.is_a(INDEX_1D) or _is_thread(start)):
            return False
        if any(self.facts.varies(op.one(name)) for name in ("upper", "step")):
            return False
        (body,) = op.regions
        ends = [end for end in self.nesting.exits.get(op, []) if end is not body.terminator]
        # A barrier in a loop that threads leave apart is an error, and not of this pass.
        syncs = any(inner.defn.effects & Effect.SYNC for inner in body.walk())
        return not ends and body.terminator.is_a(CONTINUE) and not syncs

    def uniform(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Apply the rules."""
        lower, upper, step = r.many((op.one("lower"), op.one("upper"), op.one("step")))
        first = _first(r, self.nesting.definer(op.one("lower")))
        away = r.emit("subi", lower, first)
        (old,) = op.regions
        new = Block(tuple(Value(each.type, each.name) for each in old.args))
        with r.at(new):
            at = r.emit("addi", new.args[0], away)
            below = r.emit("cmpi", at, upper, predicate=Predicate.LT)
            whole = r.emit("cmpi", at, r.constant(0, i32), predicate=Predicate.GE)
            in_bounds = r.emit("andi", below, whole)
            kept = new.args[1:]
            with r.at(Block()) as inside:
                ends = r.inline(old, (at, *kept), ends=(CONTINUE,))
                if ends is not None:
                    r.op("yield", ends)
            with r.at(Block()) as outside:
                r.op("yield", kept)
            types = tuple(value.type for value in kept)
            made = r.op("if", in_bounds, regions=(inside, outside), types=types)
            r.op("continue", made.results)
        return r.put(op, (first, upper, step, *r.many(op.all("init"))), (new,)).results


def _is_thread(op: Op) -> bool:
    return op.is_a(PLACE) and op.attrs["what"] is ThreadCoordinate.THREAD and not op.attrs["axis"]


def _first(r: Rewriter, start: Op | None) -> Value:
    """Apply rule 3."""
    assert start is not None, "the start of a strided loop is known"
    if not start.is_a(INDEX_1D):
        return r.constant(0, i32)
    numbers = (ThreadCoordinate.BLOCK, ThreadCoordinate.BLOCK_SIZE)
    block, size = (r.emit("place", what=what, axis=0) for what in numbers)
    return r.emit("muli", block, size)
