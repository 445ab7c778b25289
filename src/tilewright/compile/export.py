"""A kernel compiled for a CUDA architecture together with its bytecode, for other programs."""

from __future__ import annotations

from dataclasses import dataclass

from ..backend.tileir import Lowered, find_toolchain
from ..backend.tileir.encoding.versions import version_text
from ..base.errors import ContextError
from ..frontend.sources import KernelSource
from ..ir import Signature
from ..ir.artifact import Artifact
from .options import CompileOptions
from .pipeline import compile_kernel
from .runner import Runner


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel's cubin in its artifact, and what it was made from."""

    artifact: Artifact
    bytecode: bytes
    version: str
    """The version of the bytecode."""
    assembler: str


def make(kernel: KernelSource, signature: Signature, arch: str, options: CompileOptions) -> Made:
    """Compile; the cubin may come from the disk."""
    if kernel.dialect != "tile":
        raise ContextError(
            f"`{kernel.name}` is a SIMT kernel, which is exported as PTX alone",
            hint=f"{kernel.name}.ptx({arch!r}) gives it",
        )
    runner = Runner(kernel.name, results={})
    artifact, _ = compile_kernel(kernel, signature, arch, runner, options)
    lowered = (runner.results or {})["tile_ir"]
    assert isinstance(lowered, Lowered), "the stage before the cubin"
    version = version_text(lowered.target.version)
    return Made(artifact, lowered.bytecode(), version, find_toolchain().fingerprint)
