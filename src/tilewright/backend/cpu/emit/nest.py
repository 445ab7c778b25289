"""Emission of loop nests: full and boundary versions, ranges of steps, statements at their level.

Sections: the ranges of needed and of unmasked steps, and the writer of nests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product, takewhile
from typing import NamedTuple

from ...llvm.builder import Vec
from ..loopnest.index import Axis, IndexField, Loop
from ..loopnest.nodes import (
    AtomicPointer,
    AtomicView,
    Combine,
    Compute,
    Nest,
    NestEffect,
    Position,
    Read,
    ReadBuffer,
    ReadPointer,
    ReadView,
    SetVariable,
    WriteBuffer,
    WritePointer,
    WriteView,
    itemsize,
    span_of,
)
from ..loopnest.optimize import LINE
from . import access
from .emitter import LlvmEmitter
from .frame import NestFrame
from .layout import interleaved, read_buffer, write_buffer, write_interleaved
from .memory import Element, element_of, is_nontemporal, is_whole, window
from .reduction import Reducer, along_lanes

# -------------------------------------------------------------------------------------------------
# Index-set splitting: the steps of a loop that do something, and those that need no mask.
#
# Most vectors of a boundary tile are in bounds along the lanes; only the last one or two of a row
# are not. A nest that only stores to tensors skips the steps that are out of bounds.


class Range(NamedTuple):
    """The steps begin .. end - 1 of a loop; `is_whole` if these are known to be all."""

    begin: Vec
    end: Vec
    is_whole: bool = False


def used(frame: NestFrame, level: int) -> Range:
    """Return the steps of a loop that a nest needs."""
    loop, emitter = frame.nest.loops[level], frame.emitter
    needs = [_needed(frame, effect, loop) for effect in frame.nest.effects]
    found = [steps for steps in needs if steps is not None]
    # One effect without a range (a buffer, a reduction) needs every step.
    if not frame.ranged or not needs or len(found) < len(needs):
        return Range(emitter.integer(0), emitter.integer(loop.size), is_whole=True)
    begin, end, _ = found[0]
    # The union of the ranges, as one interval: each store masks what is out of its own bounds.
    for other in found[1:]:
        begin, end = begin.intrinsic("smin", other.begin), end.intrinsic("smax", other.end)
    if level == len(frame.nest.loops) - 1:
        begin = _start(frame, begin)
    return Range(begin, end)


def _start(frame: NestFrame, begin: Vec) -> Vec:
    """Return the aligned start of the vectors of a row, at `begin` or a little before.

    Aligned in memory if a store is non-temporal, else in the tile: what is read from a
    buffer has nothing before it.
    """
    nest, emitter = frame.nest, frame.emitter
    writes = [e for e in nest.effects if isinstance(e, WriteView) and e.nontemporal]
    # Buffers have no elements before their first, so vectors start at a multiple of the lanes.
    if not writes or any(isinstance(read, ReadBuffer) for read in nest.reads):
        return begin & -nest.lanes
    (element,) = _at_start(frame, [writes[0]])
    size = itemsize(writes[0].access.view.tensor.dtype)
    first = emitter.shifted(element.first(), begin, element.kind)
    place = emitter.body.emit(f"ptrtoint {first} to i64", "i64", 1)
    # Step back to the start of the cache line (or vector): non-temporal stores must be aligned.
    return begin - (place & (min(nest.lanes * size, LINE) - 1)).binary("sdiv", size)


def _needed(frame: NestFrame, effect: NestEffect, loop: Loop) -> Range | None:
    """Return the steps of a loop for which a store has an element in bounds; None if all."""
    if not isinstance(effect, WriteView):
        return None
    window = frame.windows[effect.access]
    for k, axis in enumerate(effect.index):
        # The window of a sparse axis is in rows of the tensor.
        if k != effect.access.view.sparse and _is_alone(axis, loop):
            return Range(window.low[k], window.high[k])
    return None


def _is_alone(axis: Axis, loop: Loop) -> bool:
    """Return whether the coordinate along an axis is the loop's own."""
    return axis == (IndexField(loop, loop.size),)


