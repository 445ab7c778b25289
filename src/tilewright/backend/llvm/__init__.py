"""The native CPU backend: typed IR to plan, plan to LLVM text, text to an object file.

The code is called as `base.cpu_abi` says; the entry symbol is the artifact's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...base.stage import Stage
from ...ir.artifact import Artifact
from ...ir.core import Func
from .emit import TABLE, emit_module
from .keeping import artifact, keeping_for
from .object import compile_module
from .plan import Plan, build_plan, print_plan
from .target import CpuTarget, host_target

__all__ = ["TABLE", "CpuTarget", "Module", "compile_func", "host_target", "stages"]


@dataclass(frozen=True, slots=True)
class Module:
    """A plan and the LLVM text made from it."""

    plan: Plan
    text: str


def stages(cpu: CpuTarget) -> tuple[Stage, ...]:
    """The steps from typed IR to an artifact."""
    return (
        Stage("plan", lambda func: build_plan(func, cpu), print_plan, keeping_for(cpu)),
        Stage("llvm", lambda plan: Module(plan, emit_module(plan, cpu)), lambda m: str(m.text)),
        Stage("object", lambda module: _artifact(module, cpu), _summary),
    )


def _artifact(module: Module, cpu: CpuTarget) -> Artifact:
    plan = module.plan
    code = compile_module(module.text, cpu)
    return artifact(plan.func, cpu, code, plan.scratch_bytes, plan.together, plan.decisions)


def _summary(artifact: Artifact) -> str:
    lines = [f"{artifact.name} for {artifact.target}", *artifact.decisions]
    return "\n".join(lines) + "\n"


def compile_func(func: Func, cpu: CpuTarget | None = None) -> Artifact:
    """Run all stages on one function."""
    result: Any = func
    for stage in stages(cpu or host_target()):
        result = stage.run(result)
    assert isinstance(result, Artifact), "the last stage gives an artifact"
    return result
