"""Says in a few lines what a plan decided: what was fused, what is kept in memory and why."""

from __future__ import annotations

from ....base.shapes import shape_text
from ....base.source import where
from ..target import CpuTarget
from .blocking import block_of
from .nodes import Matmul, Plan, Shared, Transpose, buffers_of, walk
from .nontemporal import nontemporal_stores
from .prefetch import prefetched_reads
from .statements import (
    AtomicPointer,
    AtomicView,
    Combine,
    Compute,
    Nest,
    ReadBuffer,
    ReadPointer,
    ReadView,
    WriteBuffer,
    WritePointer,
    WriteView,
)

SHOWN = 12
"""How many ops of a nest are named."""


def decisions(plan: Plan, cpu: CpuTarget) -> list[str]:
    """One line per nest, multiply, buffer and streamed output."""
    lines: list[str] = []
    for statement in walk(plan.body):
        match statement:
            case Nest() if statement.loops:
                lines.append(_nest(statement))
            case Matmul():
                lines.append(_matmul(statement, cpu))
            case Shared():
                lines.append(_shared(statement))
            case Transpose():
                lines.append(f"transpose {shape_text(statement.source.shape)} by {statement.order}")
            case _:
                pass
    for buffer in buffers_of(plan):
        shape = shape_text(buffer.shape)
        lines.append(
            f"materialize {shape} in {buffer.bytes} bytes: {buffer.why}{where(buffer.span)}"
        )
    for name in dict.fromkeys(write.access.view.tensor.param for write in nontemporal_stores(plan)):
        lines.append(f"non-temporal stores to {name} if outputs are large")
    for name in dict.fromkeys(read.access.view.tensor.param for read in prefetched_reads(plan)):
        lines.append(f"prefetch {name} for the next block")
    if plan.grouping is not None:
        lines.append(f"order blocks in groups of {plan.grouping.rows} rows, column by column")
    if plan.joined is not None:
        lines.append(f"coarsen adjacent blocks along axis {plan.joined.axis} into one loop")
    lines.append(f"scratch {plan.scratch_bytes} bytes per worker")
    return lines


def _nest(nest: Nest) -> str:
    words = [word for statement in (*nest.reads, *nest.effects) for word in _words(statement)]
    shown = ", ".join(words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")
    sizes = shape_text(tuple(loop.size for loop in nest.loops))
    return f"one loop nest {sizes}, {lanes_text(nest)} lanes: {shown}{where(nest.span)}"


def lanes_text(nest: Nest) -> str:
    """The lanes of a vector, and how many vectors a round takes."""
    return f"{nest.unroll} x {nest.lanes}" if nest.unroll > 1 else str(nest.lanes)


def _words(statement: object) -> list[str]:
    """What a statement does, in a word or two."""
    match statement:
        case Compute() | Combine() | AtomicPointer() | AtomicView():
            return [statement.op.name]
        case ReadView():
            return [f"load {statement.access.tensor.name}".rstrip()]
        case WriteView():
            return [f"store {statement.access.tensor.name}".rstrip()]
        case ReadBuffer() | ReadPointer():
            return ["read"]
        case WriteBuffer() | WritePointer():
            return ["write"]
        case _:
            return []


def _shared(statement: Shared) -> str:
    buffer = statement.buffer
    whose = "the tiles that a block visits" if statement.visited else "blocks"
    tiles = f"{buffer.copies} tiles {shape_text(buffer.shape)}"
    return f"reuse up to {tiles} between {whose}{where(buffer.span)}"


def _matmul(step: Matmul, cpu: CpuTarget) -> str:
    m, n, k = *step.result.shape[-2:], step.lhs.shape[-1]
    block = block_of(step, cpu)
    columns = f"{block.vectors} x {block.lanes}" if block.vectors > 1 else str(block.lanes)
    size = f"{block.rows} rows by {columns} lanes"
    return f"multiply {m}x{n}x{k} from packed tiles, {size}{where(step.span)}"
