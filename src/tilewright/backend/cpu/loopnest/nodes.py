"""The loop-nest plan as data: values, vector statements, loop nests, control flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from ....base.dtypes import AnyDType
from ....base.shapes import Shape
from ....base.source import Span
from ....ir.core import Func, Op, Value
from ....ir.ops.reduction import SCAN
from ....ir.types import Elem, PtrType, ViewType
from .index import Index, IndexField, Layout, Loop

# -------------------------------------------------------------------------------------------------
# Operands of statements: buffers, variables, registers, constants, tensor tiles.
#
# Scalars (rank-0 values of the IR) keep their IR values as names, so they have no class here.


def itemsize(elem: Elem) -> int:
    """Return the size in bytes of one element in a buffer; pointers are addresses."""
    return 8 if isinstance(elem, PtrType) else elem.itemsize


@dataclass(eq=False, slots=True)
class TileBuffer:
    """A tile in the worker's arena. `why` says who needs it in memory."""

    name: str
    elem: Elem
    layout: Layout
    why: str
    span: Span | None = None
    copies: int = 1
    """How many tiles of the kind there is room for."""

    @property
    def shape(self) -> Shape:
        """The tile's shape."""
        return tuple(prod(p.size for p in axis) for axis in self.layout)

    @property
    def bytes(self) -> int:
        """Its size in the arena."""
        return self.copies * self.tile_bytes

    @property
    def tile_bytes(self) -> int:
        """The size of one tile."""
        return prod(self.shape) * itemsize(self.elem)


@dataclass(eq=False, slots=True)
class Variable:
    """A scalar that changes: carried by a loop, or given by a branch or a nest."""

    name: str
    elem: Elem


@dataclass(eq=False, slots=True)
class Reg:
    """One element per lane, or one for all lanes if `loops` does not hold the lane loop."""

    elem: Elem
    loops: frozenset[Loop] = frozenset()


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    elem: AnyDType
    value: float | int | bool


Operand: TypeAlias = Reg | Value | Literal
"""What a statement reads: a register, a scalar of the plan, or a constant."""


@dataclass(eq=False, slots=True)
class ElementAccess:
    """A tile of a tensor: the view, where in it, and the guard."""

    view: ViewType
    tensor: Value
    where: tuple[Value, ...]
    guard: Value | None
    span: Span | None = None


# -------------------------------------------------------------------------------------------------
# Loop nests of a plan, and the vector statements in them.
#
# In a nest, registers hold one element per lane. A statement that reads defines a register; a
# statement with an effect writes registers to buffers, tensors and variables.

# Statements that give a register.


@dataclass(eq=False, slots=True)
class Compute:
    """An elementwise op; the op itself says what and how."""

    result: Reg
    op: Op
    args: tuple[Operand, ...]


@dataclass(eq=False, slots=True)
class Position:
    """The coordinate along one axis, as a number."""

    result: Reg
    axis: tuple[IndexField, ...]


@dataclass(eq=False, slots=True)
class ReadBuffer:
    """An element of a buffer."""

    result: Reg
    buffer: TileBuffer
    index: Index


@dataclass(eq=False, slots=True)
class ReadView:
    """An element of a tensor, or padding; `row` is the coordinate along a sparse axis.

    Where `prefetch` says by which axis of the grid each index of the tile moves (None: none), the
    next block's tile is fetched as well.
    """

    result: Reg
    access: ElementAccess
    index: Index
    row: Operand | None = None
    prefetch: tuple[int | None, ...] | None = None


@dataclass(eq=False, slots=True)
class ReadPointer:
    """A read through an address where the mask holds, else padding.

    One that is `ordered` is seen by other blocks in the order of the program.
    """

    result: Reg
    address: Operand
    mask: Operand | None
    padding: Operand | None
    ordered: bool = False
    span: Span | None = None


Read: TypeAlias = Compute | Position | ReadBuffer | ReadView | ReadPointer


# Statements that have an effect.


@dataclass(eq=False, slots=True)
class WriteBuffer:
    """Puts an element into a buffer, or into the part of it that has another layout and starts
    `shift` elements further on."""

    buffer: TileBuffer
    index: Index
    value: Operand
    part: Layout | None = None
    shift: int = 0

    @property
    def layout(self) -> Layout:
        """The layout of the elements."""
        return self.buffer.layout if self.part is None else self.part


@dataclass(eq=False, slots=True)
class WriteView:
    """A write of an element to a tensor, if it is in bounds.

    A `nontemporal` one bypasses the caches if the launch requests it.
    """

    access: ElementAccess
    index: Index
    value: Operand
    row: Operand | None = None
    nontemporal: bool = False


@dataclass(eq=False, slots=True)
class WritePointer:
    """A write of an element through an address, if the mask holds."""

    address: Operand
    value: Operand
    mask: Operand | None
    elem: AnyDType
    ordered: bool = False
    span: Span | None = None


@dataclass(eq=False, slots=True)
class SetVariable:
    """An assignment to a variable that is read after the nest."""

    variable: Variable
    value: Operand


