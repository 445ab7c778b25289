"""Detects memory-bound SIMT kernels, and selects the vector width for them."""

from __future__ import annotations

from ....analysis.uniformity import Uniformity
from ....ir.core import Block, Func, Op
from ..plan.facts import ELEMENTWISE, WEIGHTS
from ..plan.width import LIGHT
from ..target import CpuTarget

ACCESSES = ("load_slice", "store_slice", "load_ptr", "store_ptr")
LOOPS = ("for", "loop")


def is_memory_bound(func: Func, facts: Uniformity) -> bool:
    """Whether each access, in the innermost loops that have any, comes with little arithmetic."""
    found = list(_with_depth(func.body, 0))
    depths = [depth for op, depth in found if op.name in ACCESSES]
    if not depths or max(depth for _, depth in found) > max(depths):
        return False
    inner = [op for op, depth in found if depth == max(depths)]
    weight = sum(_weight(op, facts) for op in inner)
    return weight <= LIGHT * sum(op.name in ACCESSES for op in inner)


def _with_depth(block: Block, depth: int) -> list[tuple[Op, int]]:
    """All ops, with how many loops are around each."""
    found: list[tuple[Op, int]] = []
    for op in block.ops:
        found.append((op, depth))
        for region in op.regions:
            found += _with_depth(region, depth + (op.name in LOOPS))
    return found


def _weight(op: Op, facts: Uniformity) -> int:
    """What an op costs; one that is the same in all threads is done once for many."""
    if op.name not in ELEMENTWISE or not any(map(facts.varies, op.results)):
        return 0
    return WEIGHTS.get(op.name, 1)


def attributes(cpu: CpuTarget) -> str:
    """What lets LLVM move memory in the vectors that the machine moves best."""
    if cpu.stream_bytes >= cpu.vector_bytes:
        return ""
    bits = 8 * cpu.stream_bytes
    return f' "prefer-vector-width"="{bits}" "min-legal-vector-width"="0"'
