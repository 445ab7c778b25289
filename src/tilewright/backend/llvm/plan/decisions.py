"""Says in a few lines what a plan decided: what was fused, what is kept in memory and why."""

from __future__ import annotations

from .nodes import (
    Compute,
    Matmul,
    Nest,
    Plan,
    ReadPointer,
    ReadView,
    WritePointer,
    WriteView,
    buffers_of,
    walk,
)  # fmt: skip


def decisions(plan: Plan) -> list[str]:
    """One line per nest, multiply and buffer."""
    lines: list[str] = []
    for statement in walk(plan.body):
        match statement:
            case Nest() if statement.loops:
                lines.append(_nest(statement))
            case Matmul():
                lines.append(_matmul(statement))
            case _:
                pass
    for buffer in buffers_of(plan):
        shape = "x".join(map(str, buffer.shape))
        where = f" ({buffer.span.place})" if buffer.span is not None else ""
        lines.append(f"kept {shape} in {buffer.bytes} bytes: {buffer.why}{where}")
    lines.append(f"scratch {plan.scratch_bytes} bytes per worker")
    return lines


def _nest(nest: Nest) -> str:
    sizes = "x".join(str(loop.size) for loop in nest.loops)
    ops = sum(isinstance(read, Compute) for read in nest.reads)
    loads = sum(isinstance(read, ReadView | ReadPointer) for read in nest.reads)
    stores = sum(isinstance(effect, WriteView | WritePointer) for effect in nest.effects)
    where = f" ({nest.span.place})" if nest.span is not None else ""
    counts = f"{ops} ops, {loads} loads, {stores} stores"
    return f"fused {counts} into one loop nest {sizes}, {nest.lanes} lanes{where}"


def _matmul(step: Matmul) -> str:
    m, n, k = *step.result.shape[-2:], step.lhs.shape[-1]
    where = f" ({step.span.place})" if step.span is not None else ""
    return f"multiply {m}x{n}x{k} from packed tiles{where}"
