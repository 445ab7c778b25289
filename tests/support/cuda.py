"""Kernels on their way to CUDA, without a launch: IR as the backend gets it, programs, bytecode."""

from __future__ import annotations

from typing import Any

from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.bytecode.enums import NEWEST, Version
from tilewright.backend.tileir.lowered import Lowered
from tilewright.backend.tileir.target import CodegenHints, TileTarget
from tilewright.compile.pipeline import CUDA_PASSES, PASSES
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Func
from tilewright.ir.verify import verify
from tilewright.launch.inspection import Inspection
from tilewright.passes.reroll_loops import reroll_loops


def cuda_ir(kernel: Any, *args: Any, **constants: Any) -> Func:
    """The IR of a kernel for such arguments, as the CUDA backend gets it."""
    inspection = Inspection(kernel.kernel, args, constants, "sm_90")
    return prepared(build(kernel.source, inspection.signature))


def prepared(func: Func) -> Func:
    """IR as the front end gives it, after all passes for CUDA."""
    for pass_ in (reroll_loops, *PASSES, *CUDA_PASSES):
        func = pass_(func)
    verify(func, "passes")
    return func


def lowered(
    func: Func, version: Version = NEWEST, arch: str = "sm_90", **codegen_hints: Any
) -> Lowered:
    return tileir.lowered(func, TileTarget(arch, version, CodegenHints(**codegen_hints)))
