"""Which buffers hold something that is still needed, at every statement of a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from .nodes import For, If, Jump, Repeat, Scope, Shared, Stmt, Transpose, reads_of, writes_of
from .statements import AtomicPointer, Combine, Nest, ReadBuffer, WriteBuffer
from .values import Buffer

Live: TypeAlias = frozenset[Buffer]
Visit: TypeAlias = Callable[[Stmt, Live], None]
NONE: Live = frozenset()


@dataclass(slots=True)
class _Targets:
    """What is live where a jump goes."""

    head: Live
    exit: Live


class Liveness:
    """Walks a plan backwards; `visit` sees each statement with what is live after it.

    Loops are walked until nothing changes, so a statement may be seen several times, with sets that
    only grow.
    """

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.loops: list[_Targets] = []
        self.scopes: list[Live] = []

    def body(self, statements: list[Stmt], live: Live) -> Live:
        """What is live before a run of statements."""
        for statement in reversed(statements):
            live = self.statement(statement, live)
        return live

    def statement(self, statement: Stmt, live: Live) -> Live:
        """What is live before a statement."""
        match statement:
            case Jump():
                return self.jump(statement)
            case If():
                return self.body(statement.then, live) | self.body(statement.orelse, live)
            case Shared():
                return self.body(statement.body, live) | live
            case Scope():
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
        """A loop: what its head needs is needed at the end of its body too."""
        targets = _Targets(live if isinstance(loop, For) else NONE, live)
        self.loops.append(targets)
        while True:
            before = targets.head | self.body(loop.body, targets.head)
            if before == targets.head:
                break
            targets.head = before
        self.loops.pop()
        return targets.head

    def jump(self, jump: Jump) -> Live:
        """What is live where a jump goes."""
        if jump.kind == "return":
            return NONE
        if jump.kind == "leave":
            return self.scopes[-1]
        return self.loops[-1].head if jump.kind == "continue" else self.loops[-1].exit


def kills(statement: Stmt) -> list[Buffer]:
    """The buffers whose old contents a statement ends: those it writes from their start."""
    if isinstance(statement, Transpose):
        return [statement.target]
    if not isinstance(statement, Nest):
        return []
    ended: list[Buffer] = []
    for effect in statement.effects:
        match effect:
            case WriteBuffer() if effect.shift == 0:
                ended.append(effect.buffer)
            case Combine() | AtomicPointer():
                ended += writes_of(Nest((), 1, [], [effect]))
            case _:
                pass
    read = set(reads_of(statement))
    return [b for b in ended if b not in read]


Graph: TypeAlias = dict[Buffer, set[Buffer]]


def interference(body: list[Stmt], exact: Callable[[Nest, Buffer, Buffer], bool]) -> Graph:
    """Which buffers may not share memory.

    `exact(nest, written, read)` tells that a nest reads each element no later than it writes the
    same element of the other buffer, so that both may be one buffer.
    """
    graph: Graph = {}

    def forbid(a: Buffer, others: Collection[Buffer]) -> None:
        graph.setdefault(a, set()).update(b for b in others if b is not a)
        for b in others:
            if b is not a:
                graph.setdefault(b, set()).add(a)

    def visit(statement: Stmt, live: Live) -> None:
        reads, writes = reads_of(statement), writes_of(statement)
        for written in writes:
            forbid(written, {*live, *writes} - set(copied_from(statement, written)))
            for read in reads:
                if not (isinstance(statement, Nest) and exact(statement, written, read)):
                    forbid(written, [read])

    Liveness(visit).body(body, NONE)
    return graph


def copied_from(statement: Stmt, target: Buffer) -> list[Buffer]:
    """The buffer that a nest copies into `target`, element by element and nothing else."""
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
