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
# How wide the statements of loops are that do little but move memory.
#
# Arithmetic likes wide statements: several registers at once hide its latencies. What comes from
# and goes to memory does not: the fewer bytes of one tensor are touched before it is the next
# one's turn, the better the streams share the way to memory. Such nests run in the vectors that
# the machine moves best, several in a row per round.

LIGHT_NEST = 12
"""An element that takes at most this much arithmetic waits for memory."""

SMALL_FLOATS_COMPUTE_IN = itemsize(f32)


def lane_width(lane_loop: Loop, reads: Sequence[Read], effects: Sequence[Effect]) -> int:
    """Bytes that the widest register of a nest takes per lane."""
    widths = [_width(read) for read in reads if lane_loop in read.result.loops]
    widths += [itemsize(e.buffer.elem) for e in effects if isinstance(e, WriteBuffer)]
    return max(widths, default=1)


def _width(read: Read) -> int:
    """Small floats are widened to be computed with."""
    width = itemsize(read.result.elem)
    return max(width, SMALL_FLOATS_COMPUTE_IN) if isinstance(read, Compute) else width


def narrow_streams(plan: Plan, cpu: CpuTarget) -> None:
    """Give nests that wait for memory the statements that memory likes."""
    for nest in walk(plan.body):
        if isinstance(nest, Nest) and is_stream(nest):
            narrow = gcd(nest.lanes, _narrow_lanes(nest, cpu.stream_bytes))
            nest.lanes, nest.unroll = narrow, nest.lanes // narrow


def _narrow_lanes(nest: Nest, nbytes: int) -> int:
    """The lanes of a vector of so many bytes; but what goes past the caches is not cut smaller."""
    nontemporal = [
        e.access.view.tensor for e in nest.effects if isinstance(e, WriteView) and e.nontemporal
    ]
    least = [VECTOR // itemsize(tensor.dtype) for tensor in nontemporal]
    return max(nbytes // lane_width(nest.loops[-1], nest.reads, nest.effects), *least, 1)


def is_stream(nest: Nest) -> bool:
    """Whether a nest only stores to tensors, and what it stores is cheap to compute."""
    stores = all(isinstance(effect, WriteView) for effect in nest.effects)
    return stores and nest.lanes > 1 and sum(map(_cost, nest.reads)) <= LIGHT_NEST


def _cost(read: Read) -> int:
    match read:
        case Compute():
            return read.op.defn.cost
        case ReadView():
            return FOREVER if read.access.view.sparse is not None else 0
        case ReadBuffer() | Position():
            return 0
        case _:
            return FOREVER


# -------------------------------------------------------------------------------------------------
# Which reductions along an outer axis take several steps at once.
#
# Their accumulators are in memory. Several rows that are reduced together read and write them
# once, and come as so many streams, each of which memory serves on its own.

MOST = 8
LIGHT_REDUCTION = 6
"""The most that computing an element may cost: what costs more does not wait for memory."""


def jam_reductions(plan: Plan) -> None:
    """Set how many steps run side by side in each nest of a plan."""
    for nest in walk(plan.body):
        if isinstance(nest, Nest) and _reduces_rows(nest) and _is_light(nest):
            nest.jam = _steps(nest.loops[-2].size)


def _is_light(nest: Nest) -> bool:
    """Whether an element is computed with few simple instructions."""
    if not all(isinstance(r, Compute | Position | ReadBuffer | ReadView) for r in nest.reads):
        return False
    return sum(r.op.defn.cost for r in nest.reads if isinstance(r, Compute)) <= LIGHT_REDUCTION


def _reduces_rows(nest: Nest) -> bool:
    """Whether a nest only reduces along the loop around the lanes."""
    if nest.lanes == 1 or len(nest.loops) < 2:
        return False
    return all(_is_along(effect, nest.loops[-2]) for effect in nest.effects)


def _is_along(effect: Effect, loop: Loop) -> bool:
    if not isinstance(effect, Combine) or effect.scan:
        return False
    return bool(effect.loops) and effect.loops[-1] is loop


def _steps(size: int) -> int:
    """As many as divide the loop."""
    steps = MOST
    while size % steps:
        steps //= 2
    return steps


# -------------------------------------------------------------------------------------------------
# How a product of tiles is cut into what registers hold: rows by vectors of columns.

BUSY = 10
"""Sums that must be under way at a time: two multiply-adds begin in a cycle and take up to five."""


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """So many rows are computed together, each in so many vectors."""

    rows: int
    vectors: int
    lanes: int


def block_of(step: Matmul, cpu: CpuTarget) -> RegisterBlock:
    """The block of a multiply.

    Its sums, one row of the right side and an element of the left side are in registers. A power of
    two leaves no rows over; it is taken where it keeps the multipliers busy.
    """
    m, n = step.result.shape[-2:]
    lanes = gcd(n, cpu.vector_bytes // itemsize(step.result.elem))
    vectors = 2 if n % (2 * lanes) == 0 else 1
    fitting = min((cpu.vector_registers - 1) // vectors - 1, m)
    even = 1 << (fitting.bit_length() - 1)
    rows = even if even * vectors >= BUSY or even == m else fitting
    return RegisterBlock(rows, vectors, lanes)


def row_blocks(m: int, rows: int) -> tuple[int, list[int]]:
    """How many whole blocks of rows there are, and what the last ones have.

    A small rest would leave the multipliers idle, so it shares the rows of the block before it.
    """
    count, rest = divmod(m, rows)
    if 2 * rest >= rows or not rest or not count:
        return count, [rest] if rest else []
    both = rows + rest
    return count - 1, [both - both // 2, both // 2]
