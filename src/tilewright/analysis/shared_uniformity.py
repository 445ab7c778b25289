"""Finds block-uniform loads of shared memory: no thread writes the array in the same phase.

Threads of a block are in one phase at a time, from a barrier that all of them reach to the next.
Where no thread writes to an array in the phase of a read, all threads that read one element of it
get one value, as each of them does from a flag that one thread has set before the barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ..ir.core import Block, Func, Op
from ..ir.opdef import Effect
from .structure import LOOPS, Structure

Position: TypeAlias = tuple[Block, int]
"""An op, by its place in its block."""

ELSEWHERE = ("store_slice", "store_ptr", "atomic_rmw", "atomic_cas", "sync_threads", "sync_warp")
"""Ops that count as writes, but do not write to shared memory."""


def uniform_shared_reads(func: Func, nesting: Structure) -> set[Op]:
    """The reads of shared memory in whose phase nobody writes there."""
    return {
        op
        for op in func.walk()
        if op.name == "load_shared" and _is_first(op, nesting) and _is_last(op, nesting)
    }


def _is_first(read: Op, nesting: Structure) -> bool:
    """Whether a barrier stands before a read, and no write between them."""
    block, place = _position(read, nesting)
    for op in reversed(block.ops[:place]):
        if op.name == "sync_threads":
            return True
        if any(_disturbs(inner, read, nesting) for inner in _all(op)):
            return False
    return False


def _is_last(read: Op, nesting: Structure) -> bool:
    """Whether every way on from a read comes to a barrier before it comes to a write."""
    block, place = _position(read, nesting)
    todo: list[Position] = [(block, place + 1)]
    seen: set[tuple[int, int]] = set()
    while todo:
        block, place = todo.pop()
        if (id(block), place) in seen:
            continue
        seen.add((id(block), place))
        op = block.ops[place]
        if _disturbs(op, read, nesting):
            return False
        if op.name != "sync_threads":
            todo += _next(op, nesting)
    return True


def _next(op: Op, nesting: Structure) -> Iterator[Position]:
    """What may come after an op."""
    block, place = _position(op, nesting)
    target = nesting.target.get(op)
    if op.defn.terminator:
        if target is not None:
            outer, where = _position(target, nesting)
            yield outer, where + 1
            if op.name == "continue":
                yield target.regions[0], 0
        return
    yield from ((region, 0) for region in op.regions)
    if not op.regions or op.name in LOOPS:
        yield block, place + 1


def _disturbs(op: Op, read: Op, nesting: Structure) -> bool:
    """Whether an op may write to the array of a read."""
    if not op.defn.effects & Effect.WRITE or op.name in ELSEWHERE:
        return False
    if op.name != "store_shared":
        return True
    arrays = [nesting.definer(o.one("memory")) for o in (op, read)]
    apart = all(made is not None and made.name == "shared" for made in arrays)
    return not apart or arrays[0] is arrays[1]


def _all(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _position(op: Op, nesting: Structure) -> Position:
    block = nesting.block[op]
    return block, next(k for k, other in enumerate(block.ops) if other is op)
