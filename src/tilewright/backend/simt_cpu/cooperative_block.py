"""Emit a block whose threads synchronize: spill slots, loops over SIMD groups, phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...analysis.structure import arguments
from ...base.shapes import ceil_div
from ...ir.core import Op, Value
from ...ir.ops.control import CONTINUE, FOR, IF, SCOPE, YIELD
from ...ir.ops.simt import CHECK_INDEX
from ..cpu.emit.emitter import LlvmEmitter, register_type
from ..llvm.builder import Vec, any_lane
from .barriers import CooperativePlan, LiveKind, Node, Phase, SpillSlot, Together
from .control import all_in_bounds, bind_iteration, trip_count
from .machine import Lanes, ThreadPosition, Write
from .plan import Threads

# -------------------------------------------------------------------------------------------------
# Addresses of the spill slots for values that are live across barriers.
#
# A block-uniform value has a stack slot, which LLVM makes a register. The others are in scratch;
# the carried values of a loop over memory are in stack slots too, one for each group, while it
# runs.

HELD = 0.7
"""What part of the registers may be held through a loop."""


class SpillSlots:
    """The addresses of the spill slots of one block."""

    def __init__(self, emitter: LlvmEmitter, cooperation: CooperativePlan) -> None:
        self.emitter = emitter
        self.cooperation = cooperation
        self.of_value = cooperation.live_values.spill_slots
        self.slots: dict[SpillSlot, Vec] = {}
        self.held: dict[SpillSlot, list[tuple[Vec, Vec]]] = {}
        """What is in registers now, of each group: memory that becomes one, and its type."""

    def slot(self, value: Value) -> Vec:
        """Return the slot of a block-uniform value that control flow passes on."""
        spill_slot = self.of_value[value]
        if spill_slot not in self.slots:
            self.slots[spill_slot] = self.emitter.slot(register_type(value.tile.elem))
        return self.slots[spill_slot]

    def address(self, spill_slot: SpillSlot, group: Vec) -> Vec:
        """Return the address of a group's slot; its number is known while registers are held."""
        if spill_slot in self.held:
            return self.held[spill_slot][int(group.name)][0]
        return self._in_scratch(spill_slot, group)

    def _in_scratch(self, spill_slot: SpillSlot, group: Vec) -> Vec:
        scratch = Vec(self.emitter.body, "%scratch", "ptr", 1)
        return self.emitter.shifted(scratch, group * spill_slot.stride + spill_slot.offset, "i8")

    def hold(self, node: Together) -> None:
        """Load the carried values of a loop from scratch into registers before the loop."""
        if not node.walks:
            return
        spill_slots = {self.of_value[arg]: arg for arg in arguments(node.op)}
        spill_slots = {
            spill_slot: arg
            for spill_slot, arg in spill_slots.items()
            if spill_slot.kind is not LiveKind.BLOCK
        }
        cpu, count = self.emitter.cpu, self.cooperation.groups
        # All groups must fit at once, because the loop over memory runs outside of the loop over
        # groups.
        needed = count * sum(
            ceil_div(spill_slot.stride, cpu.vector_bytes) for spill_slot in spill_slots
        )
        if not 0 < needed <= cpu.vector_registers * HELD:
            return
        for spill_slot, arg in spill_slots.items():
            kind = register_type(arg.tile.elem)
            lanes = self.cooperation.width if spill_slot.kind is LiveKind.THREAD else 1
            kept = [Vec(self.emitter.body, "", kind, lanes)] * count
            self.held[spill_slot] = [(self.emitter.slot(kind, lanes), x) for x in kept]
        self._exchange(into_registers=True)

    def release(self) -> None:
        """Store the carried values of a loop to scratch again."""
        if self.held:
            self._exchange(into_registers=False)
            self.held.clear()

    def _exchange(self, *, into_registers: bool) -> None:
        for spill_slot, slots in self.held.items():
            for number, (slot, kind) in enumerate(slots):
                # Stack slots of fixed groups become registers by LLVM's mem2reg.
                places = [self._in_scratch(spill_slot, self.emitter.integer(number)), slot]
                source, target = places if into_registers else places[::-1]
                self.emitter.store(self.emitter.load(source, kind.elem, kind.lanes), target)


