"""Privatization of small accumulators: a worker combines into its copy first, then into memory.

An atomic update takes twenty cycles, and hundreds where workers update the same cache line. A copy
in scratch memory takes ordinary updates; at the end of each run of blocks, its elements are
combined into the accumulator atomically, once. Only the launch knows the extents, so the code
decides there: if the copy fits, and each of its elements is updated several times in a run.
"""

from __future__ import annotations

from math import prod

from ....base.cpu_abi import SCRATCH_ALIGNMENT
from ....base.shapes import ceil_div
from ....ir.core import Value
from ....ir.signature import OutputSpec
from .nodes import AtomicView, Nest, Plan, PrivateCopy, itemsize, walk

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
