"""The map of the compiler: from a captured kernel to an artifact, in the order things happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..backend.tileir.target import is_architecture
from ..base.errors import Code, CompileError
from ..base.stage import Stage
from ..frontend.capture.sources import Dialect, KernelSource
from ..frontend.interp.build import Built, build_captured
from ..ir.artifact import Artifact
from ..ir.signature import Signature
from ..passes.bounds_checks import place_checks, prove_checks
from ..passes.canonicalize import canonicalize
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.fma_contraction import fma_contraction
from ..passes.insert_tokens import insert_tokens
from ..passes.licm import licm
from ..passes.lower_control_flow import lower_control_flow
from ..passes.rematerialize import rematerialize
from ..passes.split_loops import split_loops
from .checks import LEFT_OUT, accepted
from .legality import accept
from .options import PLAIN, CompileOptions
from .runner import Runner

# -------------------------------------------------------------------------------------------------
# Says of a kernel that is nested too deeply for Python's own stack what it is.

P = ParamSpec("P")
R = TypeVar("R")


def tells_depth(
    compile_: Callable[Concatenate[KernelSource, P], R],
) -> Callable[Concatenate[KernelSource, P], R]:
    """Let a compiler, which goes down into what it compiles, refuse what has no end in sight."""

    @wraps(compile_)
    def compiling(kernel: KernelSource, /, *args: P.args, **keywords: P.kwargs) -> R:
        try:
            return compile_(kernel, *args, **keywords)
        except RecursionError:
            # Not raised from it: its traceback is as long as the stack.
            error = CompileError(
                f"`{kernel.name}` is nested too deeply",
                code=Code.RESOURCES,
                span=kernel.source.span(kernel.source.node),
                expected="shallower nesting",
                hint="name parts of long expressions, and replace chains of branches by a loop or a"
                " tensor; or raise sys.setrecursionlimit(...)",
            )
        raise error

    return compiling


# -------------------------------------------------------------------------------------------------
# What each target makes of a function once the passes are done: the stages of its backend.


def stages(
    target: str, options: CompileOptions = PLAIN, dialect: Dialect = "tile"
) -> tuple[Stage, ...]:
    """The backend's own steps for a target; a backend is loaded with its first kernel."""
    if target in ("reference", "null"):
        from ..backend.reference import interpreter

        return interpreter.stages()
    if dialect == "simt" or target == "cpu":
        from ..backend.cpu import stages as llvm

        return llvm.simt_stages(target) if dialect == "simt" else llvm.stages()
    from ..backend.tileir import stages as tileir

    return tileir.stages_for(target, options.codegen_hints)


# -------------------------------------------------------------------------------------------------
# The map of the compiler: from a captured kernel to an artifact, in the order things happen.

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
    dce,
)

CUDA_PASSES = (lower_control_flow, canonicalize, cse, dce, rematerialize, dce, insert_tokens)
"""What follows for CUDA: Tile IR has less control flow, and no order of accesses but by tokens."""


@tells_depth
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
    accept(func, target, kernel.dialect)
    checks = options.checks or run.config.checks
    for pass_ in PASSES:
        if pass_.__name__ not in LEFT_OUT[checks]:
            func = run.pass_(pass_, func)
    func = run.verified("passes", func)
    obligations = accepted(kernel, func, checks)
    tiles_on_cuda = is_architecture(target) and kernel.dialect == "tile"
    for pass_ in CUDA_PASSES if tiles_on_cuda else ():
        func = run.pass_(pass_, func)
    result: object = run.stages(stages(target, options, kernel.dialect), func)
    assert isinstance(result, Artifact)
    return replace(result, obligations=obligations), built