def untested(frame: NestFrame) -> Range | None:
    """Return the range of lane steps in which all accesses are in bounds.

    The loops around the last one stand somewhere; None if that cannot be known before it runs.
    """
    nest = frame.nest
    statements = (*nest.reads, *nest.effects)
    touching = [s for s in statements if isinstance(s, ReadView | WriteView)]
    # Elements that do not depend on the lanes need no range; the others must advance by exactly one
    # element per lane, or no single interval describes them.
    moving = [e for e in _at_start(frame, touching) if e.lane_axis is not None]
    if not moving or not all(map(_walks, moving)):
        return None
    begin, end = moving[0].stretch()
    for element in moving[1:]:
        low, high = element.stretch()
        # The intersection: unmasked steps must be in bounds for every access.
        begin, end = begin.intrinsic("smax", low), end.intrinsic("smin", high)
    # An axis may have several loops.
    return Range(begin, end.intrinsic("smin", frame.emitter.blocks * nest.loops[-1].size))


def _at_start(frame: NestFrame, statements: list[ReadView | WriteView]) -> list[Element]:
    """Return the elements that statements access at the start of the innermost loop."""
    frame.variables[frame.nest.loops[-1]] = frame.emitter.integer(0)
    return [element_of(frame, statement) for statement in statements]


def _walks(element: Element) -> bool:
    """Return whether an element's coordinate grows by one from lane to lane, along one axis."""
    assert element.lane_axis is not None, "it moves"
    steps = [place.step for place in element.places]
    return sum(steps) == 1 and element.places[element.lane_axis].step == 1


def choose_past(frame: NestFrame, steps: Range) -> None:
    """Decide for each store of a row whether it is non-temporal."""
    for write in frame.nest.effects:
        if isinstance(write, WriteView) and write.nontemporal:
            (element,) = _at_start(frame, [write])
            elem = write.access.view.tensor.dtype
            first = frame.emitter.shifted(element.first(), steps.begin, element.kind)
            length = steps.end - steps.begin
            frame.past[write] = is_nontemporal(frame.emitter, first, length, frame.nest.lanes, elem)


# -------------------------------------------------------------------------------------------------
# The writer: each statement is emitted at the outermost loop it depends on, the lanes innermost.
#
# A nest that accesses tensors is multi-versioned: unmasked code for full tiles, and loops over the
# in-bounds part for boundary tiles, which mask only the last vectors of a row.

Table = dict[str, Callable[..., object]]


