"""Common subexpression elimination: an op equal to an earlier one takes its results.

Value numbering scoped by dominance (as LLVM's EarlyCSE): one op where several would compute the
same bits, wherever the first one has run.

Non-goals: merging across branches (nothing moves), forwarding a stored tile to a load, merging
reads through raw pointers, equality up to algebra other than the order of integer operands.

Rules (an op is known in the rest of its block and in the regions after it, and forgotten outside):

1. Pure ops of one name with the same operands, attributes and regions are one.
       %a = addi %x, %y; %b = addi %y, %x     ->  %a = addi %x, %y
2. A check equal to one before it can only fail after that one did, and the first failure counts.
       %a = check %i, %n; %b = check %i, %n   ->  %a = check %i, %n
3. Loads of memory that the kernel writes nowhere are like pure ops.
       %a = load_view %v, %i; %b = load_view %v, %i   ->  %a = load_view %v, %i
4. Loads of other memory merge within a block while nothing between them may write it.
       %a = load_view %v, %i; store_view %s, %v, %i; %b = load_view %v, %i   stays
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from ..analysis.structure import MemoryEffects, memory_of, memory_of_all, place_of
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.memory import LOAD_VIEW
from ..ir.ops.simt import CHECKS, LOAD_SLICE
from ..ir.printer import attr_text

Key: TypeAlias = tuple[object, ...]

LOADS = (LOAD_VIEW, LOAD_SLICE)


def cse(func: Func) -> Func:
    """Merge ops that are equal by the rules above."""
    return rewrite(func, _Merger(memory_of_all(func.body.ops)).visit)


class _Merger:
    """The facts at a point of the walk: ops that have run, loads that are still valid."""

    def __init__(self, memory: MemoryEffects) -> None:
        self.memory = memory
        self.known: dict[Key, Sequence[Value]] = {}
        self.loads: dict[Key, tuple[str, Sequence[Value]]] = {}

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.is_a(*LOADS) and self.memory.disturbs(place_of(op)):
            return self.load(r, op)
        if op.defn.pure or op.is_a(*CHECKS, *LOADS):
            return self.merged(r, op)
        if op.regions:
            return self.nested(r, op)
        self.forget(op)
        return None

    def merged(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Apply rules 1 to 3."""
        key = key_of(op, r)
        if key not in self.known:
            self.known[key] = r.copy(op).results
        return self.known[key]

    def load(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Apply rule 4."""
        key = key_of(op, r)
        if key not in self.loads:
            self.loads[key] = place_of(op), r.copy(op).results
        return self.loads[key][1]

    def nested(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Copy the op; what its regions learn holds only inside them."""
        regions: list[Block] = []
        for region in op.regions:
            with self.inside():
                regions.append(r.region(region))
        new = r.put(op, r.many(op.operands), regions)
        self.forget(op)
        return new.results

    @contextmanager
    def inside(self) -> Generator[None]:
        known, loads = self.known, self.loads
        # A loop's body may run after a write further down in it: it starts without loads.
        self.known, self.loads = dict(known), {}
        try:
            yield
        finally:
            self.known, self.loads = known, loads

    def forget(self, op: Op) -> None:
        memory = memory_of(op)
        self.loads = {k: v for k, v in self.loads.items() if not memory.disturbs(v[0])}


def key_of(op: Op, r: Rewriter) -> Key:
    """Return the key that equal ops share, in terms of new values."""
    operands: Sequence[object] = r.many(op.operands)
    # Of two NaNs the first may be the one that stays: floats are equal in one order only.
    if op.has(Trait.COMMUTATIVE) and not op.result.tile.dtype.is_float:
        operands = sorted(operands, key=id)
    local: dict[Value, int] = {}
    return (op.name, *operands, *_fixed(op), *(_region(region, r, local) for region in op.regions))


def _fixed(op: Op) -> Key:
    # As text 0.0 and -0.0 differ, so do 1 and True, and a NaN is itself.
    return (op.sizes, *((name, attr_text(value)) for name, value in sorted(op.attrs.items())))


def _region(block: Block, r: Rewriter, local: dict[Value, int]) -> Key:
    """Return a combiner's body, with its own values by number."""
    for arg in block.args:
        local[arg] = len(local)
    lines: list[Key] = []
    for op in block.ops:
        operands = [local[v] if v in local else r.get(v) for v in op.operands]
        lines.append((op.name, *operands, *_fixed(op)))
        for result in op.results:
            local[result] = len(local)
    return (*(a.type for a in block.args), *lines)
