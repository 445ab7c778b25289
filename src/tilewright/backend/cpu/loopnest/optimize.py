"""Optimize a plan: vector widths, unroll-and-jam, block coarsening, hints to the caches.

If all tensors are partitioned alike, the tiles of adjacent blocks are adjacent in memory, and the
computation of an element does not depend on the block, then several blocks are one longer loop.
Small tiles then cost what large ones cost, and rows are walked from end to end. Kernels with
atomics, prints, checks or materialized tiles run block by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, prod

from ....base.cpu_abi import SCRATCH_ALIGNMENT
from ....base.dtypes import f32
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ....ir.opdef import Effect
from ....ir.ops.control import BLOCK_ID
from ....ir.ops.layout import CONSTANT
from ....ir.signature import OutputSpec
from ...llvm.object import CpuTarget
from .facts import FOREVER, Location, is_ordered, location_of, may_alias
from .index import IndexField, Loop, loops_in
from .nodes import (
    AtomicView,
    Combine,
    Compute,
    ElementAccess,
    Joined,
    JumpStmt,
    Matmul,
    Nest,
    NestEffect,
    Plan,
    Position,
    PrivateCopy,
    Read,
    ReadBuffer,
    ReadView,
    ScalarStmt,
    Stmt,
    WriteBuffer,
    WriteView,
    itemsize,
    operands_of,
    walk,
)

# -------------------------------------------------------------------------------------------------
# Vector width of memory-bound nests.
#
# Arithmetic prefers wide statements: several registers at once hide latencies. Memory does not: the
# fewer bytes of one tensor are accessed before the next one's turn, the better the streams share
# the memory bus. Such nests use the vector width that the machine moves best, several vectors per
# iteration.

LIGHT_NEST = 12
"""An element that takes at most this much arithmetic waits for memory."""

SMALL_FLOATS_COMPUTE_IN = itemsize(f32)


def lane_width(lane_loop: Loop, reads: Sequence[Read], effects: Sequence[NestEffect]) -> int:
    """Return the size in bytes of a lane of the widest register of a nest."""
    widths = [_width(read) for read in reads if lane_loop in read.result.loops]
    widths += [itemsize(e.buffer.elem) for e in effects if isinstance(e, WriteBuffer)]
    return max(widths, default=1)


def _width(read: Read) -> int:
    """Return the bytes of a register's lane; small floats are widened for arithmetic."""
    width = itemsize(read.result.elem)
    return max(width, SMALL_FLOATS_COMPUTE_IN) if isinstance(read, Compute) else width


def narrow_streams(plan: Plan, cpu: CpuTarget) -> None:
    """Narrow the vectors of memory-bound nests to the target's streaming width."""
    for nest in walk(plan.body):
        if isinstance(nest, Nest) and is_stream(nest):
            # A divisor of the old width: the trip count stays a multiple of the vector. The rest of
            # the old width becomes the unroll factor.
            narrow = gcd(nest.lanes, _narrow_lanes(nest, cpu.stream_bytes))
            nest.lanes, nest.unroll = narrow, nest.lanes // narrow