class NestWriter:
    """The writer of nests; `table` has the emitter of every op."""

    def __init__(self, table: Table, compute: Table, reducer: Reducer) -> None:
        self.table = table
        self.compute = compute
        self.reducer = reducer

    def write(self, emitter: LlvmEmitter, nest: Nest) -> None:
        """Write both versions of a nest."""
        windows = {a: window(emitter, a) for a in nest.accesses}
        frame = NestFrame(emitter, nest, windows)
        # Scalar code tests each element anyway, and row numbers of gathers differ per element, so a
        # second version would gain nothing.
        if not windows or nest.lanes == 1 or nest.has_row_per_lane:
            self.loops([frame], 0)
            return
        # Joined blocks have a run-time length, so their ranges are computed in any case. Where row
        # numbers are the same in all lanes, they are tested before the innermost loop.
        if emitter.plan.joined is not None or any(a.view.sparse is not None for a in windows):
            frame.ranged = not nest.descending
            self.loops([frame], 0)
            return
        whole = emitter.any_of([is_whole(emitter, a, w) for a, w in windows.items()])
        inside, edge, after = (emitter.label(word) for word in ("whole", "edge", "after"))
        emitter.branch(whole, inside, edge)
        for label, tested in ((inside, False), (edge, True)):
            emitter.body.label(label)
            version = NestFrame(emitter, nest, windows)
            version.edge = tested
            # A scan must visit all steps in order, downwards if it is reversed.
            version.ranged = tested and not nest.descending
            self.loops([version], 0)
            emitter.body.jump(after)
        emitter.body.label(after)

    def loops(self, frames: Sequence[NestFrame], level: int) -> None:
        """Emit the statements of one level and the loops inside; frames run side by side."""
        nest = frames[0].nest
        for read in nest.reads:
            if self.level(nest, read) == level:
                self.read_in_all(frames, read)
        if level == len(nest.loops):
            for effect, frame in product(self.grouped(frames[0]), frames):
                self.effect(frame, effect)
            return
        # Accumulators along the lanes are initialized before, and folded after, the outermost loop
        # that they reduce.
        starting = [e for e in nest.effects if self.starts(nest, e, level)]
        for effect, frame in product(starting, frames):
            assert isinstance(effect, Combine), "only reductions begin before a loop"
            self.reducer.begin(frame, effect)
        self.loop(frames, level)
        for effect, frame in product(starting, frames):
            assert isinstance(effect, Combine), "only reductions end after a loop"
            self.reducer.end(frame, effect)

    def level(self, nest: Nest, read: Read) -> int:
        """Return the number of loops around a statement."""
        # Loop-invariant code motion by construction: a read is emitted at its innermost loop.
        return max((nest.loops.index(loop) + 1 for loop in read.result.loops), default=0)

    def starts(self, nest: Nest, effect: NestEffect, level: int) -> bool:
        """Return whether the accumulators of an effect live around the loop of this level."""
        if not isinstance(effect, Combine) or not along_lanes(nest, effect):
            return False
        return effect.loops[0] is nest.loops[level]

    def loop(self, frames: Sequence[NestFrame], level: int) -> None:
        """Emit one loop."""
        nest = frames[0].nest
        steps, inside = used(frames[0], level), None
        if level == len(nest.loops) - 1:
            for frame in frames:
                choose_past(frame, steps)
            inside = untested(frames[0]) if frames[0].ranged else None
        if steps.is_whole and inside is None:
            self.whole_loop(frames, level)
        else:
            (frame,) = frames
            self.ranged_loop(frame, level, steps, inside)

    def ranged_loop(self, frame: NestFrame, level: int, steps: Range, inside: Range | None) -> None:
        """Emit a loop over the needed steps; those that are in bounds run without masks."""
        emitter, body = frame.emitter, frame.emitter.body
        words = ("each", "look", "tested", "after")
        each, look, tested, after = (emitter.label(word) for word in words)
        counter = emitter.slot("i64")
        emitter.store(steps.begin, counter)
        body.jump(each)
        body.label(each)
        at = emitter.load(counter, "i64")
        emitter.branch(at < steps.end, look, after)
        body.label(look)
        if inside is not None:
            self.untested_loop(frame, counter, inside, each, tested)
        else:
            body.jump(tested)
        body.label(tested)
        self.steps([frame], level, at)
        emitter.store(at + self.stride(frame, level), counter)
        body.jump(each)
        body.label(after)

    def untested_loop(
        self, frame: NestFrame, counter: Vec, inside: Range, back: str, other: str
    ) -> None:
        """Emit the unmasked steps: go to `other` unless the next steps are in bounds."""
        emitter, body = frame.emitter, frame.emitter.body
        level = len(frame.nest.loops) - 1
        check, free = emitter.label("check"), emitter.label("free")
        # The same steps once more, without masks; the generator's state is switched for their text.
        frame.edge = False
        width = self.stride(frame, level)
        at = emitter.load(counter, "i64")
        emitter.branch(at >= inside.begin, check, other)
        body.label(check)
        emitter.branch(inside.end >= at + width, free, other)
        body.label(free)
        at = emitter.load(counter, "i64")
        self.steps([frame], level, at)
        emitter.store(at + width, counter)
        # Stay in the unmasked loop while the next step fits, so that its backedge is one
        # comparison.
        emitter.branch(inside.end >= at + 2 * width, free, back)
        frame.edge = True

    def whole_loop(self, frames: Sequence[NestFrame], level: int) -> None:
        """Emit all steps of a loop, at least one."""
        emitter, nest = frames[0].emitter, frames[0].nest
        loop, stride = nest.loops[level], self.stride(frames[0], level)
        body = emitter.body
        if loop.size == stride:
            self.steps(frames, level, emitter.integer(0))
            return
        before, head, after = body.block, emitter.label("loop"), emitter.label("after")
        body.jump(head)
        body.label(head)
        place = len(body.lines)
        # The phi of the counter is written afterwards: the value of the backedge is not known yet.
        counter = body.emit("", "i64", 1)
        self.steps(frames, level, counter)
        following = body.emit(f"add nuw nsw i64 {counter.name}, {stride}", "i64", 1)
        sources = f"[ 0, %{before} ], [ {following.name}, %{body.block} ]"
        body.lines[place] = f"  {counter.name} = phi i64 {sources}"
        emitter.branch(following.compare("", "ult", loop.size), head, after)
        body.label(after)

    def stride(self, frame: NestFrame, level: int) -> int:
        """Return the distance of one iteration of a loop."""
        last = len(frame.nest.loops) - 1
        return {last: frame.nest.lanes * frame.unroll, last - 1: frame.jam}.get(level, 1)

    def steps(self, frames: Sequence[NestFrame], level: int, counter: Vec) -> None:
        """Emit one iteration of a loop: along the lanes several steps, one after the other."""
        nest = frames[0].nest
        if level < len(nest.loops) - 1:
            self.enter(frames, level, counter)
            return
        for number in range(frames[0].unroll):
            self.enter(frames, level, counter + number * nest.lanes)

    def enter(self, frames: Sequence[NestFrame], level: int, counter: Vec) -> None:
        """Emit the inside of a loop."""
        nest, last = frames[0].nest, len(frames[0].nest.loops) - 1
        loop = nest.loops[level]
        for frame in frames:
            frame.counters[loop] = counter
        if level == last - 1:
            (frame,) = frames
            # Unroll-and-jam: each frame is one step of this loop; the inner loop is emitted once
            # and runs the statements of all of them.
            frames = [frame.beside(loop, number) for number in range(frame.jam)]
        width = nest.lanes if level == last else 1
        for frame in frames:
            at = frame.counters[loop]
            frame.variables[loop] = (loop.size - width) - at if nest.descending else at
        self.loops(frames, level + 1)

    # Statements.

    def read_in_all(self, frames: Sequence[NestFrame], read: Read) -> None:
        """Emit a read; frames that do not differ in its loops share the register."""
        first, *others = frames
        self.read(first, read)
        for frame in others:
            # Common subexpressions of jammed frames: a read that does not depend on the jammed loop
            # is shared.
            if frame.begun & read.result.loops:
                self.read(frame, read)
            else:
                frame.registers[read.result] = first.registers[read.result]

    def read(self, frame: NestFrame, read: Read) -> None:
        """Emit a statement that defines a register."""
        with frame.emitter.body.coming_from(span_of(read)):
            self._read(frame, read)

    def _read(self, frame: NestFrame, read: Read) -> None:
        match read:
            case Compute():
                lanes = frame.lanes(read.result)
                args = [frame.value(a, lanes) for a in read.args]
                result = self.compute[read.op.name](frame.emitter, read.op, args)
                assert isinstance(result, Vec), "an elementwise op gives a value"
                frame.registers[read.result] = result
            case ReadBuffer():
                read_buffer(frame, read)
            case Position() | ReadView() | ReadPointer():
                self.table[NAMES[type(read)]](frame, read)

    def grouped(self, frame: NestFrame) -> Iterator[NestEffect | Sequence[WriteBuffer]]:
        """Return the statements that write; those that fill memory together as one."""
        effects = list(frame.nest.effects)
        while effects:
            effect, following = effects[0], effects[1 : access.MOST_PHASES]
            count = 1
            if isinstance(effect, WriteBuffer):
                writes = takewhile(lambda e: isinstance(e, WriteBuffer), following)
                count = interleaved(
                    frame, effect, [e for e in writes if isinstance(e, WriteBuffer)]
                )
            together = [e for e in effects[:count] if isinstance(e, WriteBuffer)]
            yield effect if count == 1 else together
            del effects[:count]

    def effect(self, frame: NestFrame, effect: NestEffect | Sequence[WriteBuffer]) -> None:
        """Emit a statement that writes."""
        span = None if isinstance(effect, Sequence) else span_of(effect)
        with frame.emitter.body.coming_from(span):
            self._effect(frame, effect)

    def _effect(self, frame: NestFrame, effect: NestEffect | Sequence[WriteBuffer]) -> None:
        match effect:
            case [*writes]:
                write_interleaved(frame, writes)
            case WriteBuffer():
                write_buffer(frame, effect)
            case SetVariable():
                frame.emitter.put(effect.variable, frame.value(effect.value, 1))
            case Combine():
                self.reducer.step(frame, effect)
            case AtomicPointer() | AtomicView():
                self.table[effect.op.name](frame, effect)
            case WriteView() | WritePointer():
                self.table[NAMES[type(effect)]](frame, effect)


NAMES: dict[type, str] = {
    Position: "iota", ReadView: "load_view", ReadPointer: "load_ptr", WriteView: "store_view",
    WritePointer: "store_ptr",
}  # fmt: skip
"""The op whose way of being written a statement follows."""