@dataclass(eq=False, slots=True)
class Combine:
    """A reduction or a scan: `body` of op combines elements into accumulators along `loops`.

    Each target is where the results go: a buffer with its index, or a variable. With `scan` every
    step is written; otherwise only the last.
    """

    op: Op
    values: tuple[Operand, ...]
    loops: tuple[Loop, ...]
    targets: tuple[TileBuffer | Variable, ...]
    index: Index
    carry: tuple[TileBuffer, ...] = ()
    carry_index: Index = ()

    @property
    def scan(self) -> bool:
        """Whether every step is written."""
        return self.op.is_a(SCAN)


@dataclass(eq=False, slots=True)
class AtomicPointer:
    """Read-modify-write or compare-and-swap through addresses; the old value goes to target."""

    op: Op
    address: Operand
    values: tuple[Operand, ...]
    mask: Operand | None
    target: TileBuffer | Variable | None
    index: Index


@dataclass(eq=False, slots=True)
class AtomicView:
    """An atomic update of a tensor, if it is in bounds."""

    op: Op
    access: ElementAccess
    index: Index
    value: Operand
    row: Operand | None = None


NestEffect: TypeAlias = (
    WriteBuffer | WriteView | WritePointer | SetVariable | Combine | AtomicPointer | AtomicView
)


@dataclass(eq=False, slots=True)
class Nest:
    """Loops, outermost first, the last one in steps of `lanes`; reads come before effects.

    The last loop takes `unroll` steps per iteration, one after the other; `jam` steps of the loop
    around it run side by side (unroll-and-jam). A `descending` nest runs its loops downwards.
    """

    loops: tuple[Loop, ...]
    lanes: int
    reads: list[Read]
    effects: list[NestEffect]
    descending: bool = False
    span: Span | None = None
    unroll: int = 1
    jam: int = 1

    @property
    def lane_loop(self) -> Loop | None:
        """The loop that the lanes run along."""
        return self.loops[-1] if self.loops else None

    @property
    def accesses(self) -> list[ElementAccess]:
        """The tensor tiles it touches."""
        found: list[ElementAccess] = []
        for statement in (*self.reads, *self.effects):
            if isinstance(statement, ReadView | WriteView | AtomicView):
                found.append(statement.access)
        return found

    @property
    def has_row_per_lane(self) -> bool:
        """Whether the lanes of an access have separate rows, so that they are no neighbours."""
        return any(
            isinstance(row, Reg) and self.lane_loop in row.loops
            for statement in (*self.reads, *self.effects)
            if isinstance(statement, ReadView | WriteView | AtomicView)
            for row in [statement.row]
        )


def targets_of(effect: NestEffect) -> list[TileBuffer]:
    """Return the buffers that an effect writes."""
    match effect:
        case WriteBuffer():
            return [effect.buffer]
        case Combine():
            return [b for b in (*effect.targets, *effect.carry) if isinstance(b, TileBuffer)]
        case AtomicPointer():
            return [effect.target] if isinstance(effect.target, TileBuffer) else []
        case _:
            return []


def operands_of(statement: Read | NestEffect) -> list[Operand]:
    """Return the registers, scalars and constants that a statement of a nest reads."""
    given: list[Operand | None] = []
    match statement:
        case Compute():
            given += statement.args
        case ReadPointer():
            given += [statement.address, statement.mask, statement.padding]
        case WriteBuffer() | SetVariable():
            given.append(statement.value)
        case ReadView():
            given.append(statement.row)
        case WriteView() | AtomicView():
            given += [statement.value, statement.row]
        case WritePointer():
            given += [statement.address, statement.value, statement.mask]
        case Combine():
            given += statement.values
        case AtomicPointer():
            given += [statement.address, *statement.values, statement.mask]
        case _:
            pass
    return [operand for operand in given if operand is not None]


def needed_reads(nest: Nest) -> list[Read]:
    """Return the reads that some effect depends on, in order."""
    needed = {o for effect in nest.effects for o in operands_of(effect)}
    kept: list[Read] = []
    for read in reversed(nest.reads):
        if read.result in needed:
            kept.append(read)
            needed.update(operands_of(read))
    return kept[::-1]


# -------------------------------------------------------------------------------------------------
# The plan: steps on complete tiles, loop nests and control flow, with their reads and writes.
#
# A plan has the memory of every tile and the loops in which it is computed.

# Whole steps.


@dataclass(eq=False, slots=True)
class ScalarStmt:
    """An op on scalars, tensors and views: its results are plan scalars."""

    op: Op


@dataclass(eq=False, slots=True)
class Matmul:
    """result += lhs @ rhs, all in buffers of the computing type."""

    lhs: TileBuffer
    rhs: TileBuffer
    result: TileBuffer
    span: Span | None = None


@dataclass(eq=False, slots=True)
class Transpose:
    """target = source with its axes in another order, the last one too; source is row-major."""

    source: TileBuffer
    target: TileBuffer
    order: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Print:
    """A print record of scalars and buffers; `site` is its number."""

    op: Op
    args: tuple[Value | TileBuffer, ...]