def _narrow_lanes(nest: Nest, nbytes: int) -> int:
    """Return the lanes of a vector of this many bytes; non-temporal stores set a minimum."""
    nontemporal = [
        e.access.view.tensor for e in nest.effects if isinstance(e, WriteView) and e.nontemporal
    ]
    least = [VECTOR // itemsize(tensor.dtype) for tensor in nontemporal]
    return max(nbytes // lane_width(nest.loops[-1], nest.reads, nest.effects), *least, 1)


def is_stream(nest: Nest) -> bool:
    """Return whether a nest only stores to tensors, and its values are cheap to compute."""
    stores = all(isinstance(effect, WriteView) for effect in nest.effects)
    # Gathers are bound by latency, not by bandwidth, so narrow vectors do not help them.
    is_dense = nest.lanes > 1 and not nest.has_row_per_lane
    return stores and is_dense and sum(map(_read_cost, nest.reads)) <= LIGHT_NEST


def _read_cost(read: Read) -> int:
    match read:
        case Compute():
            return read.op.defn.cost
        case ReadBuffer() | ReadView() | Position():
            return 0
        case _:
            return FOREVER


# -------------------------------------------------------------------------------------------------
# Unroll-and-jam of reductions along an outer axis.
#
# Their accumulators are in memory. Several rows that are reduced together load and store them once,
# and are as many independent streams for the prefetchers. See Callahan, Carr and Kennedy,
# "Improving Register Allocation for Subscripted Variables" (1990).

MOST = 8
LIGHT_REDUCTION = 6
"""The most that computing an element may cost: what costs more does not wait for memory."""


def jam_reductions(plan: Plan) -> None:
    """Set how many steps run side by side in each nest of a plan."""
    for nest in walk(plan.body):
        if isinstance(nest, Nest) and _reduces_rows(nest) and _is_light(nest):
            nest.jam = _steps(nest.loops[-2].size)


def _is_light(nest: Nest) -> bool:
    """Return whether an element is computed with few simple instructions."""
    if not all(isinstance(r, Compute | Position | ReadBuffer | ReadView) for r in nest.reads):
        return False
    return sum(r.op.defn.cost for r in nest.reads if isinstance(r, Compute)) <= LIGHT_REDUCTION


def _reduces_rows(nest: Nest) -> bool:
    """Return whether a nest only reduces along the loop around the lanes."""
    if nest.lanes == 1 or len(nest.loops) < 2:
        return False
    return all(_is_along(effect, nest.loops[-2]) for effect in nest.effects)


def _is_along(effect: NestEffect, loop: Loop) -> bool:
    if not isinstance(effect, Combine) or effect.scan:
        return False
    return bool(effect.loops) and effect.loops[-1] is loop


def _steps(size: int) -> int:
    """Return the largest power of two up to MOST that divides the loop."""
    steps = MOST
    while size % steps:
        steps //= 2
    return steps


# -------------------------------------------------------------------------------------------------
# Register blocking of matrix products: rows by vectors of columns.

BUSY = 10
"""Sums that must be under way at a time: two multiply-adds begin in a cycle and take up to five."""


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """A register block: rows that are computed together, each in some vectors."""

    rows: int
    vectors: int
    lanes: int


def block_of(step: Matmul, cpu: CpuTarget) -> RegisterBlock:
    """Return the block of a multiply.

    Its sums, one row of the right side and an element of the left side are in registers. A power of
    two leaves no rows over; it is taken where it keeps the multipliers busy.
    """
    m, n = step.result.shape[-2:]
    # Vectors must divide the row: the microkernel has no masked remainder.
    lanes = gcd(n, cpu.vector_bytes // itemsize(step.result.elem))
    # Two vectors per row reuse each broadcast element of the left side twice.
    vectors = 2 if n % (2 * lanes) == 0 else 1
    # rows * vectors sums, `vectors` registers for the right side and one for the broadcast element.
    fitting = min((cpu.vector_registers - 1) // vectors - 1, m)
    even = 1 << (fitting.bit_length() - 1)
    rows = even if even * vectors >= BUSY or even == m else fitting
    return RegisterBlock(rows, vectors, lanes)


def row_blocks(m: int, rows: int) -> tuple[int, list[int]]:
    """Return the number of complete blocks of rows, and the rows of the last block.

    A small rest would leave the multipliers idle, so it shares the rows of the block before it.
    """
    count, rest = divmod(m, rows)
    # A remainder of at least half a block is efficient enough as it is.
    if 2 * rest >= rows or not rest or not count:
        return count, [rest] if rest else []
    both = rows + rest
    return count - 1, [both - both // 2, both // 2]


# --- block coarsening --------------------------------------------------------------------------

REACH = 64 << 10
"""Bytes of a row that a worker had better walk at a time: memory is slow where rows are left and
begun, and whole rows that follow each other are one long row."""


def coarsen_blocks(plan: Plan) -> None:
    """Choose the grid axis along which blocks are joined, if there is one."""
    nests = [s for s in plan.body if isinstance(s, Nest)]
    if nests and all(map(_is_simple, plan.body)):
        axes = _grid_axes(plan.body)
        for axis in sorted(set(axes.values())):
            found = _spread(nests, _Numbers(plan.body, axis))
            if found:
                plan.joined = Joined(axis, found)
                plan.together = max(1, REACH // _row_bytes(found))
                return


def _row_bytes(spread: dict[ElementAccess, int]) -> int:
    """Return the bytes of a block's part of a row, in the tensor of the smallest elements."""
    return min(
        access.view.tile[k] * itemsize(access.view.tensor.dtype) for access, k in spread.items()
    )


def _is_simple(statement: Stmt) -> bool:
    """Return whether the kind of a statement permits execution once for several blocks."""
    match statement:
        case ScalarStmt(op):
            return op.defn.effects is Effect.NONE
        case Nest():
            stores = all(isinstance(effect, WriteView) for effect in statement.effects)
            reads = all(isinstance(r, Compute | Position | ReadView) for r in statement.reads)
            return stores and reads and statement.lanes > 1 and not statement.descending
        case JumpStmt():
            return statement.kind == "return"
        case _:
            return False


def _grid_axes(body: Iterable[Stmt]) -> dict[Value, int]:
    """Return the scalars that are a block's place in the grid."""
    ops = [s.op for s in body if isinstance(s, ScalarStmt)]
    return {op.result: op.attrs["axis"] for op in ops if op.is_a(BLOCK_ID)}


class _Numbers:
    """The scalars that are the block's position along one grid axis, and those derived from it."""

    def __init__(self, body: Iterable[Stmt], axis: int) -> None:
        self.own = {value for value, k in _grid_axes(body).items() if k == axis}
        self.dependent = set(self.own)
        for statement in body:
            if isinstance(statement, ScalarStmt) and self.touches(statement.op.operands):
                self.dependent.update(statement.op.results)

    def touches(self, values: Iterable[object]) -> bool:
        """Return whether one of some values depends on the place."""
        return any(value in self.dependent for value in values)


def _spread(nests: Sequence[Nest], numbers: _Numbers) -> dict[ElementAccess, int] | None:
    """Return, for each access, the axis along which tiles of adjacent blocks are adjacent.

    None if blocks cannot run together; accesses that are the same for all blocks are left out.
    """
    spread: dict[ElementAccess, int] = {}
    for nest in nests:
        if any(_depends(read, nest.loops[-1], numbers) for read in nest.reads):
            return None
        for statement in (*nest.reads, *nest.effects):
            if isinstance(statement, ReadView | WriteView):
                places = _places(statement, nest.loops[-1], numbers)
                if places is None or (isinstance(statement, WriteView) and not places):
                    return None
                spread.update(dict.fromkeys([statement.access], places[0]) if places else {})
    return spread


def _depends(read: Read, lanes: Loop, numbers: _Numbers) -> bool:
    """Return whether a statement uses the position of the block, or of an element in its tile."""
    if isinstance(read, Position):
        return lanes in loops_in([read.axis])
    return numbers.touches(operands_of(read))


def _places(statement: ReadView | WriteView, lanes: Loop, numbers: _Numbers) -> list[int] | None:
    """Return the axis along which the tiles of neighbouring blocks follow each other: one or none.

    None if an access has another relation between its block, its lanes and memory.
    """
    access, view = statement.access, statement.access.view
    if view.frame is not None or view.sparse is not None or numbers.touches([access.guard]):
        return None
    found: list[int] = []
    for k, (axis, where) in enumerate(zip(statement.index, access.where, strict=True)):
        follows = axis == (IndexField(lanes, view.tile[k]),)
        adjacent = (view.step or view.tile)[k] == view.tile[k]
        if where in numbers.own and follows and adjacent:
            found.append(k)
        elif numbers.touches([where]) or lanes in loops_in([axis]):
            return None
    return found


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
    if loop is None or nest.has_row_per_lane:
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
    axes = _grid_axis_of(plan.body)
    read_before: set[Value] = set()
    marked: set[Value] = set()
    for nest in _plain_nests(plan.body):
        loads = [read for read in nest.reads if isinstance(read, ReadView)]
        for read in loads:
            tensor = read.access.tensor
            # The second loop over a tile hits the caches, and so does a loop with much arithmetic
            # per element; both leave the memory bus idle.
            in_cache = tensor in read_before or _nest_cost(nest) >= HEAVY
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


def _grid_axis_of(body: Sequence[Stmt]) -> dict[Value, int | None]:
    """Return the scalars that are block positions, by grid axis; constants have None."""
    found: dict[Value, int | None] = {}
    for statement in body:
        if isinstance(statement, ScalarStmt) and statement.op.is_a(BLOCK_ID, CONSTANT):
            op = statement.op
            found[op.result] = op.attrs["axis"] if op.is_a(BLOCK_ID) else None
    return found


def _nest_cost(nest: Nest) -> int:
    """Return the cost of an element, without the parts that are equal in all lanes."""
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


# -------------------------------------------------------------------------------------------------
# Privatization of small accumulators: a worker combines into a copy first, then into memory.
#
# An atomic update takes twenty cycles, or hundreds where workers update one cache line. A copy
# in scratch memory takes ordinary updates; at the end of each run of blocks, its elements are
# combined into the accumulator atomically, once. Only the launch knows the extents, so the code
# decides there: if the copy fits, and each of its elements is updated several times in a run.


PRIVATE_BYTES = 64 << 10
"""The size of a copy at most: it stays in the second-level cache beside the tiles of a block."""


def privatize_accumulators(plan: Plan, limit: int) -> None:
    """Reserve scratch memory for a copy of each accumulator that one operation updates."""
    found: dict[Value, list[AtomicView]] = {}
    for nest in walk(plan.body):
        if isinstance(nest, Nest):
            for effect in nest.effects:
                if isinstance(effect, AtomicView):
                    found.setdefault(effect.access.tensor, []).append(effect)
    shared = {
        value
        for value, spec in zip(plan.params, plan.func.signature.params, strict=True)
        if isinstance(spec, OutputSpec) and spec.shared
    }
    for tensor, updates in found.items():
        first = updates[0]
        is_one = all(u.op.attrs["mode"] is first.op.attrs["mode"] for u in updates)
        at = ceil_div(plan.scratch_bytes, SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        if tensor in shared and is_one and at + PRIVATE_BYTES <= limit:
            capacity = PRIVATE_BYTES // itemsize(first.access.view.tensor.dtype)
            count = sum(prod(u.access.view.tile) for u in updates)
            plan.private[tensor] = PrivateCopy(first.op, at, capacity, count)
            plan.scratch_bytes = at + PRIVATE_BYTES
