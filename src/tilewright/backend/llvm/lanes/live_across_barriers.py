"""Live values across barriers: which are spilled, rematerialized, or scalars of the block.

What is the same in all threads of a block is a scalar of the block. Of what else is used in another
phase, cheap numbers that follow from where a thread stands are computed again, so that it stays
known which of them are neighbours; all others have a place in the block's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from ....analysis.structure import Structure, arguments
from ....analysis.uniformity import Uniformity
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ....ir.ops import FAMILIES
from ....ir.types import TileType
from ..emit.kernel import COMPUTE
from ..plan.values import itemsize
from .phases import Node, Phase, phases, togethers

LINE = 64
MATH = {op.name for op in FAMILIES["math"]}
OF_BLOCK = ("constant", "place", "length", "shared", "dynamic_shared", "shared_length")
REMATERIALIZED = ({*COMPUTE} - MATH) | {*OF_BLOCK, "index_1d", "index_2d"}
"""Ops that may be computed again in every phase."""
MOST_REMATERIALIZED = 16
"""So many ops are computed again at most for one value."""
EARLY = {*COMPUTE} | {*OF_BLOCK, "check_index"}
"""Ops that are computed once for the block, where all threads would compute the same."""


READS = ("load_slice", "load_shared")
"""Ops that are computed once for the block too, unless some threads may have returned."""


class Kind(Enum):
    """How many of a value there are."""

    BLOCK = auto()
    GROUP = auto()
    THREAD = auto()


@dataclass(frozen=True, eq=False, slots=True)
class SpillSlot:
    """Where the values of all groups are: from an offset in scratch on, so many bytes apart."""

    kind: Kind
    offset: int
    stride: int


@dataclass(slots=True)
class LiveValues:
    """Homes of what is kept, by value; which ops are computed for the block; the scratch of it."""

    spill_slots: dict[Value, SpillSlot] = field(default_factory=dict[Value, SpillSlot])
    early: set[Op] = field(default_factory=set[Op])
    rematerialized: dict[Value, Op] = field(default_factory=dict[Value, Op])
    """Values that are computed again where they are needed, by their op."""
    alive: SpillSlot | None = None
    """The threads that have not returned, where some of them may."""
    scratch: int = 0

    def is_moved(self, source: Value, target: Value) -> bool:
        """Whether a value is not where it goes already."""
        return self.spill_slots.get(source) is not self.spill_slots[target]

    def room(self, kind: Kind, groups: int, nbytes: int) -> SpillSlot:
        """Take room in scratch."""
        stride = nbytes if kind is not Kind.THREAD else ceil_div(nbytes, LINE) * LINE
        spill_slot = SpillSlot(kind, self.scratch, stride)
        if kind is not Kind.BLOCK:
            self.scratch += ceil_div(groups * stride, LINE) * LINE
        return spill_slot


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of how many threads a block has, and how many of them."""

    width: int
    count: int


def place_live_values(
    nodes: Sequence[Node], of_block: Uniformity, of_group: Uniformity, nesting: Structure,
    groups: Groups, scratch: int,
) -> LiveValues:  # fmt: skip
    """Decide what is kept of a kernel whose shared memory takes so much scratch."""
    return _Placer(of_block, of_group, nesting, groups).place(nodes, scratch)


class _Placer:
    """Decides what is kept, and where."""

    def __init__(
        self, of_block: Uniformity, of_group: Uniformity, nesting: Structure, groups: Groups
    ) -> None:
        self.of_block = of_block
        self.of_group = of_group
        self.nesting = nesting
        self.groups = groups
        self.made: dict[Value, Phase] = {}
        """The phase of everything that is made at the top of one."""

    def kind(self, value: Value) -> Kind:
        """How many of a value there are."""
        if not self.of_block.varies(value):
            return Kind.BLOCK
        return Kind.THREAD if self.of_group.varies(value) else Kind.GROUP

    def place(self, nodes: Sequence[Node], scratch: int) -> LiveValues:
        """Decide for a whole kernel whose shared memory takes so much scratch."""
        live_values = LiveValues(scratch=ceil_div(scratch, LINE) * LINE)
        for node in togethers(nodes):
            self.passed(node.op, live_values)
        for phase in phases(nodes):
            live_values.early.update(self.early(phase))
            self.made |= {r: phase for op in phase.ops for r in op.results}
        for user, value in self.uses(nodes):
            if self.made.get(value, user) is not user:
                self.place_one(value, live_values)
        for phase in phases(nodes):
            phase.moves = [(a, b) for a, b in phase.moves if live_values.is_moved(a, b)]
        if None in self.of_block.split:
            live_values.alive = live_values.room(
                Kind.THREAD, self.groups.count, ceil_div(self.groups.width, 8)
            )
        return live_values

    def passed(self, op: Op, live_values: LiveValues) -> None:
        """Results and arguments of control flow; one home for both where they are alike."""
        for value in (*arguments(op), *op.results):
            live_values.spill_slots[value] = self.new_slot(value, live_values)
        for arg, result in zip(arguments(op), op.results, strict=False):
            if self.kind(arg) is self.kind(result):
                live_values.spill_slots[result] = live_values.spill_slots[arg]

    def uses(self, nodes: Sequence[Node]) -> Iterator[tuple[Phase | None, Value]]:
        """All uses of values, with the phase that they are in."""
        for phase in phases(nodes):
            for op in phase.walk():
                yield from ((phase, v) for v in op.operands)
            for source, target in phase.moves:
                # The block itself passes on what is the same in all threads.
                yield (None if self.kind(target) is Kind.BLOCK else phase), source
        for node in togethers(nodes):
            yield from ((None, v) for v in node.op.operands)

    def place_one(self, value: Value, live_values: LiveValues) -> None:
        """Something that is needed in another phase than its own."""
        made = self.nesting.definer(value)
        if value not in self.made or made is None or made in live_values.early:
            return
        if value in live_values.spill_slots or value in live_values.rematerialized:
            return
        if isinstance(value.type, TileType) and not self.is_cheap(value):
            live_values.spill_slots[value] = self.new_slot(value, live_values)
            return
        live_values.rematerialized[value] = made
        for operand in made.operands:
            self.place_one(operand, live_values)

    def is_cheap(self, value: Value) -> bool:
        return self.kind(value) is not Kind.BLOCK and 0 <= self.cost(value) <= MOST_REMATERIALIZED

    def cost(self, value: Value) -> int:
        """How many ops compute a value again; negative if that is not possible."""
        if self.kind(value) is Kind.BLOCK:
            return 0
        made = self.nesting.definer(value)
        if made is None or made.name not in REMATERIALIZED:
            return -1
        total = 1
        for operand in made.operands:
            part = self.cost(operand)
            if part < 0:
                return -1
            total += part
        return total

    def new_slot(self, value: Value, live_values: LiveValues) -> SpillSlot:
        kind = self.kind(value)
        size = max(itemsize(value.tile.elem), 1)
        lanes = self.groups.width if kind is Kind.THREAD else 1
        return live_values.room(kind, self.groups.count, lanes * size)

    def early(self, phase: Phase) -> Iterator[Op]:
        """Ops of a phase that are computed once for the block, before it."""
        late: set[Value] = set()
        returned = False
        for op in phase.ops:
            alike = bool(op.results) and not any(self.of_block.varies(r) for r in op.results)
            # What is read may be there only for the threads that go on.
            ready = op.name in EARLY or (op.name in READS and not returned)
            if alike and ready and not any(v in late for v in op.operands):
                yield op
            else:
                late.update(op.results)
                returned = returned or any(
                    inner.name == "return" for region in op.regions for inner in region.walk()
                )
