"""The map of the compiler: from a captured kernel to an artifact, in the order things happen."""

from __future__ import annotations

from ..backend import llvm, reference, tileir
from ..base.stage import Stage
from ..frontend.build import Built, build_captured
from ..frontend.sources import Dialect, KernelSource
from ..ir import Signature
from ..ir.artifact import Artifact
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
    tiles_on_cuda = tileir.is_architecture(target) and kernel.dialect == "tile"
    for pass_ in CUDA_PASSES if tiles_on_cuda else ():
        func = run.pass_(pass_, func)
    result: object = run.stages(stages(target, options, kernel.dialect), func)
    assert isinstance(result, Artifact)
    return result, built


def stages(
    target: str, options: CompileOptions = PLAIN, dialect: Dialect = "tile"
) -> tuple[Stage, ...]:
    """The backend's own steps."""
    if target in ("reference", "null"):
        return reference.stages()
    if dialect == "simt":
        return llvm.simt_stages(target)
    if target == "cpu":
        return llvm.stages(llvm.host_target())
    return tileir.stages_for(target, options.wishes)
