"""Schedule one segment into loop nests: the loops, their order, and what each one computes.

Greedy loop fusion in program order: a tile that is materialized or stored (a sink) goes into the
earliest nest of its shape that runs after what it depends on, else into a new one. Lazy tiles are
computed where they are used. Sections: drafts of nests (sinks and steps), and the scheduler.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ....base.dtypes import AnyDType
from ....base.shapes import Shape
from ....base.source import Span
from ....ir.builder import make_op
from ....ir.core import Op, Value
from ....ir.opdef import Trait
from ....ir.ops.control import ASSERT
from ....ir.ops.memory import CHECK
from ....ir.types import Elem
from . import facts as kinds
from .facts import (
    Location,
    PlanFacts,
    Pull,
    captured,
    is_scalar,
    is_tile,
    is_write,
    keeps_places,
    location_of,
    may_alias,
    pulls,
    same_place,
    squeezed,
)
from .index import Layout, row_major
from .legalize import MATMUL
from .nodes import Put, TileBuffer, Variable

# -------------------------------------------------------------------------------------------------
# Drafts: nests of sinks, and steps on complete tiles.
#
# A sink is an op that needs a loop: a tile that must be in memory, a store, a reduction. Its
# operands are computed inside its loop (producer-consumer fusion).


@dataclass(eq=False, slots=True)
class Keep:
    """A sink that materializes a lazy tile in its buffer."""

    value: Value
    buffer: TileBuffer


@dataclass(eq=False, slots=True)
class Assign:
    """A sink that assigns a new value to the buffer of a loop, a branch or a multiply."""

    buffer: TileBuffer
    value: Value


@dataclass(eq=False, slots=True)
class CatPart:
    """A sink that writes one side of a `cat` into the result."""

    op: Op
    value: Value
    buffer: TileBuffer
    shift: int


@dataclass(eq=False, slots=True)
class EffectDraft:
    """A store, a reduction, a scan or an atomic."""

    op: Op


Sink: TypeAlias = Keep | Assign | CatPart | EffectDraft
Key: TypeAlias = tuple[int, int]
"""The order of a step: its number, and a negative distance for nests inserted before it."""


def sink_shape(sink: Sink) -> Shape:
    """Return the shape of the loops a sink needs."""
    if not isinstance(sink, EffectDraft):
        return sink.value.tile.shape
    return sink.op.operands[0].tile.shape


def sink_values(sink: Sink) -> list[Value]:
    """Return everything a sink reads."""
    if not isinstance(sink, EffectDraft):
        return [sink.value]
    return [*sink.op.operands, *captured(sink.op)]


@dataclass(eq=False, slots=True)
class NestDraft:
    """A loop nest over `dims` (no axes of length 1). An exclusive one has a single sink."""

    dims: Shape
    sinks: list[Sink]
    key: Key
    exclusive: bool = False
    before: list[NestDraft] = field(default_factory=list["NestDraft"])

    def joins(self, other: NestDraft) -> bool:
        """Return whether the sinks of another nest may run in this one's loops."""
        return self.dims == other.dims and not (self.exclusive or other.exclusive)

    @property
    def span(self) -> Span | None:
        """The source location of its first op."""
        for sink in self.sinks:
            if isinstance(sink, EffectDraft | CatPart) and sink.op.span is not None:
                return sink.op.span
        return None


@dataclass(eq=False, slots=True)
class StepDraft:
    """An op on tiles in memory: a multiply, a transpose or a print."""

    op: Op
    args: tuple[Value, ...]
    key: Key
    before: list[NestDraft] = field(default_factory=list[NestDraft])


Draft: TypeAlias = NestDraft | StepDraft


def draft(sink: Sink, key: Key, exclusive: bool = False) -> NestDraft:
    """Return a nest for one sink."""
    return NestDraft(squeezed(sink_shape(sink)), [sink], key, exclusive)


# -------------------------------------------------------------------------------------------------
# The scheduler: greedy loop fusion in program order (list scheduling).
#
# Scalars are placed before the first step that may need them. A sink joins the earliest nest of its
# shape that is late enough. Lazy tiles are not placed. A step may run when its operands are
# available and no memory that it writes is still to be read.

