"""Gives every buffer of a plan its place: merges copies away, then packs what lives together."""

from __future__ import annotations

from ....base.cpu_abi import SCRATCH_ALIGNMENT
from ....base.errors import Code, CompileError
from ....base.shapes import ceil_div, shape_text
from ....base.source import where
from .liveness import Graph, copied_from, interference
from .nodes import Matmul, Plan, Print, Stmt, Transpose, bodies, buffers_of, walk
from .statements import AtomicPointer, Combine, Nest, ReadBuffer, WriteBuffer, needed_reads
from .values import Buffer, Variable

SHOWN = 6
"""How many buffers an error lists."""


def place_buffers(plan: Plan, limit: int) -> None:
    """Decide where every buffer lives; refuse what does not fit into `limit` bytes."""
    while (pair := _copy_to_remove(plan)) is not None:
        _merge(plan, *pair)
    graph = interference(plan.body, lambda nest, written, read: False)
    for buffer in sorted(buffers_of(plan), key=lambda b: -b.bytes):
        plan.offsets[buffer] = _lowest(buffer, graph, plan.offsets)
    end = max((at + b.bytes for b, at in plan.offsets.items()), default=0)
    plan.scratch_bytes = _aligned(end)
    if plan.scratch_bytes > limit:
        raise _too_large(plan, limit)


def _aligned(n: int) -> int:
    return ceil_div(n, SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT


def _lowest(buffer: Buffer, graph: Graph, offsets: dict[Buffer, int]) -> int:
    """The lowest place that no buffer in use at the same time overlaps."""
    taken = sorted(
        (offsets[other], offsets[other] + other.bytes)
        for other in graph.get(buffer, ())
        if other in offsets
    )
    at = 0
    for start, end in taken:
        if at + buffer.bytes <= start:
            break
        at = max(at, _aligned(end))
    return at


def _too_large(plan: Plan, limit: int) -> CompileError:
    largest = sorted(plan.offsets, key=lambda b: -b.bytes)[:SHOWN]
    lines = [f"{_describe(b)}" for b in largest]
    return CompileError(
        f"the materialized tiles of kernel `{plan.name}` exceed the scratch memory of a worker",
        code=Code.RESOURCES,
        span=next((b.span for b in largest if b.span is not None), None),
        expected=f"at most {_size(limit)}",
        got=f"{_size(plan.scratch_bytes)}, the largest tiles being\n    " + "\n    ".join(lines),
        hint="use smaller tiles, or raise the limit with TILEWRIGHT_SCRATCH_LIMIT",
    )


def _describe(buffer: Buffer) -> str:
    elem = str(getattr(buffer.elem, "name", buffer.elem))
    shape = shape_text(buffer.shape)
    return f"{_size(buffer.bytes)}: {elem} {shape}, because {buffer.why}{where(buffer.span)}"


def _size(n: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if n >= 1 << shift:
            return f"{n / (1 << shift):.4g} {unit}"
    return f"{n} bytes"


# Copies between buffers that may be one.


def _copy_to_remove(plan: Plan) -> tuple[Buffer, Buffer] | None:
    graph: Graph | None = None
    for statement in walk(plan.body):
        if not isinstance(statement, Nest):
            continue
        for effect in statement.effects:
            if not isinstance(effect, WriteBuffer):
                continue
            for source in copied_from(statement, effect.buffer):
                if graph is None:
                    graph = interference(plan.body, reads_before_writing)
                if source not in graph.get(effect.buffer, ()):
                    return effect.buffer, source
    return None


def reads_before_writing(nest: Nest, written: Buffer, read: Buffer) -> bool:
    """Whether each element of `read` is read no later than the same one of `written` is written."""
    if written.layout != read.layout or written.elem != read.elem:
        return False
    writes = [e for e in nest.effects if isinstance(e, WriteBuffer) and e.buffer is written]
    others = [
        e for e in nest.effects
        if isinstance(e, Combine | AtomicPointer) and written in (*_all_targets(e),)
    ]  # fmt: skip
    if others or len(writes) != 1 or writes[0].part:
        return False
    index = writes[0].index
    same = [r.index == index for r in nest.reads if isinstance(r, ReadBuffer) and r.buffer is read]
    return all(same)


def _all_targets(effect: Combine | AtomicPointer) -> list[Buffer | Variable | None]:
    if isinstance(effect, Combine):
        return [*effect.targets, *effect.carry]
    return [effect.target]


def _merge(plan: Plan, old: Buffer, new: Buffer) -> None:
    """Let two buffers be one; copies between them go away."""
    for statement in walk(plan.body):
        _rename(statement, old, new)
        if isinstance(statement, Nest):
            statement.effects = [e for e in statement.effects if not _is_idle(e, statement)]
            statement.reads = needed_reads(statement)
    _drop_empty(plan.body)


def _rename(statement: Stmt, old: Buffer, new: Buffer) -> None:
    def swap(buffer: Buffer) -> Buffer:
        return new if buffer is old else buffer

    match statement:
        case Nest():
            for read in statement.reads:
                if isinstance(read, ReadBuffer):
                    read.buffer = swap(read.buffer)
            for effect in statement.effects:
                _rename_effect(effect, old, new)
        case Matmul():
            statement.lhs, statement.rhs = swap(statement.lhs), swap(statement.rhs)
            statement.result = swap(statement.result)
        case Transpose():
            statement.source, statement.target = swap(statement.source), swap(statement.target)
        case Print():
            args = statement.args
            statement.args = tuple(swap(a) if isinstance(a, Buffer) else a for a in args)
        case _:
            pass


def _rename_effect(effect: object, old: Buffer, new: Buffer) -> None:
    match effect:
        case WriteBuffer() if effect.buffer is old:
            effect.buffer = new
        case Combine():
            effect.targets = tuple(new if t is old else t for t in effect.targets)
            effect.carry = tuple(new if t is old else t for t in effect.carry)
        case AtomicPointer() if effect.target is old:
            effect.target = new
        case _:
            pass


def _is_idle(effect: object, nest: Nest) -> bool:
    """Whether an effect writes to a place what was just read from it."""
    if not isinstance(effect, WriteBuffer) or effect.part:
        return False
    return any(
        read.result is effect.value and read.buffer is effect.buffer and read.index == effect.index
        for read in nest.reads
        if isinstance(read, ReadBuffer)
    )


def _drop_empty(body: list[Stmt]) -> None:
    body[:] = [s for s in body if not (isinstance(s, Nest) and not s.effects)]
    for statement in body:
        for inner in bodies(statement):
            _drop_empty(inner)
