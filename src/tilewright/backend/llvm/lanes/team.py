"""Writes a block whose threads meet at barriers: phase by phase, each a loop over its groups."""

from __future__ import annotations

from collections.abc import Callable

from ....analysis.structure import arguments
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ..emit.emitter import Emitter
from ..emit.types import register_type
from ..functions.text import Value as Vec
from ..functions.text import any_lane
from .control import round_count, round_number
from .keeping import Home, Kind
from .machine import Lanes, Place, Write
from .meeting import Meeting
from .phases import Node, Phase, Together
from .plan import Threads

HELD = 0.7
"""What part of the registers may be held through a loop."""


def write_team(
    emitter: Emitter, plan: Threads, table: dict[str, Write], number: Vec, ids: list[Vec],
    sizes: list[Vec],
) -> None:  # fmt: skip
    """Write one block: its number, its place and the sizes of the grid along x, y and z."""
    assert plan.meeting is not None, "threads that meet"
    _Team(emitter, plan, plan.meeting, table, ids, sizes).write(number)


class _Team:
    """Writes the threads of one block."""

    def __init__(
        self, emitter: Emitter, plan: Threads, meeting: Meeting, table: dict[str, Write],
        ids: list[Vec], sizes: list[Vec],
    ) -> None:  # fmt: skip
        self.emitter = emitter
        self.body = emitter.body
        self.plan = plan
        self.meeting = meeting
        self.kept = meeting.kept
        self.table = table
        self.scalars: dict[Value, Vec] = {}
        """What is the same in all threads of the block."""
        self.slots: dict[Home, Vec] = {}
        """Memory for what control flow of the block passes on, and is the same in all threads."""
        self.held: dict[Home, list[tuple[Vec, Vec]]] = {}
        """What is in registers now, of each group: memory that becomes one, and its type."""
        self.exits: dict[Op | None, Callable[[Op], None]] = {}
        self.over = emitter.label("over")
        """Where the block ends."""
        self.any_alive = emitter.slot("i1")
        self.first = emitter.integer(0)
        """The number of the block's first thread."""
        self.ids = ids
        self.sizes = sizes

    def write(self, number: Vec) -> None:
        self.first = number * (self.meeting.rows * self.meeting.length)
        self.scalars = dict(self.emitter.names)
        self.exits[None] = lambda _: self.body.jump(self.over)
        if self.kept.alive is not None:
            self.groups(self.begin)
        self.run(self.meeting.nodes)
        self.body.label(self.over)

    def begin(self, lanes: Lanes, group: Vec) -> None:
        """All threads of a group are alive."""
        assert self.kept.alive is not None
        self.emitter.store(lanes.mask(), self.home(self.kept.alive, group))

    # Control flow of the block.

    def run(self, nodes: list[Node]) -> bool:
        """Write nodes; gives whether control goes on behind them."""
        goes_on = True
        for node in nodes:
            if isinstance(node, Together):
                self.together(node)
            else:
                self.phase(node)
                goes_on = node.jump is None or self.jump(node.jump)
        return goes_on

    def jump(self, op: Op) -> bool:
        if op.name == "yield":
            return True
        self.exits[self.plan.nesting.target.get(op)](op)
        return False

    def together(self, node: Together) -> None:
        if node.op.name == "if":
            self.branch(node)
        elif node.op.name == "scope":
            self.scope(node)
        else:
            self.loop(node)
        self.take(node.op.results)

    def take(self, values: tuple[Value, ...]) -> None:
        """Read what was passed on and is the same in all threads."""
        for value in values:
            if self.kept.homes[value].kind is Kind.BLOCK:
                kind = register_type(value.tile.elem)
                self.scalars[value] = self.emitter.load(self.slot(value), kind)

    def slot(self, value: Value) -> Vec:
        home = self.kept.homes[value]
        if home not in self.slots:
            self.slots[home] = self.emitter.slot(register_type(value.tile.elem))
        return self.slots[home]

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
        self.exits[node.op] = lambda _: self.body.jump(done)
        self.run(node.regions[0])
        self.body.label(done)

    def loop(self, node: Together) -> None:
        emitter, body, op = self.emitter, self.body, node.op
        head, inside, again, over, done = (
            emitter.label(word) for word in ("rounds", "round", "again", "over", "done")
        )
        self.hold(node)
        lead = self.lead()
        rounds = round_count(lead, op) if op.name == "for" else None
        counter = emitter.slot("i64" if rounds is None else rounds.elem)
        if rounds is not None:
            emitter.store(rounds.like(0), counter)
        self.exits[op] = lambda end: body.jump(again if end.name == "continue" else done)
        body.jump(head)
        body.label(head)
        if rounds is not None:
            count = round_number(lead, op, counter, rounds.elem)
            emitter.branch(count.compare("", "ult", rounds), inside, over)
            body.label(inside)
        self.take(op.regions[0].args[1 if rounds is not None else 0 :])
        self.run(node.regions[0])
        body.label(again)
        if rounds is not None:
            emitter.store(emitter.load(counter, rounds.elem) + 1, counter)
        body.jump(head)
        if rounds is not None:
            body.label(over)
            self.take(op.regions[0].args[1:])
            self.phase(node.over)
            body.jump(done)
        body.label(done)
        self.release()

    # What a loop over memory carries stays in registers.

    def hold(self, node: Together) -> None:
        """Take what a loop carries out of scratch, if it goes over memory and registers do."""
        if not node.walks:
            return
        homes = {self.kept.homes[arg]: arg for arg in arguments(node.op)}
        homes = {home: arg for home, arg in homes.items() if home.kind is not Kind.BLOCK}
        cpu, count = self.emitter.cpu, self.meeting.groups
        needed = count * sum(ceil_div(home.stride, cpu.vector_bytes) for home in homes)
        if not 0 < needed <= cpu.vector_registers * HELD:
            return
        for home, arg in homes.items():
            kind = register_type(arg.tile.elem)
            lanes = self.plan.width if home.kind is Kind.THREAD else 1
            kept = [Vec(self.body, "", kind, lanes)] * count
            self.held[home] = [(self.emitter.slot(kind, lanes), x) for x in kept]
        self.exchange(into_registers=True)

    def release(self) -> None:
        """Put what a loop has carried into scratch again."""
        if self.held:
            self.exchange(into_registers=False)
            self.held.clear()

    def exchange(self, *, into_registers: bool) -> None:
        for home, slots in self.held.items():
            for number, (slot, kind) in enumerate(slots):
                places = [self.in_scratch(home, self.emitter.integer(number)), slot]
                source, target = places if into_registers else places[::-1]
                self.emitter.store(self.emitter.load(source, kind.elem, kind.lanes), target)

    # Phases.

    def phase(self, phase: Phase) -> None:
        """What the block computes once, then what each group does, then what is passed on."""
        self.early(phase)
        if self.meeting.acts(phase):
            returns = phase.returns and self.kept.alive is not None
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
            if op not in self.kept.early:
                continue
            if op.name == "check_index":
                # Reported by the threads.
                index, length = (lead.scalar(v) for v in op.operands)
                lead.put(op.result, index.compare("", "ult", length))
            else:
                self.table[op.name](lead, op)

    def lead(self) -> Lanes:
        """Writes what is the same in all threads."""
        lanes = Lanes(self.emitter, self.plan, self.table, self.meeting.of_block)
        zero = self.emitter.integer(0)
        lanes.place = Place(self.first, zero, [zero] * 3, self.ids, self.sizes, zero)
        lanes.names = self.scalars
        return lanes

    def take_late(self, phase: Phase) -> None:
        for op in phase.ops:
            self.take(tuple(r for r in op.results if r in self.kept.homes))

    def pass_on(self, phase: Phase) -> None:
        """What all threads pass on alike."""
        for source, target in phase.moves:
            if self.kept.homes[target].kind is Kind.BLOCK:
                self.emitter.store(self.scalars[source], self.slot(target))

    def end_if_none_is_left(self) -> None:
        on = self.emitter.label("on")
        self.emitter.branch(self.emitter.load(self.any_alive, "i1"), on, self.over)
        self.body.label(on)

    # Groups.

    def groups(self, act: Callable[[Lanes, Vec], None]) -> None:
        """Loops over the groups of a block: whole ones, then those at the ends of rows."""
        rows, length, width = self.meeting.rows, self.meeting.length, self.plan.width
        whole, all_ = length // width, ceil_div(length, width)
        if whole:
            self.each(rows * whole, lambda k: self.begin_group(k, whole, all_, 0, None, act))
        if all_ > whole:
            live = self.emitter.lanes_of("i32", width) < length % width
            self.each(rows, lambda k: self.begin_group(k, 1, all_, whole, live, act))

    def each(self, count: int, act: Callable[[Vec], None]) -> None:
        """A loop over groups; one after the other in the code, where registers are held."""
        if not self.held:
            each(self.emitter, count, act)
            return
        for number in range(count):
            act(self.emitter.integer(number))

    def begin_group(
        self, step: Vec, per_row: int, in_row: int, first: int, live: Vec | None,
        act: Callable[[Lanes, Vec], None],
    ) -> None:  # fmt: skip
        if step.name.startswith("%"):
            row = step.binary("udiv", per_row)
            along = step.binary("urem", per_row) + first
            group = row * in_row + along
        else:
            above, beside = divmod(int(step.name), per_row)
            numbers = (above, beside + first, above * in_row + beside + first)
            row, along, group = map(self.emitter.integer, numbers)
        lanes = Lanes(self.emitter, self.plan, self.table)
        lanes.names = dict(self.scalars)
        lanes.live = live
        lanes.place = self.place(row, along * self.plan.width, group)
        act(lanes, group)

    def place(self, row: Vec, along: Vec, group: Vec) -> Place:
        """Where the threads of a group stand; `along` is the first one's number in its row."""
        width, height, _ = self.plan.func.signature.block_dims
        number = self.first + row * self.meeting.length + along
        if self.meeting.by_rows:
            thread = [along, row.binary("urem", height), row.binary("udiv", height)]
        else:
            whole = width % self.plan.width == 0 or height == self.meeting.length // width == 1
            numbers = (
                along
                if whole
                else (
                    self.emitter.splat(along, self.plan.width)
                    + self.emitter.lanes_of("i64", self.plan.width)
                )
            )
            above = numbers.binary("udiv", width)
            thread = [numbers.binary("urem", width), above.binary("urem", height),
                      above.binary("udiv", height)]  # fmt: skip
        first = self.emitter.splat(self.ids[0] * width, thread[0].lanes)
        return Place(number, first + thread[0], thread, self.ids, self.sizes, group)

    def group(self, phase: Phase, lanes: Lanes, group: Vec) -> None:
        """A phase of one group."""
        emitter, body = self.emitter, self.body
        gone, after = emitter.label("gone"), emitter.label("next")
        split, alive = None in lanes.facts.split, self.kept.alive

        def leave(end: Op) -> bool:
            if split:
                lanes.live = lanes.none()
                return True
            body.jump(gone)
            return False

        lanes.exits[None] = leave
        if alive is not None:
            lanes.live = emitter.load(self.home(alive, group), "i1", lanes.width)
            self.skip_if_none(lanes, after)
        for value in self.meeting.needed(phase):
            self.bring(lanes, value, group)
        for op in phase.ops:
            if op not in self.kept.early or op.name == "check_index":
                self.table[op.name](lanes, op)
        self.store_results(phase, lanes, group)
        if alive is not None and phase.returns:
            self.still_alive(lanes, group)
            body.jump(after)
            body.label(gone)
            emitter.store(lanes.none(), self.home(alive, group))
        body.jump(after)
        body.label(after)

    def skip_if_none(self, lanes: Lanes, after: str) -> None:
        some = self.emitter.label("some")
        self.emitter.branch(lanes.any_live(), some, after)
        self.body.label(some)

    def still_alive(self, lanes: Lanes, group: Vec) -> None:
        assert self.kept.alive is not None
        self.emitter.store(lanes.mask(), self.home(self.kept.alive, group))
        some = self.emitter.load(self.any_alive, "i1") | any_lane(lanes.mask())
        self.emitter.store(some, self.any_alive)

    def bring(self, lanes: Lanes, value: Value, group: Vec) -> None:
        """Make a value of another phase known in this one."""
        if value in lanes.names or value in self.emitter.tensors:
            return
        made = self.kept.again.get(value)
        if made is None:
            lanes.names[value] = self.load(lanes, value, group)
            return
        for operand in made.operands:
            self.bring(lanes, operand, group)
        self.table[made.name](lanes, made)

    def load(self, lanes: Lanes, value: Value, group: Vec) -> Vec:
        kind = register_type(value.tile.elem)
        address = self.home(self.kept.homes[value], group)
        return self.emitter.load(address, kind, lanes.lanes(value))

    def store_results(self, phase: Phase, lanes: Lanes, group: Vec) -> None:
        """What other phases use, and what is passed on; all is read before anything is written."""
        results = [(r, r) for op in phase.ops for r in op.results if r in self.kept.homes]
        for source, target in (*results, *phase.moves):
            home = self.kept.homes[target]
            if home.kind is not Kind.BLOCK:
                width = lanes.width if home.kind is Kind.THREAD else 1
                value = self.emitter.splat(lanes.get(source), width)
                self.emitter.store(value, self.home(home, group))
            elif source is target:
                self.emitter.store(lanes.scalar(source), self.slot(target))

    def home(self, home: Home, group: Vec) -> Vec:
        """The address of what a group keeps."""
        if home in self.held:
            return self.held[home][int(group.name)][0]
        return self.in_scratch(home, group)

    def in_scratch(self, home: Home, group: Vec) -> Vec:
        scratch = Vec(self.body, "%scratch", "ptr", 1)
        return self.emitter.shifted(scratch, group * home.stride + home.offset, "i8")


def each(emitter: Emitter, count: int, act: Callable[[Vec], None]) -> None:
    """A loop that is not there for one step."""
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
