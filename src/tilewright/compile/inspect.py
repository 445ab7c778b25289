"""The texts of every stage of a compilation, for people who want to see what became of a kernel."""

from __future__ import annotations

from ..backend.tileir.cubin import is_cubin
from ..backend.tileir.listing import listings
from ..backend.tileir.target import is_architecture
from ..base.config import override
from ..frontend.sources import KernelSource
from ..ir.signature import Signature
from .options import PLAIN, CompileOptions
from .pipeline import compile_kernel
from .runner import Runner


def stage_texts(
    kernel: KernelSource, signature: Signature, target: str, options: CompileOptions = PLAIN
) -> dict[str, str]:
    """Compile afresh and give each stage's text by name, in order."""
    with override(line_info=True):  # which changes no instruction, and shows where they come from
        runner = Runner(kernel.name, keep=True, store=None)
        artifact, _ = compile_kernel(kernel, signature, target, runner, options)
    if is_architecture(target) and is_cubin(artifact.code):
        return {**runner.shown, **listings(artifact.code)}
    return dict(runner.shown)


def stage_times(kernel: KernelSource, signature: Signature, target: str) -> dict[str, float]:
    """Compile afresh and give each step's time in seconds."""
    runner = Runner(kernel.name, store=None)
    compile_kernel(kernel, signature, target, runner)
    return dict(runner.times)
