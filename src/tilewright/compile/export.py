"""A kernel compiled for a CUDA architecture with what it was made from, for other programs."""

from __future__ import annotations

from dataclasses import dataclass

from ..backend.tileir.encoding.versions import version_text
from ..backend.tileir.lowered import Lowered
from ..backend.tileir.toolchain import find_toolchain
from ..frontend.sources import KernelSource
from ..ir.artifact import Artifact
from ..ir.signature import Signature
from .options import CompileOptions
from .pipeline import compile_kernel
from .runner import Runner


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
    lowered = (runner.results or {})["tile_ir"]
    assert isinstance(lowered, Lowered), "the stage before the cubin"
    version = version_text(lowered.target.version)
    return Made(artifact, lowered.bytecode(), version, find_toolchain().fingerprint)
