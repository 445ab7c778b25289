"""Cache hints: non-temporal stores, and prefetches for the next block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ....ir.core import Op, Value
from ....ir.opdef import Effect
from ....ir.ops.control import BLOCK_ID
from ....ir.ops.layout import CONSTANT
from .facts import Location, is_ordered, location_of, may_alias
from .nodes import Compute, Nest, Plan, ReadView, ScalarStmt, Stmt, WriteView, itemsize, walk

# -------------------------------------------------------------------------------------------------
# Non-temporal stores: those that fill complete cache lines of tensors that are never read.
#
# An ordinary store reads the cache line first (write-allocate). If outputs are larger than the
# caches, that doubles the memory traffic and evicts useful lines.

LINE = 64
"""Bytes of a cache line; one that is written in parts is not worth it."""
VECTOR = 32
"""The least bytes of one store."""


def mark_nontemporal_stores(plan: Plan) -> None:
    """Mark the stores of a plan that may be non-temporal."""
    # A tensor that the kernel reads must stay in the caches. So must one that other threads may
    # read after a release.
    reads = [location_of(op) for op in plan.func.walk() if _lets_read(op)]
    for nest in walk(plan.body):
        if isinstance(nest, Nest):
            for effect in nest.effects:
                if isinstance(effect, WriteView):
                    effect.nontemporal = _is_unread(effect, reads) and _fills_lines(nest, effect)


def nontemporal_stores(plan: Plan) -> list[WriteView]:
    """Return the stores that may be non-temporal, in order."""
    return [
        effect
        for nest in walk(plan.body)
        if isinstance(nest, Nest)
        for effect in nest.effects
        if isinstance(effect, WriteView) and effect.nontemporal
    ]


def _lets_read(op: Op) -> bool:
    """Return whether an op reads memory, or publishes it to other threads."""
    return bool(op.defn.effects & Effect.READ) or is_ordered(op)


def _is_unread(write: WriteView, reads: Sequence[Location]) -> bool:
    """Return whether the tensor is a parameter that the kernel only writes."""
    written = Location(param=write.access.view.tensor.param)
    return written.param is not None and not any(may_alias(written, read) for read in reads)


def _fills_lines(nest: Nest, write: WriteView) -> bool:
    """Return whether the innermost loop writes complete cache lines, in dense vectors."""
    view, loop = write.access.view, nest.lane_loop
    if loop is None or any(access.view.sparse is not None for access in nest.accesses):
        return False
    size = itemsize(view.tensor.dtype)
    dense = any(
        axis and axis[-1].source is loop and view.tensor.strides[dim] == 1
        for axis, dim in zip(write.index, view.dim_map, strict=True)
    )
    # A partly written line would be flushed as a read-modify-write, which is slower than a cached
    # store.
    return dense and nest.lanes * size >= VECTOR and loop.size * size % LINE == 0


# -------------------------------------------------------------------------------------------------
# Prefetches: tiles that are loaded for the next block while this one is computed.
#
# While a block computes from its caches, the memory bus is idle. So a loop with much arithmetic, or
# one that reads a tile for the second time, prefetches the same tile of the next block. A
# memory-bound loop does not: the prefetch would compete with its own loads.

HEAVY = 16
"""From this cost of an element on, a loop does not wait for memory."""
ROOM = 256 << 10
"""The most bytes of a tile that stay in a cache until the next block begins."""


def mark_prefetches(plan: Plan) -> None:
    """Mark the loads whose next tile is prefetched: at most one per tensor."""
    axes = _grid_axes(plan.body)
    read_before: set[Value] = set()
    marked: set[Value] = set()
    for nest in _plain_nests(plan.body):
        loads = [read for read in nest.reads if isinstance(read, ReadView)]
        for read in loads:
            tensor = read.access.tensor
            # The second loop over a tile hits the caches, and so does a loop with much arithmetic
            # per element; both leave the memory bus idle.
            in_cache = tensor in read_before or _cost(nest) >= HEAVY
            if in_cache and tensor not in marked:
                read.prefetch = _next_tile(read, axes)
                marked.add(tensor)
        read_before.update(read.access.tensor for read in loads)


def prefetched_reads(plan: Plan) -> list[ReadView]:
    """Return the marked loads, which are outside of loops."""
    nests = [s for s in plan.body if isinstance(s, Nest)]
    return [r for n in nests for r in n.reads if isinstance(r, ReadView) and r.prefetch is not None]


def _plain_nests(body: Sequence[Stmt]) -> Iterator[Nest]:
    """Yield the nests that run once per block and store to no tensor."""
    for nest in body:
        if not isinstance(nest, Nest) or nest.lanes == 1:
            continue
        if not any(isinstance(effect, WriteView) for effect in nest.effects):
            yield nest


def _grid_axes(body: Sequence[Stmt]) -> dict[Value, int | None]:
    """Return the scalars that are block positions, by grid axis; constants have None."""
    found: dict[Value, int | None] = {}
    for statement in body:
        if isinstance(statement, ScalarStmt) and statement.op.is_a(BLOCK_ID, CONSTANT):
            op = statement.op
            found[op.result] = op.attrs["axis"] if op.is_a(BLOCK_ID) else None
    return found


def _cost(nest: Nest) -> int:
    """Return the cost of an element, without what all lanes share."""
    lanes = [r for r in nest.reads if nest.lane_loop in r.result.loops]
    return sum(r.op.defn.cost for r in lanes if isinstance(r, Compute))


def _next_tile(read: ReadView, axes: dict[Value, int | None]) -> tuple[int | None, ...] | None:
    """Return the grid axis that each index of a tile follows; None if it is not that simple."""
    view, where = read.access.view, read.access.where
    small = prod(view.tile) * itemsize(view.tensor.dtype) <= ROOM
    # The address of the next tile must follow from the grid alone, and the tile must stay in the
    # cache until the next block.
    if not small or view.sparse is not None or view.frame is not None:
        return None
    if not all(value in axes for value in where):
        return None
    moves = tuple(axes[value] for value in where)
    return moves if any(axis is not None for axis in moves) else None
