"""The map of the compiler: from a captured kernel to an artifact, in the order things happen."""

from __future__ import annotations

from ..backend import llvm, reference, tileir
from ..base.stage import Stage
from ..frontend.build import Built, build_captured
from ..frontend.sources import KernelSource
from ..ir import Func, Signature
from ..ir.artifact import Artifact, sites_of
from ..passes.canonicalize import canonicalize
from ..passes.contract import contract
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.desugar import desugar
from ..passes.hoist import hoist
from ..passes.order_memory import order_memory
from ..passes.place_checks import place_checks
from ..passes.split_loops import split_loops
from .options import CompileOptions
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

CUDA_PASSES = (place_checks, desugar, canonicalize, cse, dce, order_memory)
"""What follows for CUDA: Tile IR has less control flow, and no order of accesses but by tokens."""

PLAIN = CompileOptions()


def compile_kernel(
    kernel: KernelSource,
    signature: Signature,
    target: str,
    runner: Runner | None = None,
    options: CompileOptions = PLAIN,
) -> tuple[Artifact, Built]:
    """Compile a kernel for one signature and one target: a host device or a CUDA architecture."""
    run = runner or Runner(kernel.name)
    built: Built = run.step("frontend", lambda _: build_captured(kernel, signature), None)
    func = run.verified("frontend", built.func)
    for pass_ in PASSES:
        func = run.pass_(pass_, func)
    func = run.verified("passes", func)
    for pass_ in CUDA_PASSES if tileir.is_architecture(target) else ():
        func = run.pass_(pass_, func)
    result: object = run.stages(stages(target, options), func)
    assert isinstance(result, Artifact)
    return result, built


def stages(target: str, options: CompileOptions = PLAIN) -> tuple[Stage, ...]:
    """The backend's own steps."""
    if target in ("reference", "null"):
        return (Stage("interpret", _interpretable, lambda artifact: f"{artifact.name}\n"),)
    if target == "cpu":
        return llvm.stages(llvm.host_target())
    return tileir.stages_for(target, options.wishes)


def _interpretable(func: Func) -> Artifact:
    return Artifact(
        func.name, "reference", func.signature, func, func.launch_checks, sites_of(func),
        decisions=(f"interpreted with {len(reference.RULES)} rules",),
    )  # fmt: skip