# -------------------------------------------------------------------------------------------------
# Loops over the SIMD groups of a block, with the thread indices of each group.

Act: TypeAlias = Callable[[ThreadPosition, Vec | None], None]
"""Emit a group, given its position and the lanes that are threads; None: all are."""

IN_ORDER = 'fence syncscope("singlethread") seq_cst'
"""Costs no instruction, but LLVM moves no access to memory across it.

Sums over memory took a fifth longer where one of eight groups was read before its turn.
"""


class ThreadGroups:
    """The groups of one block: its number, its place and the sizes of the grid along x, y and z."""

    def __init__(
        self, emitter: LlvmEmitter, plan: Threads, cooperation: CooperativePlan, number: Vec,
        ids: list[Vec], sizes: list[Vec],
    ) -> None:  # fmt: skip
        self.emitter = emitter
        self.plan = plan
        self.cooperation = cooperation
        self.first = number * (cooperation.rows * cooperation.length)
        """The number of the block's first thread in the whole launch."""
        self.ids = ids
        self.sizes = sizes

    @property
    def is_one_row(self) -> bool:
        """Whether the threads of the block follow each other along x."""
        return (
            self.plan.func.signature.block_dims[0]
            == self.cooperation.rows * self.cooperation.length
        )

    def front(self) -> ThreadPosition:
        """Return the position of the block's first group."""
        zero = self.emitter.integer(0)
        return self._place(zero, zero, zero)

    def each_group(self, act: Act, *, unrolled: bool) -> None:
        """Emit loops over the groups of a block: full ones, then those at the ends of rows."""
        rows, length, width = self.cooperation.rows, self.cooperation.length, self.plan.width
        whole, all_ = length // width, ceil_div(length, width)

        def steps(count: int, per_row: int, first: int, live: Vec | None) -> None:
            def step(number: Vec) -> None:
                act(self._of_step(number, per_row, all_, first), live)

            if unrolled:
                for number in range(count):
                    self.emitter.do(IN_ORDER)
                    step(self.emitter.integer(number))
            else:
                each(self.emitter, count, step)

        # Full groups run unmasked; the last group of each row has a constant mask of its threads.
        if whole:
            steps(rows * whole, whole, 0, None)
        if all_ > whole:
            live = self.emitter.lanes_of("i32", width) < length % width
            steps(rows, 1, whole, live)

    def _of_step(self, step: Vec, per_row: int, in_row: int, first: int) -> ThreadPosition:
        """Return the position of the group of a step: a known number, or a loop variable."""
        # Unrolled groups have constant positions, which LLVM could not recover from a loop
        # variable.
        if step.name.startswith("%"):
            row = step.binary("udiv", per_row)
            along = step.binary("urem", per_row) + first
            group = row * in_row + along
        else:
            above, beside = divmod(int(step.name), per_row)
            numbers = (above, beside + first, above * in_row + beside + first)
            row, along, group = map(self.emitter.integer, numbers)
        return self._place(row, along * self.plan.width, group)

    def _place(self, row: Vec, along: Vec, group: Vec) -> ThreadPosition:
        """Return the positions of a group's threads; `along` is the first one in its row."""
        width, height, _ = self.plan.func.signature.block_dims
        number = self.first + row * self.cooperation.length + along
        if self.cooperation.by_rows:
            thread = [along, row.binary("urem", height), row.binary("udiv", height)]
        else:
            thread = self._in_warp(along, width, height)
        first = self.emitter.splat(self.ids[0] * width, thread[0].lanes)
        return ThreadPosition(number, first + thread[0], thread, self.ids, self.sizes, group)

    def _in_warp(self, first: Vec, width: int, height: int) -> list[Vec]:
        """Return the positions of a warp's threads: scalars if in one row, else per lane."""
        lanes = self.plan.width
        # Then y and z are uniform in the warp, and x is affine in the lane.
        in_one_row = width % lanes == 0 or height == self.cooperation.length // width == 1
        numbers = first
        if not in_one_row:
            numbers = self.emitter.splat(first, lanes) + self.emitter.lanes_of("i64", lanes)
        above = numbers.binary("udiv", width)
        return [numbers.binary("urem", width), above.binary("urem", height),
                above.binary("udiv", height)]  # fmt: skip


