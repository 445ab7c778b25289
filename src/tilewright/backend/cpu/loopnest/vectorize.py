"""Vector widths, unroll-and-jam of reductions, register blocking of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from ....base.dtypes import f32
from ...llvm.target import CpuTarget
from .cache_hints import VECTOR
from .facts import FOREVER
from .index import Loop
from .nodes import (
    Combine,
    Compute,
    Effect,
    Matmul,
    Nest,
    Plan,
    Position,
    Read,
    ReadBuffer,
    ReadView,
    WriteBuffer,
    WriteView,
    itemsize,
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


def lane_width(lane_loop: Loop, reads: Sequence[Read], effects: Sequence[Effect]) -> int:
    """Return bytes that the widest register of a nest takes per lane."""
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
    """Return whether a nest only stores to tensors, and what it stores is cheap to compute."""
    stores = all(isinstance(effect, WriteView) for effect in nest.effects)
    return stores and nest.lanes > 1 and sum(map(_cost, nest.reads)) <= LIGHT_NEST


def _cost(read: Read) -> int:
    match read:
        case Compute():
            return read.op.defn.cost
        case ReadView():
            # Gathers are bound by latency, not by bandwidth, so narrow vectors do not help them.
            return FOREVER if read.access.view.sparse is not None else 0
        case ReadBuffer() | Position():
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


def _is_along(effect: Effect, loop: Loop) -> bool:
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
    """Return how many whole blocks of rows there are, and what the last ones have.

    A small rest would leave the multipliers idle, so it shares the rows of the block before it.
    """
    count, rest = divmod(m, rows)
    # A remainder of at least half a block is efficient enough as it is.
    if 2 * rest >= rows or not rest or not count:
        return count, [rest] if rest else []
    both = rows + rest
    return count - 1, [both - both // 2, both // 2]