END = 1 << 60
"""After every op of the segment."""


class State:
    """The state that the segments of one kernel share: the buffers of tiles."""

    def __init__(self, facts: PlanFacts, panels: Callable[[Value], Layout]) -> None:
        self.facts = facts
        self.panels = panels
        self.buffers: dict[Value, TileBuffer] = {}
        self.carried: dict[Value, TileBuffer] = {}
        self.count = 0

    def buffer(
        self, value: Value, why: str, span: Span | None, layout: Layout | None = None
    ) -> TileBuffer:
        """Return a new buffer for a tile of this value's type."""
        tile = value.tile
        return self.buffer_of(tile.elem, layout or row_major(tile.shape), why, span)

    def buffer_of(self, elem: Elem, layout: Layout, why: str, span: Span | None) -> TileBuffer:
        """Return a new buffer."""
        self.count += 1
        return TileBuffer(f"t{self.count}", elem, layout, why, span)

    def variable(self, elem: Elem | AnyDType) -> Variable:
        """Return a new variable."""
        self.count += 1
        return Variable(f"s{self.count}", elem)


class Segment:
    """The schedule of a straight run of ops, built by `add` and `assign`."""

    def __init__(self, state: State, ops: Sequence[Op]) -> None:
        self.state = state
        self.facts = state.facts
        self.ops = list(ops)
        self.steps: list[Draft] = []
        self.early: dict[int, list[Op]] = defaultdict(list)
        """Scalar ops that run before step n."""
        self.late: list[Put] = []
        """Variables set after all steps."""
        self.time: dict[Value, int] = {}
        """The first step that may use a value."""
        self.kept: dict[Value, Key] = {}
        self.copies: dict[Value, Value] = {}
        """Row-major copies of tiles that are in panels."""
        self.members: set[Op] = set(ops)
        self.reads: list[tuple[Location, int, bool]] = []
        self.writes: list[tuple[Location, int]] = []
        self.checks = 0
        self.last_pull = self._last_pulls()

    # When things may run.

    def _last_pulls(self) -> dict[Op, int]:
        """Return, for each lazy op, the position of the last op that demands it."""
        last: dict[Op, int] = {}
        # Backward, so that the last demand of each user is known before that of its operands.
        for op in reversed(self.ops):
            if not any(self.facts.is_lazy(v) for v in op.results):
                continue
            ends = [0]
            for user in self.facts.users_of(op.result):
                if user not in self.members:
                    # A later segment computes it, after everything here.
                    ends.append(END)
                else:
                    ends.append(last.get(user, self.facts.home[user].position))
            last[op] = max(ends)
        return last

    def ready(self, *values: Value) -> int:
        """Return the first step at which all values can be computed."""
        latest, seen, todo = 0, set[Value](), list(values)
        while todo:
            value = todo.pop()
            if value in seen:
                continue
            seen.add(value)
            latest = max(latest, self.time.get(value, 0))
            op = self.facts.definition.get(value)
            # A lazy tile is computed at its use, so its operands must be available there.
            if op in self.members and value not in self.kept and self.facts.is_lazy(value):
                todo += op.operands
        return latest

    def is_mine(self, value: Value) -> bool:
        """Return whether a value is a lazy tile of this segment."""
        op = self.facts.definition.get(value)
        return op in self.members and self.facts.is_lazy(value)

    def after(self, location: Location, exact: bool = False) -> int:
        """Return the first step that may write a location; exact reads may share its step."""
        steps = [step + 1 for known, step in self.writes if may_alias(known, location)]
        for known, step, exactly in self.reads:
            if may_alias(known, location):
                # A nest that reads exactly the element that it then writes may do both in one loop.
                steps.append(step if exact and exactly else step + 1)
        return max(steps, default=0)

    def written(self, location: Location) -> int:
        """Return the first step that may read a location."""
        steps = [step + 1 for known, step in self.writes if may_alias(known, location)]
        return max(steps, default=0)

    # Placing.

    def place(self, sink: Sink, minimum: int, exclusive: bool = False) -> int:
        """Add a sink to a nest, an existing one if it fits; return its number."""
        new = draft(sink, (len(self.steps), 0), exclusive)
        # The earliest legal nest of the same shape: the operands of both are then loaded once.
        for number in range(minimum, len(self.steps)):
            step = self.steps[number]
            if isinstance(step, NestDraft) and step.joins(new):
                step.sinks.append(sink)
                return self._note_reads(sink, number)
        self.steps.append(new)
        return self._note_reads(sink, len(self.steps) - 1)

    def _note_reads(self, sink: Sink, number: int) -> int:
        dims = squeezed(sink_shape(sink))
        for value in sink_values(sink):
            if is_tile(value):
                same = squeezed(value.tile.shape) == dims
                self.note(value, number, same)
        return number

    def note(self, value: Value, number: int, exact: bool = False) -> None:
        """Remember the reads of a value that is computed at a step."""
        for pull in self.pulls(value):
            # A lazy tile reads memory when its user runs, so the read belongs to that step.
            self.reads.append((pull.location, number, exact and pull.exact))

    def pulls(self, value: Value) -> list[Pull]:
        """Return the reads of changing memory that computing a value does."""
        return list(pulls(value, self.facts, self.state.carried, self.state.buffers))

    def step(self, op: Op, args: Sequence[Value]) -> int:
        """Append a step that reads the buffers of `args`; return its number."""
        number = len(self.steps)
        self.steps.append(StepDraft(op, tuple(args), (number, 0)))
        for value in args:
            if value in self.state.carried:
                self.reads.append((Location(buffer=self.state.carried[value]), number, False))
        return number

    def hold(self, value: Value, why: str, layout: Layout | None = None) -> Value:
        """Return the operand for a buffered tile: the value, or a copy if it crosses segments."""
        if value not in self.state.buffers and not self.is_mine(value):
            value = self._copy(value)
        self.force(value, why, layout)
        return value

    def force(
        self, value: Value, why: str, layout: Layout | None = None, exclusive: bool = False
    ) -> int:
        """Ensure that a tile is in a buffer; return the first step that may read it."""
        if value in self.kept:
            return self.kept[value][0] + 1
        if value in self.state.buffers:
            return self.time.get(value, 0)
        op = self.facts.definition[value]
        assert op in self.members, "a tile of another segment is held, never forced"
        buffer = self.state.buffer(value, why, op.span, layout)
        # Place the sink before the buffer is registered: it must note the reads of its operands,
        # not a read of the buffer.
        number = self.place(Keep(value, buffer), self.ready(value), exclusive)
        self.state.buffers[value] = buffer
        self.kept[value] = (number, 0)
        self.time[value] = number
        return number + 1

    # Ops, in program order.

    def add(self, op: Op) -> None:
        """Schedule the next op."""
        if op.name in PLACERS:
            PLACERS[op.name](self, op)
        elif any(is_tile(v) for v in op.results):
            self.lazy(op)
        else:
            self._scalar(op)

    def _scalar(self, op: Op) -> None:
        at = self.ready(*op.operands)
        if op.is_a(CHECK, ASSERT):
            at = self.checks = max(at, self.checks)
        if op.is_a(*kinds.READS):
            at = max(at, self._when_read(op))
            # A scalar load runs before step `at`; to writers it counts as a read of the step
            # before.
            self.reads.append((location_of(op), at - 1, False))
            if kinds.is_ordered(op):
                self.writes.append((location_of(op), at - 1))
        for value in op.operands:
            if is_tile(value):
                self.note(value, at - 1)
        self.early[at].append(op)
        self.time.update(dict.fromkeys(op.results, at))

    def lazy(self, op: Op) -> None:
        """Schedule an op whose tile is computed where it is used."""
        if op.is_a(*kinds.READS):
            self.time[op.result] = self._when_read(op)
            if kinds.is_ordered(op):
                number = (
                    self.force(op.result, "other blocks may change its memory", exclusive=True) - 1
                )
                self.writes.append((location_of(op), number))
            # Computing it lazily would read the overwritten memory (an anti-dependence), so it is
            # materialized now.
            elif self._is_overtaken(op):
                self.force(op.result, "it is overwritten before its last use")
        elif self._is_rearranged(op):
            self.force(op.result, "it is used in several arrangements")

    def _when_read(self, load: Op) -> int:
        """Return the first step that may run a load."""
        location = location_of(load)
        return self.after(location) if kinds.is_ordered(load) else self.written(location)

    def _is_rearranged(self, op: Op) -> bool:
        """Return whether an expensive tile would be computed in several arrangements."""
        users = self.facts.users_of(op.result)
        if len(users) < 2 or self.facts.cost(op.result) <= kinds.CHEAP:
            return False
        return not op.has(Trait.REARRANGES) and any(
            user.has(Trait.REARRANGES) and not keeps_places(user, op.result) for user in users
        )

    def _is_overtaken(self, load: Op) -> bool:
        """Return whether memory changes between a load and the last use of its result."""
        here = self.facts.home[load].position
        location = location_of(load)
        return any(
            here < self.facts.home[op].position < self.last_pull[load]
            for op in self.ops
            if is_write(op) and may_alias(location_of(op), location)
        )

    def protect(self, value: Value, writer: Op) -> int:
        """Materialize a stored value if its computation reads memory that the writer changes."""
        location = location_of(writer)
        for pull in self.pulls(value):
            # x[i] = f(x[i]) is safe in one loop; x[i] = f(x[j]) is not.
            own = pull.exact and pull.load is not None and same_place(pull.load, writer)
            if may_alias(pull.location, location) and not own:
                return self.force(value, "the memory it comes from is overwritten")
        return 0

    def effect(self, op: Op, exclusive: bool = False) -> int:
        """Place an op that writes memory."""
        safe = [self.protect(v, op) for v in op.operands if is_tile(v)]
        location = location_of(op)
        minimum = max(self.ready(*op.operands), self.after(location), *safe, 0)
        number = self.place(EffectDraft(op), minimum, exclusive)
        self.writes.append((location, number))
        return number

    def results(self, op: Op, number: int, why: str) -> None:
        """Allocate the results of a nest's op; they can be read after it."""
        for value in op.results:
            if is_tile(value):
                self.state.buffers[value] = self.state.buffer(value, why, op.span)
            self.time[value] = number + 1

    # The end of the segment.

    def assign(self, pairs: Sequence[tuple[TileBuffer | Variable, Value]]) -> None:
        """Assign new values to buffers and variables, all at once."""
        tiles: list[tuple[TileBuffer, Value]] = []
        for target, value in pairs:
            if isinstance(target, Variable):
                self.late.append(Put(target, value))
            elif self.state.buffers.get(value) is not target:
                tiles.append((target, value))
        targets = {target for target, _ in tiles}
        # Parallel assignment, as for phi nodes: all values are read before any target changes. A
        # value that reads another target is copied first (the swap problem).
        safe = [(target, self._unclashing(target, value, targets)) for target, value in tiles]
        for target, (value, minimum) in safe:
            minimum = max(minimum, self.ready(value), self.after(Location(buffer=target), True))
            number = self.place(Assign(target, value), minimum)
            self.writes.append((Location(buffer=target), number))

    def _unclashing(
        self, target: TileBuffer, value: Value, targets: set[TileBuffer]
    ) -> tuple[Value, int]:
        """Return a copy of the value if its computation reads an assigned location."""
        for pull in self.pulls(value):
            own = pull.exact and pull.location.buffer is target
            if pull.location.buffer in targets and not own:
                copy = value if self.is_mine(value) else self._copy(value)
                return copy, self.force(copy, "its old value is needed by an assignment")
        return value, 0

    def _copy(self, value: Value) -> Value:
        """Return a lazy copy of a tile."""
        # An identity reshape is a lazy tile of this segment, which can be materialized here.
        op = make_op("reshape", value, attrs={"shape": value.tile.shape})
        self.members.add(op)
        self.ops.append(op)
        self.facts.definition[op.result] = op
        self.facts.users.setdefault(value, []).append(op)
        return op.result

    def plain(self, value: Value, why: str) -> Value:
        """Return a tile in a row-major buffer, copied if its own has another layout."""
        held = self.hold(value, why)
        if self.state.buffers[held].layout == row_major(value.tile.shape):
            return held
        if value not in self.copies:
            self.copies[value] = self._copy(value)
            self.force(self.copies[value], why)
        return self.copies[value]


