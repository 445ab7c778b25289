"""The plan of the CPU backend: typed IR to buffers, loop nests and vector statements."""

from __future__ import annotations

from ....ir.core import Func
from ...llvm.object import CpuTarget
from .buffers import place_buffers
from .lower import lower
from .nodes import Plan
from .optimize import (
    coarsen_blocks,
    jam_reductions,
    mark_nontemporal_stores,
    mark_prefetches,
    narrow_streams,
    privatize_accumulators,
)
from .packing import reuse_packed_tiles
from .printer import InvalidPlan, decisions, list_plan, print_plan, verify_plan

__all__ = ["InvalidPlan", "Plan", "build_plan", "list_plan", "print_plan", "verify_plan"]


def build_plan(func: Func, cpu: CpuTarget) -> Plan:
    """Plan a kernel for a CPU: loop nests, and the buffers of materialized tiles."""
    plan = lower(func, cpu.lane_bytes, cpu.vector_bytes)
    place_buffers(plan, cpu.scratch_limit)
    reuse_packed_tiles(plan, cpu.scratch_limit)
    privatize_accumulators(plan, cpu.scratch_limit)
    mark_nontemporal_stores(plan)
    narrow_streams(plan, cpu)
    jam_reductions(plan)
    mark_prefetches(plan)
    coarsen_blocks(plan)
    verify_plan(plan)
    plan.decisions = decisions(plan, cpu)
    return plan
