"""The map of the compiler: the stages from a captured kernel to an artifact, in order."""

from __future__ import annotations

from dataclasses import replace

from ..backend.tileir.target import is_architecture
from ..base.stage import Stage
from ..frontend.capture.sources import Dialect, KernelSource
from ..frontend.interp.build import Built, build_captured
from ..ir.artifact import Artifact
from ..ir.ops.control import BREAKPOINT
from ..ir.signature import Signature
from .checks import LEFT_OUT, accepted
from .legality import CAN_STOP, accept, limit_depth
from .options import PLAIN, CompileOptions
from .pass_order import cuda_passes, shared_passes
from .runner import Runner


@limit_depth
def compile_kernel(
    kernel: KernelSource,
    signature: Signature,
    target: str,
    runner: Runner | None = None,
    options: CompileOptions = PLAIN,
) -> tuple[Artifact, Built]:
    """Compile a kernel for one signature and one target: a host device or a CUDA architecture."""
    run = runner or Runner(kernel.name)
    built: Built = run.step("frontend", lambda _: _built(kernel, signature, target, options), None)
    func = run.verified("frontend", built.func)
    accept(func, target, kernel.dialect)
    checks = options.checks or run.config.checks
    for pass_ in shared_passes(options):
        if pass_.__name__ not in LEFT_OUT[checks]:
            func = run.pass_(pass_, func)
    func = run.verified("passes", func)
    obligations = accepted(kernel, func, checks)
    tiles_on_cuda = is_architecture(target) and kernel.dialect == "tile"
    for lowering in cuda_passes(target, options) if tiles_on_cuda else ():
        func = run.pass_(lowering, func)
    result: object = run.stages(stages(target, options, kernel.dialect), func)
    assert isinstance(result, Artifact)
    return replace(result, obligations=obligations), built


def _built(
    kernel: KernelSource, signature: Signature, target: str, options: CompileOptions
) -> Built:
    """Return the IR; where a debugger may stop, with an event for each statement."""
    if options.stops is None:
        built = build_captured(kernel, signature)
        if target != CAN_STOP or not any(op.is_a(BREAKPOINT) for op in built.func.walk()):
            return built
    return build_captured(kernel, signature, stepped=True)


def stages(
    target: str, options: CompileOptions = PLAIN, dialect: Dialect = "tile"
) -> tuple[Stage, ...]:
    """Return the stages of a target's backend, which is loaded with its first kernel.

    | target            | tile kernels            | SIMT kernels            |
    |-------------------|-------------------------|-------------------------|
    | reference, null   | interpret               | interpret               |
    | cpu               | plan, llvm, object      | plan, llvm, object      |
    | sm_80 and later   | tile_ir, cubin          | llvm, ptx               |
    """
    if target in ("reference", "null"):
        from ..backend.reference import interpreter as reference

        return reference.stages()
    if dialect == "simt":
        return _simt_stages(target)
    if target == "cpu":
        from ..backend.cpu import stages as cpu

        return cpu.stages()
    from ..backend.tileir import stages as tileir

    return tileir.stages_for(target, options.codegen_hints)


def _simt_stages(target: str) -> tuple[Stage, ...]:
    if target == "cpu":
        from ..backend.simt_cpu import stages as simt_cpu

        return simt_cpu.stages()
    from ..backend.ptx import stages as ptx

    return ptx.stages(target)