# How ops that are neither scalar nor lazy are placed.


def _reduce(segment: Segment, op: Op) -> None:
    number = segment.place(EffectDraft(op), segment.ready(*op.operands, *captured(op)))
    segment.results(op, number, "it is reduced")


def _scan(segment: Segment, op: Op) -> None:
    for value in op.operands:
        costly = segment.is_mine(value) and segment.facts.cost(value) > kinds.CHEAP
        if costly:
            segment.force(value, "it is scanned")
    minimum = max(segment.ready(*op.operands, *captured(op)), *_buffered(segment, op.operands))
    number = segment.place(EffectDraft(op), minimum, exclusive=True)
    segment.results(op, number, "it is scanned")


def _buffered(segment: Segment, values: Sequence[Value]) -> list[int]:
    """Return the first steps that may read those of the values that have buffers, and step 0."""
    return [0, *(segment.kept[v][0] + 1 for v in values if v in segment.kept)]


def _store(segment: Segment, op: Op) -> None:
    segment.effect(op, exclusive=kinds.is_ordered(op))


def _atomic(segment: Segment, op: Op) -> None:
    number = segment.effect(op, exclusive=True)
    segment.results(op, number, "it is the result of an atomic")


def _matmul(segment: Segment, op: Op) -> None:
    lhs, rhs, acc = op.operands
    # The microkernel walks along rows of the left side, which another multiply may have packed.
    lhs = segment.plain(lhs, "it is multiplied")
    # The right side is packed into panels of columns in the order in which the microkernel reads
    # it.
    rhs = segment.hold(rhs, "it is multiplied", segment.state.panels(rhs))
    result = segment.state.buffer(op.result, "it is accumulated", op.span)
    # The multiply accumulates in place, so the accumulator's initial value is assigned first;
    # `place_buffers` removes the copy where old and new accumulator can share memory.
    segment.place(Assign(result, acc), segment.ready(acc))
    segment.state.buffers[op.result] = result
    segment.time[op.result] = segment.step(op, (lhs, rhs, op.result)) + 1


