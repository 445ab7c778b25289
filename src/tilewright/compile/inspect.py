"""The texts of every stage of a compilation, and kernels exported for other programs."""

from __future__ import annotations

from dataclasses import dataclass

from ..backend.tileir.bytecode.enums import version_text
from ..backend.tileir.lowered import Lowered, is_cubin
from ..backend.tileir.stages import assembled
from ..backend.tileir.target import is_architecture
from ..backend.tileir.toolchain import find_toolchain, listings
from ..base.config import override
from ..frontend.capture.sources import KernelSource
from ..ir.artifact import Artifact
from ..ir.signature import Signature
from .options import PLAIN, CompileOptions
from .pipeline import compile_kernel
from .runner import Runner

# -------------------------------------------------------------------------------------------------
# Texts of every stage of a compilation.


def stage_texts(
    kernel: KernelSource, signature: Signature, target: str, options: CompileOptions = PLAIN
) -> dict[str, str]:
    """Compile afresh and return each stage's text by name, in order."""
    with override(line_info=True):  # which changes no instruction, and shows where they come from
        runner = Runner(kernel.name, keep=True, store=None)
        artifact, _ = compile_kernel(kernel, signature, target, runner, options)
    if is_architecture(target) and is_cubin(artifact.code):
        return {**runner.shown, **listings(artifact.code)}
    return dict(runner.shown)


def stage_times(kernel: KernelSource, signature: Signature, target: str) -> dict[str, float]:
    """Compile afresh and return each step's time in seconds."""
    runner = Runner(kernel.name, store=None)
    compile_kernel(kernel, signature, target, runner)
    return dict(runner.times)


# -------------------------------------------------------------------------------------------------
# A kernel compiled for a CUDA architecture with its sources, for other programs.


@dataclass(frozen=True, slots=True)
class Made:
    """A tile kernel's cubin in its artifact, and what it was made from; or a SIMT kernel's PTX."""

    artifact: Artifact
    bytecode: bytes | None = None
    """What the cubin was made from; None: there is PTX, of which drivers make code."""
    version: str | None = None
    """The version of the bytecode."""
    assembler: str | None = None


def make(kernel: KernelSource, signature: Signature, arch: str, options: CompileOptions) -> Made:
    """Compile; the cubin may come from the disk."""
    runner = Runner(kernel.name, results={})
    artifact, _ = compile_kernel(kernel, signature, arch, runner, options)
    if kernel.dialect == "simt":
        return Made(artifact)
    first = (runner.results or {})["tile_ir"]
    assert isinstance(first, Lowered), "the stage before the cubin"
    version = version_text(first.target.version)
    bytecode = assembled(first, artifact).bytecode()
    return Made(artifact, bytecode, version, find_toolchain().fingerprint)
