"""Stages of the CUDA backend: typed IR to a Tile IR program, to bytecode, to a cubin.

The bytecode is written here; tileiras, which runs as a separate process, assembles the cubin.
Kernels are called as `base.cuda_abi` defines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from ...base.dtypes import AnyDType
from ...base.errors import Code, CompileError
from ...base.source import Span
from ...base.stage import Listing, Stage
from ...ir.artifact import Artifact
from ...ir.core import Func, Value
from ...ir.types import PtrType, TensorType, TileType, ViewType
from .bytecode.program import Program, list_program
from .choices import Choices
from .disassembly import disassembled
from .heuristics import decide
from .lower.kernel import lower
from .lowered import CAREFUL, Lowered, artifact, codec_for
from .selection import select
from .target import DTYPES_SINCE, OPS_SINCE, CodegenHints, TileTarget
from .toolchain import Toolchain, find_toolchain, listings

# --- rejects what an architecture does not have, before its assembler does, with the location ---


def refuse_unknown(func: Func, target: TileTarget) -> None:
    """Raise for an operation or an element type that a target does not have."""
    for op in func.walk():
        since, what = OPS_SINCE.get(op.name, (0, ""))
        if since > target.number:
            _refuse(target, what, since, op.span)
    for what, span, value in _values(func):
        dtype = _dtype(value)
        since = DTYPES_SINCE.get(dtype, 0) if dtype is not None else 0
        if dtype is not None and since > target.number:
            _refuse(target, f"{dtype.name}{what}", since, span)


def _refuse(target: TileTarget, what: str, since: int, span: Span | None) -> NoReturn:
    raise CompileError(
        f"{target.arch} has no {what}",
        expected=f"sm_{since} or newer, or another element type",
        got=target.arch,
        hint="convert on the host, or run on the CPU, which has all element types",
        span=span,
        code=Code.TARGET,
    )


def _values(func: Func) -> Iterator[tuple[str, Span | None, Value]]:
    """Yield all values; those of ops first, for they have places."""
    for op in func.walk():
        yield from (("", op.span, result) for result in op.results)
    for spec, param in zip(func.signature.params, func.params, strict=True):
        yield f", the element type of `{spec.name}` of `{func.name}`", None, param


def _dtype(value: Value) -> AnyDType | None:
    match value.type:
        case TileType():
            elem = value.type.elem
            return elem.to if isinstance(elem, PtrType) else elem
        case TensorType():
            return value.type.dtype
        case ViewType():
            return value.type.tensor.dtype
        case _:
            return None


# --- stages of the CUDA backend ----------------------------------------------------------------

PRODUCER = "tilewright"


def stages_for(arch: str, codegen_hints: CodegenHints) -> tuple[Stage, ...]:
    """Return the stages for an architecture, with the installed assembler and its bytecode."""
    tool = find_toolchain()
    return stages(TileTarget(arch, tool.version, codegen_hints), tool)


def stages(target: TileTarget, tool: Toolchain) -> tuple[Stage, ...]:
    """Return the steps from typed IR, after `insert_tokens`, to an artifact."""
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
    assert isinstance(result, Artifact), "the last stage returns an artifact"
    return result
