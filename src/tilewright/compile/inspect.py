"""The texts of every stage of a compilation, for people who want to see what became of a kernel."""

from __future__ import annotations

from ..frontend.sources import KernelSource
from ..ir import Signature
from .options import CompileOptions
from .pipeline import PLAIN, compile_kernel
from .runner import Runner


def stage_texts(
    kernel: KernelSource, signature: Signature, target: str, options: CompileOptions = PLAIN
) -> dict[str, str]:
    """Compile afresh and give each stage's text by name, in order."""
    runner = Runner(kernel.name, keep=True, store=None)
    compile_kernel(kernel, signature, target, runner, options)
    return dict(runner.shown)


def stage_times(kernel: KernelSource, signature: Signature, target: str) -> dict[str, float]:
    """Compile afresh and give each step's time in seconds."""
    runner = Runner(kernel.name, store=None)
    compile_kernel(kernel, signature, target, runner)
    return dict(runner.times)
