"""Loop nests of a plan, and the vector statements in them.

In a nest registers hold one element per lane. Statements that read give one each; statements with
an effect write them to buffers, tensors and variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ....base.dtypes import AnyDType
from ....base.source import Span
from ....ir.core import Op
from .index import Field, Index, Layout, Loop
from .values import Access, Buffer, Operand, Reg, Variable

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
    axis: tuple[Field, ...]


@dataclass(eq=False, slots=True)
class ReadBuffer:
    """An element of a buffer."""

    result: Reg
    buffer: Buffer
    index: Index


@dataclass(eq=False, slots=True)
class ReadView:
    """An element of a tensor, or padding; `row` is the coordinate along a sparse axis.

    Where `prefetch` says by which axis of the grid each index of the tile moves (None: none), the
    next block's tile is fetched as well.
    """

    result: Reg
    access: Access
    index: Index
    row: Operand | None = None
    prefetch: tuple[int | None, ...] | None = None


@dataclass(eq=False, slots=True)
class ReadPointer:
    """What an address points to where the mask holds, else padding.

    One that is `ordered` is seen by other blocks in the order of the program.
    """

    result: Reg
    address: Operand
    mask: Operand | None
    padding: Operand | None
    ordered: bool = False


Read: TypeAlias = Compute | Position | ReadBuffer | ReadView | ReadPointer


# Statements that have an effect.


@dataclass(eq=False, slots=True)
class WriteBuffer:
    """Puts an element into a buffer, or into the part of it that has another layout and starts
    `shift` elements further on."""

    buffer: Buffer
    index: Index
    value: Operand
    part: Layout | None = None
    shift: int = 0

    @property
    def layout(self) -> Layout:
        """Where elements go."""
        return self.buffer.layout if self.part is None else self.part


@dataclass(eq=False, slots=True)
class WriteView:
    """Puts an element into a tensor, if it is inside.

    One that is `streamed` goes past the caches where the launch asks for it.
    """

    access: Access
    index: Index
    value: Operand
    row: Operand | None = None
    nontemporal: bool = False


@dataclass(eq=False, slots=True)
class WritePointer:
    """Puts an element where an address points to, if the mask holds."""

    address: Operand
    value: Operand
    mask: Operand | None
    elem: AnyDType
    ordered: bool = False


@dataclass(eq=False, slots=True)
class SetVariable:
    """Keeps a number for after the nest."""

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
    targets: tuple[Buffer | Variable, ...]
    index: Index
    carry: tuple[Buffer, ...] = ()
    carry_index: Index = ()

    @property
    def scan(self) -> bool:
        """Whether every step is written."""
        return self.op.name == "scan"


@dataclass(eq=False, slots=True)
class AtomicPointer:
    """Read-modify-write or compare-and-swap through addresses; the old value goes to target."""

    op: Op
    address: Operand
    values: tuple[Operand, ...]
    mask: Operand | None
    target: Buffer | Variable | None
    index: Index


@dataclass(eq=False, slots=True)
class AtomicView:
    """Combines into a tensor atomically, where inside."""

    op: Op
    access: Access
    index: Index
    value: Operand
    row: Operand | None = None


Effect: TypeAlias = (
    WriteBuffer | WriteView | WritePointer | SetVariable | Combine | AtomicPointer | AtomicView
)


@dataclass(eq=False, slots=True)
class Nest:
    """Loops, outermost first, the last one in steps of `lanes`; reads come before effects.

    The last loop takes `unroll` steps per round, one after the other; `jam` steps of the one before
    run side by side. A `descending` nest runs its loops downwards.
    """

    loops: tuple[Loop, ...]
    lanes: int
    reads: list[Read]
    effects: list[Effect]
    descending: bool = False
    span: Span | None = None
    unroll: int = 1
    jam: int = 1

    @property
    def lane_loop(self) -> Loop | None:
        """The loop that the lanes run along."""
        return self.loops[-1] if self.loops else None

    @property
    def accesses(self) -> list[Access]:
        """The tensor tiles it touches."""
        found: list[Access] = []
        for statement in (*self.reads, *self.effects):
            if isinstance(statement, ReadView | WriteView | AtomicView):
                found.append(statement.access)
        return found


def targets_of(effect: Effect) -> list[Buffer]:
    """The buffers that an effect writes."""
    match effect:
        case WriteBuffer():
            return [effect.buffer]
        case Combine():
            return [b for b in (*effect.targets, *effect.carry) if isinstance(b, Buffer)]
        case AtomicPointer():
            return [effect.target] if isinstance(effect.target, Buffer) else []
        case _:
            return []


def operands_of(statement: Read | Effect) -> list[Operand]:
    """The registers, scalars and constants that a statement of a nest reads."""
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
    """The reads that some effect depends on, in order."""
    needed = {o for effect in nest.effects for o in operands_of(effect)}
    kept: list[Read] = []
    for read in reversed(nest.reads):
        if read.result in needed:
            kept.append(read)
            needed.update(operands_of(read))
    return kept[::-1]