def _permute(segment: Segment, op: Op) -> None:
    if not kinds.is_turned(op, segment.facts):
        segment.lazy(op)
        return
    source = segment.plain(op.operands[0], "it is transposed")
    layout = segment.state.panels(op.result) if is_packed(op.result, segment.facts) else None
    target = segment.state.buffer(op.result, "it is transposed", op.span, layout)
    segment.state.buffers[op.result] = target
    segment.time[op.result] = segment.step(op, (source, op.result)) + 1


def is_packed(value: Value, facts: PlanFacts) -> bool:
    """Return whether a tile is used only as the right side of multiplies."""
    users = facts.users_of(value)
    return bool(users) and all(_is_right_side(value, user) for user in users)


def _is_right_side(value: Value, user: Op) -> bool:
    return user.is_a(MATMUL) and value is user.operands[1] and value is not user.operands[0]


def _cat(segment: Segment, op: Op) -> None:
    whole = segment.state.buffer(op.result, "its parts come from two tiles", op.span)
    axis: int = op.attrs["axis"]
    shift, numbers = 0, [0]
    for value in op.operands:
        part = CatPart(op, value, whole, shift)
        minimum = max(segment.ready(value), numbers[-1] - 1)  # the first part goes first
        numbers.append(segment.place(part, minimum) + 1)
        shift += value.tile.shape[axis] * whole.layout[axis][0].stride
    segment.state.buffers[op.result] = whole
    segment.time[op.result] = max(numbers)


def _print(segment: Segment, op: Op) -> None:
    values: list[Value] = []
    for value in op.operands:
        values.append(value if is_scalar(value) else segment.plain(value, "it is printed"))
    segment.step(op, values)


PLACERS: dict[str, Callable[[Segment, Op], None]] = {
    "reduce": _reduce, "scan": _scan, "store_view": _store, "store_ptr": _store,
    "atomic_red_view": _atomic, "atomic_rmw": _atomic, "atomic_cas": _atomic,
    "matmul": _matmul, "cat": _cat, "print": _print, "permute": _permute,
}  # fmt: skip
