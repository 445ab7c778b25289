"""The map of the compiler: from a captured kernel to an artifact, in the order things happen."""

from __future__ import annotations

from ..backend import llvm, reference
from ..base.stage import Stage
from ..frontend.build import Built, build_captured
from ..frontend.sources import KernelSource
from ..ir import Func, Signature
from ..ir.artifact import Artifact, sites_of
from ..passes.canonicalize import canonicalize
from ..passes.contract import contract
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.hoist import hoist
from ..passes.split_loops import split_loops
from .runner import Runner

PASSES = (
    canonicalize,
    cse,
    hoist,
    split_loops,
    # Splitting leaves constant conditions behind, and copies that are now equal.
    canonicalize,
    cse,
    dce,
    # Last, so that every backend multiplies and adds in the very same places.
    contract,
    dce,
)

TARGETS = ("cpu", "reference")


def compile_kernel(
    kernel: KernelSource, signature: Signature, target: str, runner: Runner | None = None
) -> tuple[Artifact, Built]:
    """Compile a kernel for one signature and one target."""
    run = runner or Runner(kernel.name)
    built: Built = run.step("frontend", lambda _: build_captured(kernel, signature), None)
    func = run.verified("frontend", built.func)
    for pass_ in PASSES:
        func = run.pass_(pass_, func)
    func = run.verified("passes", func)
    result: object = run.stages(stages(target), func)
    assert isinstance(result, Artifact)
    return result, built


def stages(target: str) -> tuple[Stage, ...]:
    """The backend's own steps."""
    if target == "reference":
        return (Stage("interpret", _interpretable, lambda artifact: f"{artifact.name}\n"),)
    return llvm.stages(llvm.host_target())


def _interpretable(func: Func) -> Artifact:
    return Artifact(
        func.name, "reference", func.signature, func, func.launch_checks, sites_of(func),
        decisions=(f"interpreted with {len(reference.RULES)} rules",),
    )  # fmt: skip
