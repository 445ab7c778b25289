"""Stages of tile kernels on the CPU: typed IR to a loop-nest plan, LLVM text, an object file.

The code is called as `base.cpu_abi` says; the entry symbol is the artifact's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...base.stage import Stage
from ...ir.artifact import Artifact
from ...ir.core import Func
from ..llvm.object import CpuTarget, artifact, codec_for, compile_module, host_target, summary
from .emit import emit_module
from .loopnest import Plan, build_plan, print_plan


@dataclass(frozen=True, slots=True)
class LlvmModule:
    """A plan and the LLVM text made from it."""

    plan: Plan
    text: str


def stages(target: CpuTarget | None = None) -> tuple[Stage, ...]:
    """Return the stages from typed IR to an artifact, by default for this machine's CPU."""
    cpu = target or host_target()
    return (
        Stage("plan", lambda func: build_plan(func, cpu), print_plan, codec_for(cpu)),
        Stage("llvm", lambda plan: LlvmModule(plan, emit_module(plan, cpu)), lambda m: str(m.text)),
        Stage("object", lambda module: _artifact(module, cpu), summary),
    )


def _artifact(module: LlvmModule, cpu: CpuTarget) -> Artifact:
    plan = module.plan
    code = compile_module(module.text, cpu)
    return artifact(plan.func, cpu, code, plan.scratch_bytes, plan.together, plan.decisions)


def compile_func(func: Func, cpu: CpuTarget | None = None) -> Artifact:
    """Run all stages on one function."""
    result: Any = func
    for stage in stages(cpu):
        result = stage.run(result)
    assert isinstance(result, Artifact), "the last stage returns an artifact"
    return result
