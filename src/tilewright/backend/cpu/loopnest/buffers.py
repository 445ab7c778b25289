"""Buffers of a plan: liveness, coalescing of copies, and offsets by greedy interval packing.

Sections: backward liveness analysis with the interference graph, and the placement of buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from ....base.cpu_abi import SCRATCH_ALIGNMENT
from ....base.errors import Code, CompileError
from ....base.shapes import ceil_div, shape_text
from ....base.source import where
from .nodes import (
    AtomicPointer,
    Combine,
    For,
    If,
    JumpStmt,
    Matmul,
    Nest,
    Plan,
    Print,
    ReadBuffer,
    Repeat,
    ScopeStmt,
    SharedStmt,
    Stmt,
    TileBuffer,
    Transpose,
    Variable,
    WriteBuffer,
    bodies,
    buffers_of,
    needed_reads,
    reads_of,
    walk,
    writes_of,
)

# -------------------------------------------------------------------------------------------------
# Liveness: a backward dataflow analysis over the statements of a plan, and the interference graph.

Live: TypeAlias = frozenset[TileBuffer]
Visit: TypeAlias = Callable[[Stmt, Live], None]
NONE: Live = frozenset()


@dataclass(slots=True)
class _Targets:
    """The live buffers at the targets of jumps."""

    head: Live
    exit: Live


class Liveness:
    """Backward liveness analysis; `visit` sees each statement with the buffers live after it.

    Loops are walked until nothing changes, so a statement may be seen several times, with sets that
    only grow.
    """

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.loops: list[_Targets] = []
        self.scopes: list[Live] = []

    def body(self, statements: list[Stmt], live: Live) -> Live:
        """Return the buffers that are live before a run of statements."""
        for statement in reversed(statements):
            live = self.statement(statement, live)
        return live

    def statement(self, statement: Stmt, live: Live) -> Live:
        """Return the buffers that are live before a statement."""
        match statement:
            case JumpStmt():
                return self.jump(statement)
            case If():
                return self.body(statement.then, live) | self.body(statement.orelse, live)
            case SharedStmt():
                return self.body(statement.body, live) | live
            case ScopeStmt():
                self.scopes.append(live)
                before = self.body(statement.body, live)
                self.scopes.pop()
                return before
            case For() | Repeat():
                return self.loop(statement, live)
            case _:
                self.visit(statement, live)
                return (live - set(kills(statement))) | set(reads_of(statement))

    def loop(self, loop: For | Repeat, live: Live) -> Live:
        """Return the buffers that are live before a loop, by iteration to a fixpoint."""
        # A `for` may run no iteration, so what is live after it is live at its head; a `loop` is
        # left by a break only.
        targets = _Targets(live if isinstance(loop, For) else NONE, live)
        self.loops.append(targets)
        # Fixpoint iteration: the set at the head only grows and is bounded by the buffers.
        while True:
            before = targets.head | self.body(loop.body, targets.head)
            if before == targets.head:
                break
            targets.head = before
        self.loops.pop()
        return targets.head

    def jump(self, jump: JumpStmt) -> Live:
        """Return the buffers that are live at the target of a jump."""
        if jump.kind == "return":
            return NONE
        if jump.kind == "leave":
            return self.scopes[-1]
        return self.loops[-1].head if jump.kind == "continue" else self.loops[-1].exit


def kills(statement: Stmt) -> list[TileBuffer]:
    """Return the buffers that a statement overwrites completely."""
    if isinstance(statement, Transpose):
        return [statement.target]
    if not isinstance(statement, Nest):
        return []
    ended: list[TileBuffer] = []
    for effect in statement.effects:
        match effect:
            case WriteBuffer() if effect.shift == 0:
                ended.append(effect.buffer)
            case Combine() | AtomicPointer():
                ended += writes_of(Nest((), 1, [], [effect]))
            case _:
                pass
    # A nest that also reads the buffer may still need the old contents of later elements.
    read = set(reads_of(statement))
    return [b for b in ended if b not in read]


Graph: TypeAlias = dict[TileBuffer, set[TileBuffer]]


def interference(body: list[Stmt], exact: Callable[[Nest, TileBuffer, TileBuffer], bool]) -> Graph:
    """Return the interference graph: which buffers must not share memory.

    `exact(nest, written, read)` tells that a nest reads each element no later than it writes the
    same element of the other buffer, so that both may be one buffer.
    """
    graph: Graph = {}

    def forbid(a: TileBuffer, others: Collection[TileBuffer]) -> None:
        graph.setdefault(a, set()).update(b for b in others if b is not a)
        for b in others:
            if b is not a:
                graph.setdefault(b, set()).add(a)

    def visit(statement: Stmt, live: Live) -> None:
        reads, writes = reads_of(statement), writes_of(statement)
        for written in writes:
            # A copy makes source and target equal, so these two may share memory even if both are
            # live.
            forbid(written, {*live, *writes} - set(copied_from(statement, written)))
            for read in reads:
                if not (isinstance(statement, Nest) and exact(statement, written, read)):
                    forbid(written, [read])

    Liveness(visit).body(body, NONE)
    return graph


def copied_from(statement: Stmt, target: TileBuffer) -> list[TileBuffer]:
    """Return the buffer that a nest merely copies into `target`, or None."""
    if not isinstance(statement, Nest):
        return []
    writes = [e for e in statement.effects if isinstance(e, WriteBuffer) and e.buffer is target]
    if len(writes) != 1 or writes_of(statement).count(target) != 1 or writes[0].part:
        return []
    return [
        read.buffer
        for read in statement.reads
        if isinstance(read, ReadBuffer) and read.result is writes[0].value
        if read.index == writes[0].index and read.buffer.layout == target.layout
    ]


# -------------------------------------------------------------------------------------------------
# Placement: coalesce copies (as in Chaitin's register allocator), then pack greedily.
#
# Buffers are placed in order of decreasing size at the lowest offset that no interfering buffer
# overlaps (greedy interval packing, first-fit decreasing). The optimum is NP-hard (dynamic storage
# allocation); the largest buffers dominate, so the greedy order is close to it.

SHOWN = 6
"""How many buffers an error lists."""


def place_buffers(plan: Plan, limit: int) -> None:
    """Place every buffer; reject a plan that does not fit into `limit` bytes."""
    # Coalescing a pair changes the interference graph, so it is rebuilt each time.
    while (pair := _copy_to_remove(plan)) is not None:
        _merge(plan, *pair)
    # Buffers may overlap at different offsets, for which the order of reads and writes per element
    # is no help: all reads and writes of one statement interfere here.
    graph = interference(plan.body, lambda nest, written, read: False)
    for buffer in sorted(buffers_of(plan), key=lambda b: -b.bytes):
        plan.offsets[buffer] = _lowest(buffer, graph, plan.offsets)
    end = max((at + b.bytes for b, at in plan.offsets.items()), default=0)
    plan.scratch_bytes = _aligned(end)
    if plan.scratch_bytes > limit:
        raise _too_large(plan, limit)


def _aligned(n: int) -> int:
    return ceil_div(n, SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT


def _lowest(buffer: TileBuffer, graph: Graph, offsets: dict[TileBuffer, int]) -> int:
    """Return the lowest offset at which no interfering buffer overlaps."""
    # Scan the gaps between the interfering buffers, which are sorted by offset, for the first fit.
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


def _describe(buffer: TileBuffer) -> str:
    elem = str(getattr(buffer.elem, "name", buffer.elem))
    shape = shape_text(buffer.shape)
    return f"{_size(buffer.bytes)}: {elem} {shape}, because {buffer.why}{where(buffer.span)}"


def _size(n: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if n >= 1 << shift:
            return f"{n / (1 << shift):.4g} {unit}"
    return f"{n} bytes"


# Copies between buffers that may be one.


def _copy_to_remove(plan: Plan) -> tuple[TileBuffer, TileBuffer] | None:
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
                # They do not interfere otherwise: both can be one buffer, and the copy disappears.
                if source not in graph.get(effect.buffer, ()):
                    return effect.buffer, source
    return None


def reads_before_writing(nest: Nest, written: TileBuffer, read: TileBuffer) -> bool:
    """Return whether each element of `read` is read no later than it is written."""
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


def _all_targets(effect: Combine | AtomicPointer) -> list[TileBuffer | Variable | None]:
    if isinstance(effect, Combine):
        return [*effect.targets, *effect.carry]
    return [effect.target]


def _merge(plan: Plan, old: TileBuffer, new: TileBuffer) -> None:
    """Merge two buffers into one; copies between them disappear."""
    for statement in walk(plan.body):
        _rename(statement, old, new)
        if isinstance(statement, Nest):
            statement.effects = [e for e in statement.effects if not _is_idle(e, statement)]
            statement.reads = needed_reads(statement)
    _drop_empty(plan.body)


def _rename(statement: Stmt, old: TileBuffer, new: TileBuffer) -> None:
    def swap(buffer: TileBuffer) -> TileBuffer:
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
            statement.args = tuple(swap(a) if isinstance(a, TileBuffer) else a for a in args)
        case _:
            pass


def _rename_effect(effect: object, old: TileBuffer, new: TileBuffer) -> None:
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
    """Return whether an effect stores a value back to the place it was read from."""
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
