"""How wide the statements of loops are that do little but move memory.

Arithmetic likes wide statements: several registers at once hide its latencies. What comes from and
goes to memory does not: the fewer bytes of one tensor are touched before it is the next one's turn,
the better the streams share the way to memory. Such nests run in the vectors that the machine
moves best, several in a row per round.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ....base.dtypes import f32
from ..target import CpuTarget
from .facts import FOREVER, WEIGHTS
from .index import Loop
from .nodes import Plan, walk
from .nontemporal import VECTOR
from .statements import (
    Compute,
    Effect,
    Nest,
    Position,
    Read,
    ReadBuffer,
    ReadView,
    WriteBuffer,
    WriteView,
)
from .values import itemsize

LIGHT = 12
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
    return stores and nest.lanes > 1 and sum(map(_cost, nest.reads)) <= LIGHT


def _cost(read: Read) -> int:
    match read:
        case Compute():
            return WEIGHTS.get(read.op.name, 1)
        case ReadView():
            return FOREVER if read.access.view.sparse is not None else 0
        case ReadBuffer() | Position():
            return 0
        case _:
            return FOREVER