def each(emitter: LlvmEmitter, count: int, act: Callable[[Vec], None]) -> None:
    """Emit a loop, or its body alone if there is one step."""
    body = emitter.body
    if count == 1:
        act(emitter.integer(0))
        return
    counter = emitter.slot("i64")
    emitter.store(emitter.integer(0), counter)
    head, inside, done = (emitter.label(word) for word in ("each", "inside", "done"))
    body.jump(head)
    body.label(head)
    at = emitter.load(counter, "i64")
    emitter.branch(at < count, inside, done)
    body.label(inside)
    act(at)
    emitter.store(emitter.load(counter, "i64") + 1, counter)
    body.jump(head)
    body.label(done)


# -------------------------------------------------------------------------------------------------
# The block: phase by phase, each a loop over its SIMD groups.


def write_cooperative_block(
    emitter: LlvmEmitter, plan: Threads, table: dict[str, Write], number: Vec, ids: list[Vec],
    sizes: list[Vec],
) -> None:  # fmt: skip
    """Write one block: its number, its place and the sizes of the grid along x, y and z."""
    assert plan.cooperation is not None, "cooperating threads"
    thread_groups = ThreadGroups(emitter, plan, plan.cooperation, number, ids, sizes)
    _CooperativeBlock(emitter, plan, plan.cooperation, table, thread_groups).write()


