"""The threads of one group as lanes: the value of each, which lanes are live, how ops are written.

A value that is the same in all threads is a scalar; others have one lane per thread. `live` is the
mask of the lanes that run; None while all of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ....analysis.structure import Structure
from ....analysis.uniformity import Uniformity
from ....ir.core import Block, Op, Value
from ..emit.emitter import Emitter
from ..emit.types import register_type
from ..functions.text import Value as Vec
from ..functions.text import any_lane, where
from .plan import Threads

Write: TypeAlias = "Callable[[Lanes, Op], None]"
"""How an op is written."""


@dataclass(slots=True)
class Place:
    """Where the threads of a group stand: scalars, of the first lane; the others follow along x.

    In a warp with threads of several rows, `index` and `thread` have one number per lane.
    """

    number: Vec
    """The number of the thread in the whole launch, for reports."""
    index: Vec
    """Its place along x in the whole launch."""
    thread: list[Vec]
    block: list[Vec]
    grid: list[Vec]
    group: Vec
    """The number of the group in its block, where there are groups."""


class Lanes:
    """Writes the body of a kernel for the threads of one group."""

    def __init__(
        self,
        emitter: Emitter,
        plan: Threads,
        table: dict[str, Write],
        facts: Uniformity | None = None,
    ) -> None:
        self.emitter = emitter
        self.plan = plan
        self.func = plan.func
        self.width = plan.width
        self.table = table
        self.facts: Uniformity = facts or plan.facts
        self.nesting: Structure = plan.nesting
        self.names: dict[Value, Vec] = dict(emitter.names)
        self.rows: dict[Value, Vec] = {}
        """Numbers that grow by one from lane to lane: the first lane's, where it is known."""
        self.gaps: set[Value] = set()
        """Rows in which lanes without an element have another number, beyond every slice."""
        self.known: dict[Value, bool] = {}
        """Conditions that hold, or do not, in all lanes of this version of the code."""
        self.live: Vec | None = None
        self.place: Place
        self.past: Vec | None = None
        """Whether whole vectors are written past the caches; they are aligned then."""
        self.exits: dict[Op | None, Callable[[Op], bool]] = {}
        """What leaving a loop, a scope or the kernel does; gives whether the block goes on."""

    # Values.

    def lanes(self, value: Value) -> int:
        """How many lanes a value has."""
        return self.width if value in self.facts.varying else 1

    def scalar(self, value: Value) -> Vec:
        """A value that is the same in all threads."""
        return self.names[value]

    def wide(self, value: Value) -> Vec:
        """A value with one lane per thread."""
        return self.emitter.splat(self.names[value], self.width)

    def get(self, value: Value) -> Vec:
        """A value in the lanes that it has."""
        return self.names[value]

    def is_used(self, value: Value) -> bool:
        """Whether anybody asks for a value, in kernels whose threads meet."""
        return value in self.plan.used

    def put(self, value: Value, vec: Vec) -> None:
        """Give a value its register."""
        self.names[value] = self.emitter.splat(vec, self.lanes(value))

    def fitted(self, vec: Vec, width: int) -> Vec:
        """A register with so many lanes; one of many, where what is made of them is one number."""
        if vec.lanes > width:
            return self.emitter.body.emit(f"extractelement {vec}, i64 0", vec.elem, 1)
        return self.emitter.splat(vec, width)

    def slot(self, value: Value) -> Vec:
        """Memory for a value that is carried or chosen."""
        return self.emitter.slot(register_type(value.tile.elem), self.lanes(value))

    def load(self, slot: Vec, value: Value) -> Vec:
        """What a slot of a value holds."""
        return self.emitter.load(slot, register_type(value.tile.elem), self.lanes(value))

    # Masks.

    def none(self) -> Vec:
        """No lane."""
        return self.emitter.body.constant("i1", self.width, 0)

    def all(self) -> Vec:
        """Every lane."""
        return self.emitter.body.constant("i1", self.width, 1)

    def mask(self) -> Vec:
        """The live lanes as a mask."""
        return self.all() if self.live is None else self.live

    def narrowed(self, condition: Vec | None) -> Vec | None:
        """The live lanes in which a condition holds; None: all lanes."""
        if condition is None:
            return self.live
        wide = self.emitter.splat(condition, self.width)
        return wide if self.live is None else self.live & wide

    def any_live(self) -> Vec:
        """Whether any lane is live."""
        return any_lane(self.mask())

    def blend(self, slot: Vec, value: Value, new: Vec) -> None:
        """Change a slot where lanes are live."""
        new = self.emitter.splat(new, self.lanes(value))
        if self.live is not None and new.lanes > 1:
            new = where(self.live, new, self.load(slot, value))
        self.emitter.store(new, slot)

    # Ops.

    def run(self, block: Block) -> bool:
        """Write the ops of a block; gives whether control goes on behind its terminator."""
        for op in block.ops[:-1]:
            self.table[op.name](self, op)
        return self.leave(block.terminator)

    def leave(self, op: Op) -> bool:
        """Write a terminator; gives whether control goes on behind it."""
        if op.name == "yield":
            return True
        return self.exits[self.nesting.target.get(op)](op)

    def values(self, values: Sequence[Value]) -> list[Vec]:
        """The registers of several values."""
        return [self.names[v] for v in values]
