"""Stages of the CUDA backend: typed IR to a Tile IR program, to bytecode, to a cubin.

The bytecode is written here; tileiras, which runs as a separate process, assembles the cubin.
Kernels are called as `base.cuda_abi` defines.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...base.listing import Listing
from ...base.stage import Stage
from ...ir.artifact import Artifact
from ...ir.core import Func
from .bytecode.program import Program, list_program
from .choices import Choices
from .disassembly import disassembled
from .heuristics import decide
from .legality import refuse_unknown
from .lower.kernel import lower
from .lowered import CAREFUL, Lowered, artifact, codec_for
from .selection import select
from .target import CodegenHints, TileTarget
from .toolchain import Toolchain, find_toolchain, listings

PRODUCER = "tilewright"


def stages_for(arch: str, codegen_hints: CodegenHints) -> tuple[Stage, ...]:
    """Return the stages for an architecture, with the installed assembler and its bytecode."""
    tool = find_toolchain()
    return stages(TileTarget(arch, tool.version, codegen_hints), tool)


def stages(target: TileTarget, tool: Toolchain) -> tuple[Stage, ...]:
    """Return the steps from typed IR, as `insert_tokens` gives it, to an artifact."""
    return (
        Stage("tile_ir", lambda func: lowered(func, target), _text,
              also=lambda _, made: disassembled(made, tool)),
        Stage("cubin", lambda made: _artifact(made, tool), _summary, codec_for(tool, again),
              also=lambda _, made: listings(made.code)),
    )  # fmt: skip


def lowered(func: Func, target: TileTarget, choices: Choices | None = None) -> Lowered:
    """Decide, and lower; without choices by those of the tables."""
    refuse_unknown(func, target)
    decisions = decide(func, target, choices)
    kernel = lower(func, target, decisions)
    decisions = replace(decisions, lines=(*decisions.lines, *kernel.notes))
    return Lowered(func, target, decisions, Program((kernel,), PRODUCER))


def _text(made: Lowered) -> Listing:
    return list_program(made.program)


def _artifact(made: Lowered, tool: Toolchain) -> Artifact:
    """Assemble the default, and others if it may not be the best."""
    found = select(made, tool, partial(again, made), partial(_with_care, made))
    winner = found.winner
    assert winner.cubin is not None, "what is selected has code"
    return artifact(
        winner.made, winner.cubin, careful=winner.careful, seconds=found.seconds,
        selected=None if found.is_default else winner.made.decisions.choices,
        candidates=found.lines,
    )  # fmt: skip


def again(made: Lowered, choices: Choices) -> Lowered:
    """Lower a kernel once more, by other choices."""
    return lowered(made.func, made.target, choices)


def _with_care(made: Lowered, choices: Choices) -> Lowered:
    return lowered(made.func, replace(made.target, careful=True), choices)


def assembled(made: Lowered, artifact: Artifact) -> Lowered:
    """Return the inputs of an artifact's cubin, from the first input of the assembler."""
    if CAREFUL in artifact.decisions:
        made = replace(made, target=replace(made.target, careful=True))
    elif not artifact.choices:
        return made
    choices = Choices.of_mapping(dict(artifact.choices)) if artifact.choices else None
    return lowered(made.func, made.target, choices)


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
