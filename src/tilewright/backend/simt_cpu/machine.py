"""One SIMD group of threads: the value of each lane, the live lanes, elementwise ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...analysis.structure import Structure
from ...analysis.uniformity import Uniformity
from ...base.dtypes import i32, int_range
from ...ir.attrs import ThreadCoordinate
from ...ir.core import Block, Op, Value
from ...ir.ops.control import YIELD
from ...ir.ops.elementwise import ADDI, SUBI
from ..cpu.emit.emitter import LlvmEmitter, register_type
from ..cpu.emit.kernel import COMPUTE
from ..llvm.builder import Vec, any_lane, where
from .plan import Threads

# -------------------------------------------------------------------------------------------------
# The threads of one group as lanes: their values, the live lanes, the emitters of ops.
#
# A uniform value is a scalar; others have one lane per thread. `live` is the mask of the lanes that
# run; None while all of them do.

Write: TypeAlias = "Callable[[Lanes, Op], None]"
"""How an op is written."""
Leave: TypeAlias = "Callable[[Lanes, Op], bool]"
"""How the end of a loop, a scope or the kernel is written; returns whether the block goes on."""


@dataclass(slots=True)
class ThreadPosition:
    """The position of a group's threads: scalars of the first lane; the others follow along x.

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
    """The emitter of a kernel's body for the threads of one SIMD group."""

    def __init__(
        self,
        emitter: LlvmEmitter,
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
        self.place: ThreadPosition
        self.past: Vec | None = None
        """Whether complete vectors are stored non-temporally; they are aligned then."""
        self.exits: dict[Op | None, Leave] = {}
        """What leaves a loop, a scope or the kernel. It is given the lanes: keeping them would
        make a cycle, and leave the IR to the garbage collector."""

    # Values.

    def lanes(self, value: Value) -> int:
        """Return the number of lanes of a value."""
        return self.width if value in self.facts.varying else 1

    def scalar(self, value: Value) -> Vec:
        """Return a value that is the same in all threads."""
        return self.names[value]

    def wide(self, value: Value) -> Vec:
        """Return a value with one lane per thread."""
        return self.emitter.splat(self.names[value], self.width)

    def get(self, value: Value) -> Vec:
        """Return a value in the lanes that it has."""
        return self.names[value]

    def is_used(self, value: Value) -> bool:
        """Return whether a value is used, in kernels with barriers."""
        return value in self.plan.used

    def put(self, value: Value, vec: Vec) -> None:
        """Bind a value to its register."""
        self.names[value] = self.emitter.splat(vec, self.lanes(value))

    def fitted(self, vec: Vec, width: int) -> Vec:
        """Return a register with this many lanes, or one lane if the result is uniform."""
        if vec.lanes > width:
            return self.emitter.body.emit(f"extractelement {vec}, i64 0", vec.elem, 1)
        return self.emitter.splat(vec, width)

    def slot(self, value: Value) -> Vec:
        """Return memory for a value that is carried or chosen."""
        return self.emitter.slot(register_type(value.tile.elem), self.lanes(value))

    def load(self, slot: Vec, value: Value) -> Vec:
        """Return the content of the slot of a value."""
        return self.emitter.load(slot, register_type(value.tile.elem), self.lanes(value))

    # Masks.

    def none(self) -> Vec:
        """Return no lane."""
        return self.emitter.body.constant("i1", self.width, 0)

    def all(self) -> Vec:
        """Return every lane."""
        return self.emitter.body.constant("i1", self.width, 1)

    def mask(self) -> Vec:
        """Return the live lanes as a mask."""
        return self.all() if self.live is None else self.live

    def narrowed(self, condition: Vec | None) -> Vec | None:
        """Return the live lanes in which a condition holds; None: all lanes."""
        if condition is None:
            return self.live
        wide = self.emitter.splat(condition, self.width)
        return wide if self.live is None else self.live & wide

    def any_live(self) -> Vec:
        """Return whether any lane is live."""
        return any_lane(self.mask())

    def blend(self, slot: Vec, value: Value, new: Vec) -> None:
        """Change a slot where lanes are live."""
        new = self.emitter.splat(new, self.lanes(value))
        if self.live is not None and new.lanes > 1:
            new = where(self.live, new, self.load(slot, value))
        self.emitter.store(new, slot)

    # Ops.

    def run(self, block: Block) -> bool:
        """Write the ops of a block; return whether control goes on behind its terminator."""
        for op in block.ops[:-1]:
            self.table[op.name](self, op)
        return self.leave(block.terminator)

    def leave(self, op: Op) -> bool:
        """Write a terminator; return whether control goes on behind it."""
        if op.is_a(YIELD):
            return True
        return self.exits[self.nesting.target.get(op)](self, op)

    def values(self, values: Sequence[Value]) -> list[Vec]:
        """Return the registers of several values."""
        return [self.names[v] for v in values]


# -------------------------------------------------------------------------------------------------
# Elementwise ops in lanes: constants, arithmetic, coordinates of threads.

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""


def _constant(lanes: Lanes, op: Op) -> None:
    lanes.put(op.result, lanes.emitter.literal(op.attrs["dtype"], op.attrs["value"], 1))


def _compute(lanes: Lanes, op: Op) -> None:
    """Emit an elementwise op, on scalars if all operands are uniform."""
    if op.result in lanes.known:
        lanes.put(op.result, lanes.emitter.body.constant("i1", 1, lanes.known[op.result]))
        return
    width = lanes.lanes(op.result)
    args = [lanes.fitted(lanes.get(v), width) for v in op.operands]
    lanes.put(op.result, COMPUTE[op.name](lanes.emitter, op, args))
    if op.is_a(ADDI, SUBI):
        _row(lanes, op)


def _row(lanes: Lanes, op: Op) -> None:
    """Emit an affine row plus a scalar, which is again a row; wrapped indices fail all checks."""
    a, b = op.operands
    if op.result.tile.dtype is not i32:
        return
    if op.is_a(ADDI) and b in lanes.rows:
        a, b = b, a
    if a in lanes.rows and b not in lanes.facts.varying:
        first = lanes.rows[a]
        by = lanes.scalar(b)
        lanes.rows[op.result] = first + by if op.is_a(ADDI) else first - by
        if a in lanes.gaps:
            lanes.gaps.add(op.result)


def _spread(lanes: Lanes, op: Op, first: Vec) -> Vec:
    """Return a number per lane: from the first one (i64) if they are adjacent, or all."""
    if first.lanes > 1:
        return first.cast("trunc", "i32")
    start = first.cast("trunc", "i32")
    lanes.rows[op.result] = start
    wide = lanes.emitter.splat(start, lanes.width)
    return wide + lanes.emitter.lanes_of("i32", lanes.width)


def _index_1d(lanes: Lanes, op: Op) -> None:
    # The host lets no launch have threads along y or z.
    lanes.put(op.result, _spread(lanes, op, lanes.place.index))


def _index_2d(lanes: Lanes, op: Op) -> None:
    place, emitter = lanes.place, lanes.emitter
    size = lanes.func.signature.block_dims
    width = lanes.scalar(op.one("width")).cast("sext", "i64")
    above = place.thread[1]
    row = emitter.splat(place.block[1] * size[1], above.lanes) + above
    start = row * emitter.splat(width, above.lanes) + emitter.splat(place.index, above.lanes)
    if above.lanes == 1:
        along = emitter.lanes_of("i64", lanes.width)
        column = emitter.splat(place.index, lanes.width) + along
        number = emitter.splat(start, lanes.width) + along
        # Lanes without an element are beyond every slice, so nothing is done for them.
        lanes.rows[op.result] = start.cast("trunc", "i32")
        lanes.gaps.add(op.result)
    else:
        column, number = place.index, start
    valid = column.compare("", "slt", emitter.splat(width, lanes.width))
    valid = valid & number.compare("", "slt", number.like(NOWHERE))
    nowhere = emitter.body.constant("i32", lanes.width, NOWHERE)
    lanes.put(op.result, where(valid, number.cast("trunc", "i32"), nowhere))


def _place(lanes: Lanes, op: Op) -> None:
    what: ThreadCoordinate = op.attrs["what"]
    axis: int = op.attrs["axis"]
    place, emitter = lanes.place, lanes.emitter
    first = {ThreadCoordinate.THREAD: place.thread[0], ThreadCoordinate.LANE: emitter.integer(0)}
    if what in first and axis == 0:
        lanes.put(op.result, _spread(lanes, op, first[what]))
        return
    sizes = [emitter.integer(n) for n in lanes.func.signature.block_dims]
    known = {
        ThreadCoordinate.THREAD: place.thread, ThreadCoordinate.BLOCK: place.block,
        ThreadCoordinate.BLOCK_SIZE: sizes,
        ThreadCoordinate.GRID_SIZE: place.grid, ThreadCoordinate.WARP: [place.group],
    }  # fmt: skip
    lanes.put(op.result, known[what][axis].cast("trunc", "i32"))


TABLE: dict[str, Write] = {
    "constant": _constant,
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "place": _place,
    **dict.fromkeys(COMPUTE, _compute),
}
