"""Marks non-temporal stores: those that fill whole cache lines of tensors that are never read.

A store through the caches reads the line first. Where outputs are larger than the caches, that
doubles what goes over the bus, and throws out what others could use.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ....ir.opdef import Effect
from .effects import Location, location_of, may_alias
from .facts import is_ordered
from .nodes import Plan, walk
from .statements import Nest, WriteView
from .values import itemsize

LINE = 64
"""Bytes of a cache line; one that is written in parts is not worth it."""
VECTOR = 32
"""The least bytes of one store."""


def mark_nontemporal_stores(plan: Plan) -> None:
    """Mark the stores of a plan that may be streamed."""
    reads = [location_of(op) for op in plan.func.walk() if _lets_read(op)]
    for nest in walk(plan.body):
        if isinstance(nest, Nest):
            for effect in nest.effects:
                if isinstance(effect, WriteView):
                    effect.nontemporal = _is_unread(effect, reads) and _fills_lines(nest, effect)


def nontemporal_stores(plan: Plan) -> list[WriteView]:
    """The stores that may be streamed, in order."""
    return [
        effect
        for nest in walk(plan.body)
        if isinstance(nest, Nest)
        for effect in nest.effects
        if isinstance(effect, WriteView) and effect.nontemporal
    ]


def _lets_read(op: Op) -> bool:
    """Whether an op reads memory, or tells others that they may."""
    return bool(op.defn.effects & Effect.READ) or is_ordered(op)


def _is_unread(write: WriteView, reads: Sequence[Location]) -> bool:
    """Whether the tensor is a parameter that the kernel only writes."""
    written = Location(param=write.access.view.tensor.param)
    return written.param is not None and not any(may_alias(written, read) for read in reads)


def _fills_lines(nest: Nest, write: WriteView) -> bool:
    """Whether the innermost loop writes whole lines, in vectors of neighbouring elements."""
    view, loop = write.access.view, nest.lane_loop
    if loop is None or any(access.view.sparse is not None for access in nest.accesses):
        return False
    size = itemsize(view.tensor.dtype)
    dense = any(
        axis and axis[-1].source is loop and view.tensor.strides[dim] == 1
        for axis, dim in zip(write.index, view.dim_map, strict=True)
    )
    return dense and nest.lanes * size >= VECTOR and loop.size * size % LINE == 0
