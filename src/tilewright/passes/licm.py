"""Loop-invariant code motion (LICM): hoist pure ops whose operands do not change out of loops.

Goals: pure ops at the top of a loop's body whose operands are defined outside of it. Every pure op
is total and cannot trap, so it may run even if the loop does not (speculation is safe). Inner loops
first: an op that leaves an inner loop may leave the next one too.

Non-goals: loads (if the loop does not run, their memory may be out of bounds), ops inside branches
of the body (they may be skipped for a reason), anything with an effect.

Rules:

1. A pure op whose operands are all defined outside the loop, or move out too, moves out.
       for ... {%a = addf %x, %y; ...}        ->  %a = addf %x, %y; for ... {...}
2. Constants, and iotas, reshapes and broadcasts of tiles, are free to rematerialize but take
   registers: they move only if an op that moves by rule 1 uses them.
       for ... {%b = broadcast %x; %s = addf %b, %v}  stays
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.layout import BROADCAST, CONSTANT, IOTA, RESHAPE
from ..ir.types import TileType

FREE = (CONSTANT, IOTA, RESHAPE, BROADCAST)


def licm(func: Func) -> Func:
    """Move invariant ops out of all loops."""
    return rewrite(func, _visit)


def _visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
    if not op.has(Trait.LOOP):
        return None
    regions = [r.region(region) for region in op.regions]
    for region in regions:
        r.block.ops += _take_invariant(region)
    return r.put(op, r.many(op.operands), regions).results


def _take_invariant(body: Block) -> list[Op]:
    """Take the ops that move out of a new loop body."""
    inner: set[Value] = set(body.args)
    movable: list[Op] = []
    for op in body.ops:
        if op.defn.pure and not _reads(op, inner):
            movable.append(op)
        else:
            inner.update(op.results)
    moving = _worth_moving(movable)
    body.ops[:] = [op for op in body.ops if op not in moving]
    return [op for op in movable if op in moving]


def _reads(op: Op, inner: set[Value]) -> bool:
    """Return whether an op uses inner values, be it inside a combiner."""
    held = [nested for region in op.regions for nested in region.walk()]
    return any(v in inner for o in (op, *held) for v in o.operands)


def _worth_moving(movable: Sequence[Op]) -> set[Op]:
    """Return the ops that rule 2 moves: free ones only if a moved op needs them."""
    moving: set[Op] = set()
    needed: set[Value] = set()
    for op in reversed(movable):
        if not _is_free(op) or any(v in needed for v in op.results):
            moving.add(op)
            held = [nested for region in op.regions for nested in region.walk()]
            needed.update(v for o in (op, *held) for v in o.operands)
    return moving


def _is_free(op: Op) -> bool:
    kind = op.results[0].type
    scalar = isinstance(kind, TileType) and kind.rank == 0
    return op.is_a(CONSTANT) or (op.is_a(*FREE) and not scalar)
