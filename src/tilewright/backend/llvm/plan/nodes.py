"""The plan as data: whole-tile steps, loop nests and control flow, and what they read and write.

A plan says where every tile lives and in which loops it is computed. `values` has what statements
speak of, `statements` what stands inside of a loop nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from ....base.source import Span
from ....ir.core import Func, Op, Value
from .statements import Nest, ReadBuffer, targets_of
from .values import Access, Buffer, Variable

# Whole steps.


@dataclass(eq=False, slots=True)
class Scalar:
    """An op on scalars, tensors and views: its results are plan scalars."""

    op: Op


@dataclass(eq=False, slots=True)
class Matmul:
    """result += lhs @ rhs, all in buffers of the computing type."""

    lhs: Buffer
    rhs: Buffer
    result: Buffer
    span: Span | None = None


@dataclass(eq=False, slots=True)
class Transpose:
    """target = source with its axes in another order, the last one too; source is row-major."""

    source: Buffer
    target: Buffer
    order: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Print:
    """A print record of scalars and buffers; `site` is its number."""

    op: Op
    args: tuple[Value | Buffer, ...]


@dataclass(eq=False, slots=True)
class Put:
    """Gives a variable a new value."""

    variable: Variable
    value: Value


@dataclass(eq=False, slots=True)
class Get:
    """Names the present value of a variable."""

    result: Value
    variable: Variable


@dataclass(eq=False, slots=True)
class For:
    """Counts `iv` from lower by step while below upper."""

    op: Op
    iv: Value
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Repeat:
    """Runs its body until a break."""

    body: list[Stmt]


@dataclass(eq=False, slots=True)
class If:
    """One of two bodies."""

    cond: Value
    then: list[Stmt]
    orelse: list[Stmt]


@dataclass(eq=False, slots=True)
class Scope:
    """A body that can be left."""

    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Jump:
    """Where control goes next: continue, break, leave or return."""

    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """A number that goes through so many values again and again, where work goes by groups."""

    number: Value
    size: int


@dataclass(eq=False, slots=True)
class Shared:
    """Fills a copy of `buffer` by its body, unless it still has that tile from earlier work.

    `key` are the numbers that the tile depends on, beside what is the same in all blocks; `tags`
    has those of each copy. The copy is chosen by `number`, a loop's variable; a tile that differs
    along an axis by which blocks, or the tiles of a mapped output, are grouped has a set of copies
    per row of the group.
    """

    buffer: Buffer
    tags: Buffer
    key: tuple[Value, ...]
    number: Value
    body: list[Stmt]
    rows: tuple[Row, ...] = ()
    visited: bool = False
    """Whether one block meets the tile again: it visits many tiles of a mapped output."""

    @property
    def sets(self) -> int:
        """How many sets of copies there are."""
        return prod(row.size for row in self.rows)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The order of blocks: so many rows together, along `row_axis`, column after column."""

    row_axis: int
    column_axis: int
    rows: int


Step: TypeAlias = Scalar | Nest | Matmul | Transpose | Print | Put | Get
Stmt: TypeAlias = Step | For | Repeat | If | Scope | Shared | Jump


@dataclass(frozen=True, slots=True)
class Joined:
    """Blocks that follow each other along one axis of the grid run as one.

    Their tiles do, too: `spread` has the axis of each access that moves from block to block.
    """

    axis: int
    spread: dict[Access, int]


@dataclass(eq=False, slots=True)
class Plan:
    """A whole kernel. `offsets` places each buffer in the arena of `scratch_bytes`."""

    func: Func
    """The kernel as it was given: its signature, sites and checks."""
    params: tuple[Value, ...]
    body: list[Stmt]
    sites: dict[Op, int] = field(default_factory=dict[Op, int])
    offsets: dict[Buffer, int] = field(default_factory=dict[Buffer, int])
    scratch_bytes: int = 0
    joined: Joined | None = None
    decisions: list[str] = field(default_factory=list[str])
    grouping: Grouping | None = None
    together: int = 1
    """How many blocks in a row one worker had better run, since they share tiles."""

    @property
    def name(self) -> str:
        """The kernel's name, which is the entry symbol."""
        return self.func.name


def bodies(statement: Stmt) -> tuple[list[Stmt], ...]:
    """The statement lists inside a statement."""
    match statement:
        case For() | Repeat() | Scope() | Shared():
            return (statement.body,)
        case If():
            return statement.then, statement.orelse
        case _:
            return ()


def walk(body: list[Stmt]) -> Iterator[Stmt]:
    """All statements in order, those inside after the one that holds them."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from walk(inner)


def buffers_of(plan: Plan) -> list[Buffer]:
    """Every buffer the plan speaks of, in order of appearance."""
    found: dict[Buffer, None] = {}
    for statement in walk(plan.body):
        found.update(dict.fromkeys([*reads_of(statement), *writes_of(statement)]))
    return list(found)


def reads_of(statement: Stmt) -> list[Buffer]:
    """The buffers a statement reads (not those in its bodies)."""
    match statement:
        case Nest():
            return [s.buffer for s in statement.reads if isinstance(s, ReadBuffer)]
        case Matmul():
            return [statement.lhs, statement.rhs, statement.result]
        case Transpose():
            return [statement.source]
        case Print():
            return [a for a in statement.args if isinstance(a, Buffer)]
        case Shared():
            return [statement.tags]
        case _:
            return []


def writes_of(statement: Stmt) -> list[Buffer]:
    """The buffers a statement writes (not those in its bodies)."""
    match statement:
        case Nest():
            return [b for effect in statement.effects for b in targets_of(effect)]
        case Matmul():
            return [statement.result]
        case Transpose():
            return [statement.target]
        case Shared():
            return [statement.tags]
        case _:
            return []
