"""The plan level of the CPU backend: typed IR to buffers, loop nests and vector statements."""

from __future__ import annotations

from ....ir.core import Func
from ..target import CpuTarget
from .ahead import fetch_ahead
from .arena import place_buffers
from .decisions import decisions
from .jam import jam_reductions
from .join import join_blocks
from .lower import lower
from .nodes import Plan
from .printer import print_plan
from .share import share_tiles
from .stream import mark_streams
from .verify import InvalidPlan, verify_plan
from .width import narrow_streams

__all__ = ["InvalidPlan", "Plan", "build_plan", "print_plan", "verify_plan"]


def build_plan(func: Func, cpu: CpuTarget) -> Plan:
    """Plan a kernel for a CPU: what is computed in which loop, and where tiles live."""
    plan = lower(func, cpu.lane_bytes, cpu.vector_bytes)
    place_buffers(plan, cpu.scratch_limit)
    share_tiles(plan, cpu.scratch_limit)
    mark_streams(plan)
    narrow_streams(plan, cpu)
    jam_reductions(plan)
    fetch_ahead(plan)
    join_blocks(plan)
    verify_plan(plan)
    plan.decisions = decisions(plan, cpu)
    return plan
