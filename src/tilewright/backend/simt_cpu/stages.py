"""Stages of SIMT kernels on the CPU: typed IR to a plan of threads, LLVM text, an object file."""

from __future__ import annotations

from ...base.stage import Stage
from ...ir.artifact import Artifact
from ..llvm.object import CpuTarget, artifact, codec_for, compile_module, host_target, summary
from .module import emit_threads
from .plan import Threads, plan_threads, print_threads

TOGETHER = 64
"""Blocks of threads that a worker takes at once, where they run as one loop."""


def stages(target: CpuTarget | None = None) -> tuple[Stage, ...]:
    """Return the stages from typed IR to an artifact, by default for this machine's CPU."""
    cpu = target or host_target()
    return (
        Stage("plan", lambda func: plan_threads(func, cpu), print_threads, codec_for(cpu)),
        Stage("llvm", lambda plan: (plan, emit_threads(plan, cpu)), lambda pair: str(pair[1])),
        Stage("object", lambda pair: _artifact(pair[0], pair[1], cpu), summary),
    )


def _artifact(plan: Threads, text: str, cpu: CpuTarget) -> Artifact:
    together = TOGETHER if plan.merged else 1
    scratch = 0 if plan.cooperation is None else plan.cooperation.live_values.scratch
    code = compile_module(text, cpu)
    return artifact(plan.func, cpu, code, scratch, together, plan.decisions)