class _CooperativeBlock:
    """The emitter of the threads of one block."""

    def __init__(
        self, emitter: LlvmEmitter, plan: Threads, cooperation: CooperativePlan,
        table: dict[str, Write], thread_groups: ThreadGroups,
    ) -> None:  # fmt: skip
        self.emitter = emitter
        self.body = emitter.body
        self.plan = plan
        self.cooperation = cooperation
        self.live_values = cooperation.live_values
        self.table = table
        self.thread_groups = thread_groups
        self.spill_slots = SpillSlots(emitter, cooperation)
        self.scalars: dict[Value, Vec] = dict(emitter.names)
        """What is the same in all threads of the block."""
        self.known: dict[Value, bool] = {}
        """Conditions that hold, or do not, in all threads of the block in this version."""
        self.exits: dict[Op | None, tuple[str, str]] = {}
        """The labels that `continue` and other ends of a loop, a scope or the kernel jump to."""
        self.over = emitter.label("over")
        """Where the block ends."""
        self.any_alive = emitter.slot("i1")

    def write(self) -> None:
        self.exits[None] = self.over, self.over
        if self.live_values.alive is not None:
            self.groups(self.begin)
        self.run(self.cooperation.nodes)
        self.body.label(self.over)

    def begin(self, lanes: Lanes, group: Vec) -> None:
        """Begin a block: all threads of each group are live."""
        assert self.live_values.alive is not None
        self.emitter.store(lanes.mask(), self.spill_slots.address(self.live_values.alive, group))

    # Control flow of the block.

    def run(self, nodes: list[Node]) -> bool:
        """Write nodes; return whether control goes on behind them."""
        goes_on = True
        for node in nodes:
            if isinstance(node, Together):
                self.together(node)
            else:
                self.phase(node)
                goes_on = node.jump is None or self.jump(node.jump)
        return goes_on

    def jump(self, op: Op) -> bool:
        if op.is_a(YIELD):
            return True
        onward, done = self.exits[self.plan.nesting.target.get(op)]
        self.body.jump(onward if op.is_a(CONTINUE) else done)
        return False

    def together(self, node: Together) -> None:
        if node.op.is_a(IF):
            self.branch(node)
        elif node.op.is_a(SCOPE):
            self.scope(node)
        else:
            self.loop(node)
        self.take(node.op.results)

    def take(self, values: tuple[Value, ...]) -> None:
        """Read a passed value that is uniform in the block."""
        for value in values:
            if self.live_values.spill_slots[value].kind is LiveKind.BLOCK:
                kind = register_type(value.tile.elem)
                self.scalars[value] = self.emitter.load(self.spill_slots.slot(value), kind)

    def branch(self, node: Together) -> None:
        labels = [self.emitter.label(word) for word in ("then", "else")]
        after = self.emitter.label("after")
        self.emitter.branch(self.scalars[node.op.one("cond")], *labels)
        for label, region in zip(labels, node.regions, strict=True):
            self.body.label(label)
            if self.run(region):
                self.body.jump(after)
        self.body.label(after)

    def scope(self, node: Together) -> None:
        done = self.emitter.label("left")
        self.exits[node.op] = done, done
        self.run(node.regions[0])
        self.body.label(done)

    def loop(self, node: Together) -> None:
        emitter, body, op = self.emitter, self.body, node.op
        head, inside, again, over, done = (
            emitter.label(word) for word in ("loop_head", "loop_body", "latch", "over", "done")
        )
        # Carried values of a streaming loop move to registers for its duration.
        self.spill_slots.hold(node)
        trips = trip_count(self.lead(), op) if op.is_a(FOR) else None
        counter = emitter.slot("i64" if trips is None else trips.elem)
        if trips is not None:
            emitter.store(trips.like(0), counter)
            self.unmasked_iterations(node, trips, counter, head)
        self.exits[op] = again, done
        body.jump(head)
        body.label(head)
        if trips is not None:
            self.next_iteration(op, trips, counter, inside, over)
        self.take(arguments(op))
        self.run(node.regions[0])
        body.label(again)
        if trips is not None:
            emitter.store(emitter.load(counter, trips.elem) + 1, counter)
        body.jump(head)
        if trips is not None:
            body.label(over)
            self.take(arguments(op))
            self.phase(node.over)
            body.jump(done)
        body.label(done)
        self.spill_slots.release()

    def next_iteration(self, op: Op, trips: Vec, counter: Vec, inside: str, over: str) -> None:
        """Begin another iteration of a `for`, or leave it."""
        count = bind_iteration(self.lead(), op, counter, trips.elem)
        self.emitter.branch(count.compare("", "ult", trips), inside, over)
        self.body.label(inside)

    def unmasked_iterations(self, node: Together, trips: Vec, counter: Vec, rest: str) -> None:
        """Emit the first iterations of a loop over memory, while all threads are in bounds.

        They are a separate loop, so that only its carried values take registers.
        """
        phase = node.sole_phase
        if phase is None or not self.thread_groups.is_one_row:
            return
        emitter, body = self.emitter, self.body
        head, look, inside = (emitter.label(word) for word in ("whole", "look", "all_in_bounds"))
        body.jump(head)
        body.label(head)
        self.next_iteration(node.op, trips, counter, look, rest)
        self.take(arguments(node.op))
        self.early(phase)
        # One test per iteration for the block; the first iteration that fails continues in the
        # masked loop, which also runs all later ones.
        found = all_in_bounds(self.front(), phase.ops, self.cooperation.length)
        if found is None:
            return
        emitter.branch(found[0], inside, rest)
        body.label(inside)
        self.known = found[1]
        self.act(phase)
        self.known = {}
        emitter.store(emitter.load(counter, trips.elem) + 1, counter)
        body.jump(head)

    # Phases.

    def phase(self, phase: Phase) -> None:
        """Emit a phase: the uniform part once, each group, then the values it passes on."""
        self.early(phase)
        self.act(phase)

    def act(self, phase: Phase) -> None:
        if self.cooperation.acts(phase):
            # After a phase with a return, the block ends early if no thread is left.
            returns = phase.returns and self.live_values.alive is not None
            if returns:
                self.emitter.store(self.emitter.integer(0, "i1"), self.any_alive)
            self.groups(lambda lanes, group: self.group(phase, lanes, group))
            if returns:
                self.end_if_none_is_left()
            self.take_late(phase)
        self.pass_on(phase)

    def early(self, phase: Phase) -> None:
        lead = self.lead()
        for op in phase.ops:
            if op not in self.live_values.early:
                continue
            if op.is_a(CHECK_INDEX):
                # Reported by the threads.
                index, length = (lead.scalar(v) for v in op.operands)
                lead.put(op.result, index.compare("", "ult", length))
            else:
                lead.write(op)

    def lead(self) -> Lanes:
        """Return lanes that emit the block-uniform values."""
        lanes = Lanes(self.emitter, self.plan, self.table, self.cooperation.of_block)
        lanes.place = self.thread_groups.front()
        lanes.names = self.scalars
        return lanes

    def front(self) -> Lanes:
        """Return lanes for values of the block position, visible in this phase only."""
        lanes = self.lead()
        lanes.names = dict(self.scalars)
        return lanes

    def take_late(self, phase: Phase) -> None:
        for op in phase.ops:
            self.take(tuple(r for r in op.results if r in self.live_values.spill_slots))

    def pass_on(self, phase: Phase) -> None:
        """Pass on the block-uniform values."""
        for source, target in phase.moves:
            if self.live_values.spill_slots[target].kind is LiveKind.BLOCK:
                self.emitter.store(self.scalars[source], self.spill_slots.slot(target))

    def end_if_none_is_left(self) -> None:
        on = self.emitter.label("on")
        self.emitter.branch(self.emitter.load(self.any_alive, "i1"), on, self.over)
        self.body.label(on)

    # Groups.

    def groups(self, act: Callable[[Lanes, Vec], None]) -> None:
        """Emit each group; unrolled if values are held in registers."""

        def begin(place: ThreadPosition, live: Vec | None) -> None:
            lanes = Lanes(self.emitter, self.plan, self.table)
            lanes.names, lanes.known = dict(self.scalars), dict(self.known)
            lanes.live, lanes.place = live, place
            act(lanes, place.group)

        self.thread_groups.each_group(begin, unrolled=bool(self.spill_slots.held))

    def group(self, phase: Phase, lanes: Lanes, group: Vec) -> None:
        """Emit a phase of one group."""
        emitter, body = self.emitter, self.body
        gone, after = emitter.label("gone"), emitter.label("next")
        split, alive = None in lanes.facts.split, self.live_values.alive

        def leave(lanes: Lanes, end: Op) -> bool:
            if split:
                lanes.live = lanes.none()
                return True
            body.jump(gone)
            return False

        lanes.exits[None] = leave
        if alive is not None:
            lanes.live = emitter.load(self.spill_slots.address(alive, group), "i1", lanes.width)
            # A group whose threads have all returned has nothing to do.
            self.skip_if_none(lanes, after)
        for value in self.cooperation.needed(phase):
            self.make_available(lanes, value, group)
        for op in phase.ops:
            if op not in self.live_values.early or op.is_a(CHECK_INDEX):
                lanes.write(op)
        self.store_results(phase, lanes, group)
        if alive is not None and phase.returns:
            self.still_alive(lanes, group)
            body.jump(after)
            body.label(gone)
            emitter.store(lanes.none(), self.spill_slots.address(alive, group))
        body.jump(after)
        body.label(after)

    def skip_if_none(self, lanes: Lanes, after: str) -> None:
        some = self.emitter.label("some")
        self.emitter.branch(lanes.any_live(), some, after)
        self.body.label(some)

    def still_alive(self, lanes: Lanes, group: Vec) -> None:
        assert self.live_values.alive is not None
        self.emitter.store(lanes.mask(), self.spill_slots.address(self.live_values.alive, group))
        some = self.emitter.load(self.any_alive, "i1") | any_lane(lanes.mask())
        self.emitter.store(some, self.any_alive)

    def make_available(self, lanes: Lanes, value: Value, group: Vec) -> None:
        """Make a value of another phase available in this one."""
        if value in lanes.names or value in self.emitter.tensors:
            return
        made = self.live_values.rematerialized.get(value)
        if made is None:
            lanes.names[value] = self.load(lanes, value, group)
            return
        for operand in made.operands:
            self.make_available(lanes, operand, group)
        self.table[made.name](lanes, made)

    def load(self, lanes: Lanes, value: Value, group: Vec) -> Vec:
        kind = register_type(value.tile.elem)
        address = self.spill_slots.address(self.live_values.spill_slots[value], group)
        return self.emitter.load(address, kind, lanes.lanes(value))

    def store_results(self, phase: Phase, lanes: Lanes, group: Vec) -> None:
        """Store values for other phases; read all of them before the first write."""
        results = [
            (r, r) for op in phase.ops for r in op.results if r in self.live_values.spill_slots
        ]
        for source, target in (*results, *phase.moves):
            spill_slot = self.live_values.spill_slots[target]
            if spill_slot.kind is not LiveKind.BLOCK:
                width = lanes.width if spill_slot.kind is LiveKind.THREAD else 1
                value = self.emitter.splat(lanes.get(source), width)
                self.emitter.store(value, self.spill_slots.address(spill_slot, group))
            elif source is target:
                self.emitter.store(lanes.scalar(source), self.spill_slots.slot(target))