@dataclass(eq=False, slots=True)
class Put:
    """An assignment to a variable."""

    variable: Variable
    value: Value


@dataclass(eq=False, slots=True)
class Get:
    """A name for the present value of a variable."""

    result: Value
    variable: Variable


@dataclass(eq=False, slots=True)
class For:
    """A loop that counts `iv` from lower by step while below upper."""

    op: Op
    iv: Value
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Repeat:
    """A loop that runs until a break."""

    body: list[Stmt]
    span: Span | None = None


@dataclass(eq=False, slots=True)
class If:
    """A branch: one of two bodies runs."""

    cond: Value
    then: list[Stmt]
    orelse: list[Stmt]
    span: Span | None = None


@dataclass(eq=False, slots=True)
class ScopeStmt:
    """A body that can be left."""

    body: list[Stmt]


@dataclass(eq=False, slots=True)
class JumpStmt:
    """A jump: continue, break, leave or return."""

    kind: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A number that cycles through so many values where blocks run in groups."""

    number: Value
    size: int


@dataclass(eq=False, slots=True)
class SharedStmt:
    """A cached tile: the body fills a copy of `buffer` unless it still holds that tile.

    `key` are the numbers that the tile depends on, beside what is the same in all blocks; `tags`
    has those of each copy. The copy is chosen by `number`, a loop's variable; a tile that differs
    along an axis by which blocks, or the tiles of a mapped output, are grouped has a set of copies
    per row of the group.
    """

    buffer: TileBuffer
    tags: TileBuffer
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


Step: TypeAlias = ScalarStmt | Nest | Matmul | Transpose | Print | Put | Get
Stmt: TypeAlias = Step | For | Repeat | If | ScopeStmt | SharedStmt | JumpStmt


@dataclass(frozen=True, slots=True)
class Joined:
    """Adjacent blocks along one axis of the grid that run as one.

    Their tiles do, too: `spread` has the axis of each access that moves from block to block.
    """

    axis: int
    spread: dict[ElementAccess, int]


@dataclass(frozen=True, slots=True)
class PrivateCopy:
    """Scratch memory for a worker's own copy of an accumulator.

    `op` updates it, `updates` elements per block at least; `capacity` elements fit, at `offset`.
    """

    op: Op
    offset: int
    capacity: int
    updates: int


@dataclass(eq=False, slots=True)
class Plan:
    """A whole kernel. `offsets` places each buffer in the arena of `scratch_bytes`."""

    func: Func
    """The kernel as it was given: its signature, sites and checks."""
    params: tuple[Value, ...]
    body: list[Stmt]
    sites: dict[Op, int] = field(default_factory=dict[Op, int])
    offsets: dict[TileBuffer, int] = field(default_factory=dict[TileBuffer, int])
    scratch_bytes: int = 0
    private: dict[Value, PrivateCopy] = field(default_factory=dict[Value, PrivateCopy])
    """The accumulators that workers may have copies of."""
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
    """Return the statement lists inside a statement."""
    match statement:
        case For() | Repeat() | ScopeStmt() | SharedStmt():
            return (statement.body,)
        case If():
            return statement.then, statement.orelse
        case _:
            return ()


def walk(body: list[Stmt]) -> Iterator[Stmt]:
    """Yield all statements in order, those inside after the one that holds them."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from walk(inner)


def buffers_of(plan: Plan) -> list[TileBuffer]:
    """Return every buffer the plan speaks of, in order of appearance."""
    found: dict[TileBuffer, None] = {}
    for statement in walk(plan.body):
        found.update(dict.fromkeys([*reads_of(statement), *writes_of(statement)]))
    return list(found)


def reads_of(statement: Stmt) -> list[TileBuffer]:
    """Return the buffers a statement reads (not those in its bodies)."""
    match statement:
        case Nest():
            return [s.buffer for s in statement.reads if isinstance(s, ReadBuffer)]
        case Matmul():
            return [statement.lhs, statement.rhs, statement.result]
        case Transpose():
            return [statement.source]
        case Print():
            return [a for a in statement.args if isinstance(a, TileBuffer)]
        case SharedStmt():
            return [statement.tags]
        case _:
            return []


def writes_of(statement: Stmt) -> list[TileBuffer]:
    """Return the buffers a statement writes (not those in its bodies)."""
    match statement:
        case Nest():
            return [b for effect in statement.effects for b in targets_of(effect)]
        case Matmul():
            return [statement.result]
        case Transpose():
            return [statement.target]
        case SharedStmt():
            return [statement.tags]
        case _:
            return []


def span_of(statement: Stmt | Read | NestEffect) -> Span | None:
    """Return the place of a statement in the source; None where it has none."""
    match statement:
        case ScalarStmt() | Print() | For() | Compute() | Combine() | AtomicPointer():
            return statement.op.span
        case ReadView() | WriteView() | AtomicView():
            return statement.access.span
        case Nest() | Matmul() | If() | Repeat() | JumpStmt() | ReadPointer() | WritePointer():
            return statement.span
        case SharedStmt():
            return statement.buffer.span
        case _:
            return None
