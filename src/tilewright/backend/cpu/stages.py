"""The native CPU backend: typed IR to plan, plan to LLVM text, text to an object file.

The code is called as `base.cpu_abi` says; the entry symbol is the artifact's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...base.stage import Stage
from ...ir.artifact import Artifact
from ...ir.core import Func
from ..llvm.object import compile_module
from ..llvm.target import CpuTarget, host_target
from ..ptx import PtxTarget, Written, compile_ptx, ptx_artifact, ptx_codec_for, write_ptx
from ..simt_cpu import Threads, emit_threads, plan_threads, print_threads
from .artifact_codec import artifact, codec_for
from .emit import emit_module
from .loopnest import Plan, build_plan, print_plan

TOGETHER = 64
"""Blocks of threads that a worker takes at once, where they run as one loop."""


@dataclass(frozen=True, slots=True)
class Module:
    """A plan and the LLVM text made from it."""

    plan: Plan
    text: str


def stages(target: CpuTarget | None = None) -> tuple[Stage, ...]:
    """The steps from typed IR to an artifact, for this machine's CPU where none is named."""
    cpu = target or host_target()
    return (
        Stage("plan", lambda func: build_plan(func, cpu), print_plan, codec_for(cpu)),
        Stage("llvm", lambda plan: Module(plan, emit_module(plan, cpu)), lambda m: str(m.text)),
        Stage("object", lambda module: _artifact(module, cpu), _summary),
    )


def simt_stages(target: str) -> tuple[Stage, ...]:
    """The steps from the typed IR of a SIMT kernel to an artifact, for `cpu` or for a GPU."""
    return _thread_stages(host_target()) if target == "cpu" else _ptx_stages(target)


def _thread_stages(cpu: CpuTarget) -> tuple[Stage, ...]:
    return (
        Stage("plan", lambda func: plan_threads(func, cpu), print_threads, codec_for(cpu)),
        Stage("llvm", lambda plan: (plan, emit_threads(plan, cpu)), _second),
        Stage("object", lambda pair: _of_threads(pair, cpu), _summary),
    )


def _ptx_stages(arch: str) -> tuple[Stage, ...]:
    """PTX is the artifact's code."""
    target = PtxTarget(arch)
    return (
        Stage("llvm", lambda func: write_ptx(func, target), lambda made: str(made.text)),
        Stage(
            "ptx",
            lambda made: ptx_artifact(made, target, _ptx(made, target)),
            lambda made: str(made.code.decode()),
            ptx_codec_for(target),
        ),
    )


def _second(pair: tuple[Any, str]) -> str:
    return pair[1]


def _ptx(made: Written, target: PtxTarget) -> bytes:
    return compile_ptx(made.text, target, made.library).encode()


def _of_threads(pair: tuple[Threads, str], cpu: CpuTarget) -> Artifact:
    plan, text = pair
    together = TOGETHER if plan.merged else 1
    scratch = 0 if plan.cooperation is None else plan.cooperation.live_values.scratch
    code = compile_module(text, cpu)
    return artifact(plan.func, cpu, code, scratch, together, plan.decisions)


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
    for stage in stages(cpu):
        result = stage.run(result)
    assert isinstance(result, Artifact), "the last stage gives an artifact"
    return result
