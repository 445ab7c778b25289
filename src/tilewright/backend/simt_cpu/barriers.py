"""Loop fission at barriers: phases of a block, and the values that are live across them.

Sections: the split of a kernel into phases, spill slots, and the plan of a block. The technique is
that of pocl (Jaaskelainen et al., 2015) and of MCUDA (Stratton et al., 2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from ...analysis.structure import Structure, arguments, carried
from ...analysis.uniformity import Over, Uniformity, shared_layout, uniformity
from ...base.shapes import ceil_div, size
from ...ir.attrs import WARP_SIZE, ThreadCoordinate
from ...ir.core import Block, Func, Op, Value, walk
from ...ir.opdef import Effect, Trait
from ...ir.ops.control import CONTINUE, FOR, IF, RETURN
from ...ir.ops.memory import LOAD_PTR, STORE_PTR
from ...ir.ops.simt import (
    CHECK_INDEX,
    DYNAMIC_SHARED,
    LOAD_SHARED,
    LOAD_SLICE,
    PLACE,
    SHARED,
    STORE_SLICE,
    SYNC_THREADS,
    SYNC_WARP,
)
from ...ir.types import TileType
from ..cpu.loopnest.nodes import itemsize

# -------------------------------------------------------------------------------------------------
# Loop fission at barriers: the code between two barriers is a phase.
#
# A phase is a loop over the SIMD groups of the block. Control flow that contains a barrier is
# uniform for the block, so it is emitted once, outside of these loops, together with jumps to its
# ends. Phases may be split further, since only barriers order threads.


@dataclass(eq=False, slots=True)
class Phase:
    """A phase: ops that each group runs on its own, then what it passes on, then a jump."""

    ops: list[Op] = field(default_factory=list[Op])
    moves: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    """Values, and the results and arguments of control flow that they become."""
    jump: Op | None = None

    @property
    def returns(self) -> bool:
        """Whether threads may return in it."""
        return any(inner.is_a(RETURN) for inner in self.walk())

    def walk(self) -> Iterator[Op]:
        """Return all its ops, those in regions included."""
        return walk(self.ops)


@dataclass(eq=False, slots=True)
class Together:
    """Control flow of the block: an `if`, a loop or a scope, whose regions are split."""

    op: Op
    regions: list[list[Node]]
    over: Phase
    """The values that a `for` passes on after its last iteration."""
    walks: bool = False
    """Whether it is a loop that does little but go over memory, and holds no barrier."""

    @property
    def sole_phase(self) -> Phase | None:
        """The ops of an iteration of a loop over memory, if each iteration runs all of them."""
        nodes = self.regions[0]
        if not self.walks or len(nodes) != 1 or not isinstance(nodes[0], Phase):
            return None
        end = nodes[0].jump
        return nodes[0] if end is not None and end.is_a(CONTINUE) else None


Node: TypeAlias = Phase | Together


SMALL = 48
"""A loop with more ops has enough to do with what it reads."""
FEW = 4
"""A loop that carries more is better off with registers."""
STREAMED = (LOAD_SLICE, STORE_SLICE, LOAD_PTR, STORE_PTR)


def cut(func: Func, facts: Uniformity, nesting: Structure, *, several: bool) -> list[Node]:
    """Return the phases of a kernel, and the control flow around them.

    `facts` are about blocks, which have `several` groups or one.
    """
    meetings = [op for op in func.walk() if op.is_a(SYNC_THREADS)]
    leaving = [op for op in func.walk() if op.is_a(RETURN) and not parts(op, facts, nesting)]
    found = {outer for op in (*meetings, *leaving) for outer in nesting.ancestors(op)}
    found = _closed(found, func, nesting)
    walks: set[Op] = set()
    if several:
        walking = [op for op in func.walk() if op not in found and _walks_memory(op, facts)]
        # A loop can be interchanged with the loop over groups only if all control flow around it is
        # the block's as well.
        walks = {op for op in walking if all(o in found for o in nesting.ancestors(op))}
    nodes = _cut(func.body, _closed(found | walks, func, nesting), nesting)
    for node in togethers(nodes):
        node.walks = node.op in walks
    return nodes


def _walks_memory(op: Op, facts: Uniformity) -> bool:
    """Return whether a loop mostly streams over memory with all threads side by side.

    If the loop is outside of the loop over groups, an iteration reads its memory in order. Inside,
    each group would read pieces of it, and the next group would walk over all of it again.
    """
    if not op.is_a(FOR) or op in facts.uneven:
        return False
    held = list(op.regions[0].walk())
    plain = not any(o.has(Trait.LOOP) or o.is_a(RETURN) for o in held) and len(held) <= SMALL
    few = sum(facts.varies(arg) for arg in arguments(op)) <= FEW
    streams = any(o.is_a(*STREAMED) and _is_apart(o, facts) for o in held)
    return plain and few and streams


def _is_apart(op: Op, facts: Uniformity) -> bool:
    """Return whether threads access different elements."""
    return any(facts.varies(v) for v in op.operands)


def _closed(found: set[Op], func: Func, nesting: Structure) -> set[Op]:
    """Return some ops with all jumps out of them, or to their next iteration."""
    while True:
        before = len(found)
        for op in func.walk():
            if op.defn.terminator and nesting.target.get(op) in found:
                # A jump of the block out of a branch makes that branch the block's, and its own
                # jumps in turn: a closure.
                found.update(_up_to(nesting.ancestors(op), nesting.target[op]))
        if len(found) == before:
            return found


def parts(op: Op, facts: Uniformity, nesting: Structure) -> bool:
    """Return whether only some of the threads that run may get to an op."""
    return any(
        facts.varies(outer.one("cond")) if outer.is_a(IF) else outer in facts.uneven
        for outer in nesting.ancestors(op)
    )


def _up_to(ops: Iterable[Op], last: Op) -> Iterator[Op]:
    for op in ops:
        if op is last:
            return
        yield op


def _cut(block: Block, of_block: set[Op], nesting: Structure) -> list[Node]:
    nodes: list[Node] = []
    open_ = Phase()

    def end(jump: Op | None = None) -> None:
        nonlocal open_
        open_.jump = jump
        if open_.ops or open_.moves or jump is not None:
            nodes.append(open_)
        open_ = Phase()

    for op in block.ops[:-1]:
        if op in of_block:
            # Each group stores the initial values before the control flow begins.
            open_.moves += zip(carried(op), arguments(op), strict=True)
            end()
            regions = [_cut(region, of_block, nesting) for region in op.regions]
            over = Phase(moves=list(zip(arguments(op), op.results, strict=False)))
            nodes.append(Together(op, regions, over))
        elif op.is_a(SYNC_THREADS):
            end()
        else:
            open_.ops.append(op)
    open_.moves += _passed(block.terminator, nesting)
    end(block.terminator)
    return nodes


def _passed(end: Op, nesting: Structure) -> Iterator[tuple[Value, Value]]:
    """Yield the values that a terminator passes, with their targets."""
    target = nesting.target.get(end)
    if target is not None:
        taken = arguments(target) if end.is_a(CONTINUE) else target.results
        yield from zip(end.operands, taken, strict=True)


def phases(nodes: Sequence[Node]) -> Iterator[Phase]:
    """Yield all phases, in order."""
    for node in nodes:
        if isinstance(node, Phase):
            yield node
        else:
            for region in node.regions:
                yield from phases(region)
            yield node.over


def togethers(nodes: Sequence[Node]) -> Iterator[Together]:
    """Yield all control flow of the whole block, in order."""
    for node in nodes:
        if isinstance(node, Together):
            yield node
            for region in node.regions:
                yield from togethers(region)


# -------------------------------------------------------------------------------------------------
# Spill slots: values live across barriers are spilled, rematerialized, or scalars of the block.
#
# A value that is the same in all threads is a scalar of the block. Of the other values that another
# phase uses, cheap ones that follow from the position of a thread are rematerialized, which
# preserves the knowledge that lanes are adjacent; all others get a spill slot in the block's
# scratch memory.

LINE = 64
MOST_REMATERIALIZED = 16
"""So many ops are computed again at most for one value."""
READS = (LOAD_SLICE, LOAD_SHARED)
"""Ops that are computed once for the block too, unless some threads may have returned."""


def is_rematerialized(op: Op) -> bool:
    """Return whether an op may be computed again in every phase."""
    cheap = op.has(Trait.ELEMENTWISE) and not op.has(Trait.MATH)
    return cheap or op.has(Trait.REMATERIALIZABLE)


def _is_early(op: Op) -> bool:
    """Return whether an op is computed once for the block, where threads would compute the same."""
    return op.has(Trait.ELEMENTWISE | Trait.REMATERIALIZABLE) or op.is_a(CHECK_INDEX)


class LiveKind(Enum):
    """The multiplicity of a live value: one per block, per group or per thread."""

    BLOCK = auto()
    GROUP = auto()
    THREAD = auto()


@dataclass(frozen=True, eq=False, slots=True)
class SpillSlot:
    """The spill slots of all groups: an offset in scratch, and the distance between groups."""

    kind: LiveKind
    offset: int
    stride: int


@dataclass(slots=True)
class LiveValues:
    """The spill slots by value, the ops computed once per block, and the scratch size."""

    spill_slots: dict[Value, SpillSlot] = field(default_factory=dict[Value, SpillSlot])
    early: set[Op] = field(default_factory=set[Op])
    rematerialized: dict[Value, Op] = field(default_factory=dict[Value, Op])
    """Values that are computed again where they are needed, by their op."""
    alive: SpillSlot | None = None
    """The threads that have not returned, where some of them may."""
    scratch: int = 0

    def is_moved(self, source: Value, target: Value) -> bool:
        """Return whether a value must be copied to reach its target."""
        return self.spill_slots.get(source) is not self.spill_slots[target]

    def room(self, kind: LiveKind, groups: int, nbytes: int) -> SpillSlot:
        """Reserve space in scratch."""
        # The vectors of a group start at a cache line, so that they are loaded aligned.
        stride = nbytes if kind is not LiveKind.THREAD else ceil_div(nbytes, LINE) * LINE
        spill_slot = SpillSlot(kind, self.scratch, stride)
        if kind is not LiveKind.BLOCK:
            self.scratch += ceil_div(groups * stride, LINE) * LINE
        return spill_slot


@dataclass(frozen=True, slots=True)
class Groups:
    """The SIMD groups of a block: threads per group, and the number of groups."""

    width: int
    count: int


def place_live_values(
    nodes: Sequence[Node], of_block: Uniformity, of_group: Uniformity, nesting: Structure,
    groups: Groups, scratch: int,
) -> LiveValues:  # fmt: skip
    """Place the values that are live across barriers, above so much scratch for shared memory."""
    return _SpillPlacer(of_block, of_group, nesting, groups).place(nodes, scratch)


class _SpillPlacer:
    """The placement of values that are live across barriers."""

    def __init__(
        self, of_block: Uniformity, of_group: Uniformity, nesting: Structure, groups: Groups
    ) -> None:
        self.of_block = of_block
        self.of_group = of_group
        self.nesting = nesting
        self.groups = groups
        self.made: dict[Value, Phase] = {}
        """The phase of everything that is made at the top of one."""

    def kind(self, value: Value) -> LiveKind:
        """Return the multiplicity of a value: one per block, group or thread."""
        if not self.of_block.varies(value):
            return LiveKind.BLOCK
        return LiveKind.THREAD if self.of_group.varies(value) else LiveKind.GROUP

    def place(self, nodes: Sequence[Node], scratch: int) -> LiveValues:
        """Decide for a whole kernel whose shared memory takes so much scratch."""
        live_values = LiveValues(scratch=ceil_div(scratch, LINE) * LINE)
        for node in togethers(nodes):
            self.passed(node.op, live_values)
        for phase in phases(nodes):
            live_values.early.update(self.early(phase))
            self.made |= {r: phase for op in phase.ops for r in op.results}
        for user, value in self.uses(nodes):
            # Defined in one phase and used in another: live across a barrier.
            if self.made.get(value, user) is not user:
                self.place_one(value, live_values)
        for phase in phases(nodes):
            phase.moves = [(a, b) for a, b in phase.moves if live_values.is_moved(a, b)]
        if None in self.of_block.split:
            live_values.alive = live_values.room(
                LiveKind.THREAD, self.groups.count, ceil_div(self.groups.width, 8)
            )
        return live_values

    def passed(self, op: Op, live_values: LiveValues) -> None:
        """Place results and arguments of control flow; one slot for both if they are alike."""
        for value in (*arguments(op), *op.results):
            live_values.spill_slots[value] = self.new_slot(value, live_values)
        for arg, result in zip(arguments(op), op.results, strict=False):
            # In one slot, the last carried value is the result without a copy.
            if self.kind(arg) is self.kind(result):
                live_values.spill_slots[result] = live_values.spill_slots[arg]

    def uses(self, nodes: Sequence[Node]) -> Iterator[tuple[Phase | None, Value]]:
        """Yield all uses of values, with the phase that they are in."""
        for phase in phases(nodes):
            for op in phase.walk():
                yield from ((phase, v) for v in op.operands)
            for source, target in phase.moves:
                # The block itself passes on what is the same in all threads.
                yield (None if self.kind(target) is LiveKind.BLOCK else phase), source
        for node in togethers(nodes):
            yield from ((None, v) for v in node.op.operands)

    def place_one(self, value: Value, live_values: LiveValues) -> None:
        """Place a value that another phase needs."""
        made = self.nesting.definer(value)
        if value not in self.made or made is None or made in live_values.early:
            return
        if value in live_values.spill_slots or value in live_values.rematerialized:
            return
        if isinstance(value.type, TileType) and not self.is_cheap(value):
            live_values.spill_slots[value] = self.new_slot(value, live_values)
            return
        # Its operands must then be available in the other phase, too.
        live_values.rematerialized[value] = made
        for operand in made.operands:
            self.place_one(operand, live_values)

    def is_cheap(self, value: Value) -> bool:
        return (
            self.kind(value) is not LiveKind.BLOCK and 0 <= self.cost(value) <= MOST_REMATERIALIZED
        )

    def cost(self, value: Value) -> int:
        """Return the number of ops that rematerialize a value; negative if that is not possible."""
        if self.kind(value) is LiveKind.BLOCK:
            return 0
        made = self.nesting.definer(value)
        if made is None or not is_rematerialized(made):
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
        lanes = self.groups.width if kind is LiveKind.THREAD else 1
        return live_values.room(kind, self.groups.count, lanes * size)

    def early(self, phase: Phase) -> Iterator[Op]:
        """Yield ops of a phase that are computed once for the block, before it."""
        late: set[Value] = set()
        returned = False
        for op in phase.ops:
            alike = bool(op.results) and not any(self.of_block.varies(r) for r in op.results)
            # What is read may be there only for the threads that go on.
            ready = _is_early(op) or (op.is_a(*READS) and not returned)
            if alike and ready and not any(v in late for v in op.operands):
                yield op
            else:
                late.update(op.results)
                returned = returned or any(
                    inner.is_a(RETURN) for region in op.regions for inner in region.walk()
                )


# -------------------------------------------------------------------------------------------------
# The plan of a block whose threads synchronize: the shape of its SIMD groups.
#
# Warp ops need the 32 threads of a warp as one group, counted with x fastest. Without them, groups
# follow the rows of a block, so that values that differ between rows only are scalars.

LEAST = 8
"""Groups have at least this many lanes; shorter rows are not separate groups."""


@dataclass(slots=True)
class CooperativePlan:
    """The plan of a kernel whose threads synchronize."""

    width: int
    by_rows: bool
    """Whether groups follow rows along x; else they are warps."""
    rows: int
    length: int
    """Threads in a row, each row a number of groups; warps have all threads in one row."""
    of_block: Uniformity
    of_group: Uniformity
    nodes: list[Node]
    live_values: LiveValues

    @property
    def groups(self) -> int:
        """How many groups a block has."""
        return self.rows * ceil_div(self.length, self.width)

    @property
    def decisions(self) -> list[str]:
        """Lines for people."""
        slots = set(self.live_values.spill_slots.values())
        count = sum(slot.kind is not LiveKind.BLOCK for slot in slots)
        return [
            f"phases between barriers: {len(list(phases(self.nodes)))}",
            f"values live across barriers: {count}, spill slots: {self.live_values.scratch} bytes",
        ]

    def acts(self, phase: Phase) -> bool:
        """Return whether the groups have anything to do in a phase."""
        return any(self.is_done(op) for op in phase.ops) or any(
            self.live_values.spill_slots[target].kind is not LiveKind.BLOCK
            for _, target in phase.moves
        )

    def is_done(self, op: Op) -> bool:
        """Return whether an op is not for the sake of other ops of its phase alone."""
        if op in self.live_values.early:
            return op.is_a(CHECK_INDEX)
        return not op.defn.pure or any(r in self.live_values.spill_slots for r in op.results)

    def needed(self, phase: Phase) -> list[Value]:
        """Return the values that a phase uses and does not compute itself."""
        made = {v for op in phase.walk() for v in op.results}
        made |= {arg for op in phase.walk() for region in op.regions for arg in region.args}
        return list(dict.fromkeys(v for v in self.used(phase) if v not in made))

    def used(self, phase: Phase) -> Iterator[Value]:
        """Yield the values that the groups use in a phase."""
        for op in phase.walk():
            yield from op.operands
        for source, target in phase.moves:
            if self.live_values.spill_slots[target].kind is not LiveKind.BLOCK:
                yield source


def plan_cooperation(func: Func, nesting: Structure) -> CooperativePlan | None:
    """Return the plan of barriers; None if threads neither synchronize nor share memory."""
    if not any(_meets(op) for op in func.walk()):
        return None
    x, *others = func.signature.block_dims
    by_rows = not any(_is_of_warp(op) for op in func.walk()) and (x >= LEAST or size(others) == 1)
    rows, length = (size(others), x) if by_rows else (1, x * size(others))
    # A power of two that covers the row, at most the size of a warp.
    width = min(max(1 << (length - 1).bit_length(), LEAST), WARP_SIZE) if by_rows else WARP_SIZE
    of_block = uniformity(func)
    of_group = uniformity(func, Over.ROW if by_rows else Over.WARP, in_step=True)
    groups = Groups(width, rows * ceil_div(length, width))
    nodes = cut(func, of_block, nesting, several=groups.count > 1)
    live_values = place_live_values(
        nodes, of_block, of_group, nesting, groups, shared_layout(func).total
    )
    return CooperativePlan(width, by_rows, rows, length, of_block, of_group, nodes, live_values)


def _meets(op: Op) -> bool:
    shares = op.is_a(SHARED, DYNAMIC_SHARED)
    return bool(op.defn.effects & Effect.SYNC) or shares or _is_of_warp(op)


def _is_of_warp(op: Op) -> bool:
    if op.is_a(PLACE):
        return op.attrs["what"] in (ThreadCoordinate.LANE, ThreadCoordinate.WARP)
    return op.has(Trait.WARP) or op.is_a(SYNC_WARP)
