"""Stages of SIMT kernels on GPUs: typed IR to LLVM text for one thread, to PTX, the artifact."""

from __future__ import annotations

from ...base.stage import Stage
from ..llvm.debug_locations import directive_listing, llvm_listing
from .code import PtxTarget, compile_ptx
from .module import Written, artifact, codec_for, write_ptx


def stages(arch: str) -> tuple[Stage, ...]:
    """Return the stages from typed IR to an artifact for a CUDA architecture."""
    target = PtxTarget(arch)
    return (
        Stage("llvm", lambda func: write_ptx(func, target), lambda made: llvm_listing(made.text)),
        Stage(
            "ptx",
            lambda made: artifact(made, target, _ptx(made, target)),
            lambda made: directive_listing(made.code.decode()),
            codec_for(target),
        ),
    )


def _ptx(made: Written, target: PtxTarget) -> bytes:
    return compile_ptx(made.text, target, made.library).encode()
