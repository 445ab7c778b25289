"""Stages of the CUDA backend: typed IR to a Tile IR program, to bytecode, to a cubin.

The bytecode is written here; tileiras, which runs as a separate process, assembles the cubin.
Kernels are called as `base.cuda_abi` defines.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from ...base.stage import Stage
from ...ir.artifact import Artifact
from ...ir.core import Func
from .assembler import Defeat, Job, attempt
from .bytecode.program import Program, program_text
from .heuristics import decide
from .legality import refuse_unknown
from .lower.kernel import lower
from .lowered import CAREFUL, Lowered, artifact, codec_for
from .target import CodegenHints, TileTarget
from .toolchain import Toolchain, find_toolchain

PRODUCER = "tilewright"


def stages_for(arch: str, codegen_hints: CodegenHints) -> tuple[Stage, ...]:
    """Return the stages for an architecture, with the installed assembler and its bytecode."""
    tool = find_toolchain()
    return stages(TileTarget(arch, tool.version, codegen_hints), tool)


def stages(target: TileTarget, tool: Toolchain) -> tuple[Stage, ...]:
    """Return the steps from typed IR, as `insert_tokens` gives it, to an artifact."""
    return (
        Stage("tile_ir", lambda func: lowered(func, target), _text),
        Stage("cubin", lambda made: _artifact(made, tool), _summary, codec_for(tool)),
    )


def lowered(func: Func, target: TileTarget) -> Lowered:
    """Decide, and lower."""
    refuse_unknown(func, target)
    decisions = decide(func, target)
    kernel = lower(func, target, decisions)
    decisions = replace(decisions, lines=(*decisions.lines, *kernel.notes))
    return Lowered(func, target, decisions, Program((kernel,), PRODUCER))


def _text(made: Lowered) -> str:
    return program_text(made.program)


def _artifact(made: Lowered, tool: Toolchain) -> Artifact:
    """Assemble; what defeats the assembler is lowered once more, with care."""
    start = time.perf_counter()
    found = attempt(_job(made), tool)
    if not isinstance(found, Defeat):
        return artifact(made, found, seconds=time.perf_counter() - start)
    again = attempt(_job(_with_care(made)), tool)
    if isinstance(again, Defeat):
        raise found.error()
    return artifact(made, again, careful=True, seconds=time.perf_counter() - start)


def _with_care(made: Lowered) -> Lowered:
    return lowered(made.func, replace(made.target, careful=True))


def assembled(made: Lowered, artifact: Artifact) -> Lowered:
    """Return the inputs of an artifact's cubin, from the first input of the assembler."""
    return _with_care(made) if CAREFUL in artifact.decisions else made


def _job(made: Lowered) -> Job:
    kernel = made.program.kernels[0]
    return Job(kernel.name, made.target.arch, made.bytecode(), kernel.span)


def _summary(made: Artifact) -> str:
    assert isinstance(made.code, bytes)
    head = f"{made.name} for {made.target}, {len(made.code)} bytes"
    return "\n".join([head, *made.decisions]) + "\n"


def compile_func(
    func: Func, arch: str = "sm_90", codegen_hints: CodegenHints | None = None
) -> Artifact:
    """Run all stages on one function that `insert_tokens` has given."""
    result: Any = func
    for stage in stages_for(arch, codegen_hints or CodegenHints()):
        result = stage.run(result)
    assert isinstance(result, Artifact), "the last stage gives an artifact"
    return result
