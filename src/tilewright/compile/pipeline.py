"""The map of the compiler: passes and stages from a captured kernel to an artifact, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..base.stage import Stage
from ..frontend.capture.sources import Dialect, KernelSource
from ..frontend.interp.build import Built, build_captured
from ..ir.artifact import Artifact
from ..ir.core import Func
from ..ir.ops.control import BREAKPOINT
from ..ir.signature import Signature
from ..passes.accumulate_tiles import accumulate_tiles
from ..passes.bounds_checks import place_checks, prove_checks
from ..passes.canonicalize import canonicalize
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.fma_contraction import fma_contraction
from ..passes.insert_tokens import insert_tokens
from ..passes.licm import licm
from ..passes.lower_control_flow import lower_control_flow
from ..passes.needed_precision import needed_precision
from ..passes.rematerialize import rematerialize
from ..passes.reroll_loops import reroll_loops
from ..passes.split_accesses import split_accesses
from ..passes.split_loops import split_loops
from ..passes.split_scans import split_scans
from ..passes.transpose_products import transpose_products
from ..passes.uniform_trip_counts import uniform_trip_counts
from .legality import HOSTS, accept, accept_checks, limit_depth
from .options import CAN_STOP, PLAIN, CompileOptions
from .runner import Runner

FIRST_CUDA_PASSES = (reroll_loops,)
"""What comes before the shared passes for CUDA: while copies of unrolled code are still alike."""

PASSES = (
    # First, so that no access of the source is forgotten.
    prove_checks,
    canonicalize,
    cse,
    licm,
    split_loops,
    # What hoisting has moved lets more checks move.
    place_checks,
    # Splitting leaves constant conditions behind, and copies that are now equal.
    canonicalize,
    cse,
    dce,
    # Last, so that every backend multiplies and adds in the very same places.
    fma_contraction,
    needed_precision,
    dce,
)

LEFT_OUT: dict[str, tuple[str, ...]] = {
    "placed": (),
    "pinned": ("place_checks",),
    "forced": ("prove_checks", "place_checks"),
}
"""The passes that each way to place checks does without."""

CUDA_PASSES = (
    lower_control_flow,
    canonicalize,
    cse,
    dce,
    transpose_products,
    accumulate_tiles,
    split_scans,
    split_accesses,
    cse,
    dce,
    rematerialize,
    dce,
    insert_tokens,
)
"""What follows for CUDA: Tile IR has less control flow, and no order of accesses but by tokens."""

LANE_PASSES = (uniform_trip_counts, canonicalize, cse, dce)
"""What follows for SIMT kernels on the CPU, whose threads are lanes."""

WARP_GROUPS = ("sm_90",)
"""Architectures whose products take one operand from registers, but not the other."""


Passes: TypeAlias = Sequence[Callable[[Func], Func]]


def shared_passes(options: CompileOptions = PLAIN) -> Passes:
    """Return the passes of all targets, but for those that options switch off."""
    if options.needed_precision is False:
        return tuple(pass_ for pass_ in PASSES if pass_ is not needed_precision)
    return PASSES


def cuda_passes(target: str, options: CompileOptions = PLAIN) -> Passes:
    """Return the passes that follow for one CUDA architecture."""
    wanted = options.register_operands
    if target in WARP_GROUPS if wanted is None else wanted:
        return CUDA_PASSES
    return tuple(pass_ for pass_ in CUDA_PASSES if pass_ is not transpose_products)


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
    tiles_on_cuda = target not in HOSTS and kernel.dialect == "tile"
    for first in FIRST_CUDA_PASSES if tiles_on_cuda else ():
        func = run.pass_(first, func)
    for pass_ in shared_passes(options):
        if pass_.__name__ not in LEFT_OUT[checks]:
            func = run.pass_(pass_, func)
    func = run.verified("passes", func)
    obligations = accept_checks(kernel, func, checks)
    lanes = LANE_PASSES if (target, kernel.dialect) == ("cpu", "simt") else ()
    for lowering in cuda_passes(target, options) if tiles_on_cuda else lanes:
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
        from ..backend.simt_cpu import module as simt_cpu

        return simt_cpu.stages()
    from ..backend.ptx import module as ptx

    return ptx.stages(target)
