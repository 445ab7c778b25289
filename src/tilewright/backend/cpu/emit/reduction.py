"""Reductions and scans with any body: accumulators in lanes, or in the result's buffer.

A reduction along the lanes has one accumulator per lane and folds them at the end, half by half. A
scan along the lanes is a Hillis-Steele scan within each vector, combined with the carry of the
vectors before it. Along another axis the accumulators are the elements of the result. In all cases
the order depends on shapes alone, so results are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....analysis.structure import identities_of
from ....base.errors import InternalError
from ....ir.core import Op, Value
from ....ir.opdef import Trait
from ...llvm.builder import Vec, where
from ..loopnest.index import Index, loops_in
from ..loopnest.nodes import Combine, Nest, TileBuffer, Variable
from .emitter import Compute, LlvmEmitter
from .frame import Accumulators, AccumulatorSlot, Direct, NestFrame, Way, extreme
from .layout import read_element, write_element


class Reducer:
    """The emitter of `Combine` effects; `compute` are the elementwise ops of its bodies, `scalars`
    the others."""

    def __init__(
        self, compute: dict[str, Compute], scalars: dict[str, Callable[[LlvmEmitter, Op], None]]
    ) -> None:
        self.compute = compute
        self.scalars = scalars

    def begin(self, frame: NestFrame, effect: Combine) -> None:
        """Begin a reduction along the lanes, before its loops: empty accumulators."""
        way = self.way(frame.emitter, effect)
        empty = way.spread(self._starts(frame, effect, frame.nest.lanes))
        slots = [
            AccumulatorSlot(frame.emitter.slot(x.elem, x.lanes), x.elem, x.lanes) for x in empty
        ]
        frame.accumulators[effect] = Accumulators(way, slots)
        frame.accumulators[effect].store(frame.emitter, empty)

    def step(self, frame: NestFrame, effect: Combine) -> None:
        """Combine one element (per lane) into the accumulators."""
        if effect in frame.accumulators:
            self._in_lanes(frame, effect)
        else:
            self._in_memory(frame, effect)

    def end(self, frame: NestFrame, effect: Combine) -> None:
        """End a reduction, after its loops: fold the lanes into the result."""
        if effect.scan:
            return
        emitter = frame.emitter
        accumulators, lanes = frame.accumulators[effect], frame.nest.lanes
        way, values = accumulators.way, accumulators.load(emitter)
        while lanes > 1:
            lanes //= 2
            low = [half(emitter, v, 0, lanes) for v in values]
            high = [half(emitter, v, lanes, lanes) for v in values]
            values = way.join(high, low)
        for target, value in zip(effect.targets, way.finish(values), strict=True):
            put(frame, target, effect.index, value)

    def way(self, emitter: LlvmEmitter, effect: Combine) -> Way:
        """Return the form of accumulation."""
        short = None if effect.scan else extreme(effect.op, emitter.cpu)
        return short or Direct(partial(self.body, emitter, effect.op))

    def _in_lanes(self, frame: NestFrame, effect: Combine) -> None:
        emitter, lanes = frame.emitter, frame.nest.lanes
        accumulators = frame.accumulators[effect]
        way = accumulators.way
        elements = [frame.value(v, lanes) for v in effect.values]
        if effect.scan:
            elements = self._prefixes(frame, effect, elements)
        new = way.join(way.spread(elements), accumulators.load(emitter))
        if not effect.scan:
            accumulators.store(emitter, new)
            return
        for target, value in zip(effect.targets, new, strict=True):
            put(frame, target, effect.index, value)
        last = 0 if frame.nest.descending else lanes - 1
        accumulators.store(emitter, [spread_lane(emitter, v, last) for v in new])

    def _prefixes(self, frame: NestFrame, effect: Combine, elements: list[Vec]) -> list[Vec]:
        """Return the inclusive prefix within each vector, by doubling distances (Hillis-Steele)."""
        starts = self._starts(frame, effect, frame.nest.lanes)
        distance = 1
        while distance < frame.nest.lanes:
            away = -distance if frame.nest.descending else distance
            pairs = zip(elements, starts, strict=True)
            earlier = [moved(frame.emitter, x, start, away) for x, start in pairs]
            elements = self.body(frame.emitter, effect.op, elements, earlier)
            distance *= 2
        return elements

    def _in_memory(self, frame: NestFrame, effect: Combine) -> None:
        index = effect.carry_index if effect.scan else effect.index
        holders = effect.carry if effect.scan else effect.targets
        lanes = frame.nest.lanes if frame.is_vector(loops_in(index)) else 1
        elements = [frame.value(v, lanes) for v in effect.values]
        old = self._old(frame, effect, holders, index, lanes)
        new = self.body(frame.emitter, effect.op, elements, old)
        for holder, value in zip(holders, new, strict=True):
            put(frame, holder, index, value)
        if effect.scan:
            for target, value in zip(effect.targets, new, strict=True):
                put(frame, target, effect.index, value)

    def _starts(self, frame: NestFrame, effect: Combine, lanes: int) -> list[Vec]:
        """Return the identities of the combiner."""
        values = zip(effect.op.operands, identities_of(effect.op), strict=True)
        return [frame.emitter.literal(v.tile.elem, start, lanes) for v, start in values]

    def _old(
        self, frame: NestFrame, effect: Combine, holders: Sequence[TileBuffer | Variable],
        index: Index,
        lanes: int,
    ) -> list[Vec]:  # fmt: skip
        """Return the accumulators so far; in the first iteration, the identity."""
        starts = self._starts(frame, effect, lanes)
        if not effect.loops:
            return starts
        if frame.begun.intersection(effect.loops):
            return [self._held(frame, holder, index) for holder in holders]
        first = frame.emitter.any_of([frame.counters[loop].eq(0) for loop in effect.loops])
        old: list[Vec] = []
        for holder, start in zip(holders, starts, strict=True):
            old.append(where(first, start, self._held(frame, holder, index)))
        return old

    def _held(self, frame: NestFrame, holder: TileBuffer | Variable, index: Index) -> Vec:
        assert isinstance(holder, TileBuffer), "a variable accumulates along the lanes"
        return read_element(frame, holder, index)

    def body(
        self, emitter: LlvmEmitter, op: Op, elements: Sequence[Vec], old: Sequence[Vec]
    ) -> list[Vec]:
        """Combine elements with accumulators by the op's own body."""
        (block,) = op.regions
        pairs = [x for pair in zip(elements, old, strict=True) for x in pair]
        known: dict[Value, Vec] = dict(zip(block.args, pairs, strict=True))
        lanes = elements[0].lanes

        def read(value: Value) -> Vec:
            return known[value] if value in known else emitter.splat(emitter.scalar(value), lanes)

        for inner in block.ops[:-1]:
            if inner.name in self.compute:
                args = [read(v) for v in inner.operands]
                known[inner.result] = self.compute[inner.name](emitter, inner, args)
            elif inner.has(Trait.REARRANGES) and inner.result.tile.size == 1:
                known[inner.result] = read(inner.operands[0])
            elif inner.name in self.scalars:
                self.scalars[inner.name](emitter, inner)
            else:
                raise InternalError(f"`{inner.name}` is not allowed in the body of a {op.name}")
        return [read(v) for v in block.terminator.operands]


def half(emitter: LlvmEmitter, x: Vec, start: int, lanes: int) -> Vec:
    """Return adjacent lanes of a vector."""
    if lanes == 1:
        return emitter.body.emit(f"extractelement {x}, i64 {start}", x.elem, 1)
    order = ", ".join(f"i32 {start + i}" for i in range(lanes))
    text = f"shufflevector {x}, {x.type} poison, <{lanes} x i32> <{order}>"
    return emitter.body.emit(text, x.elem, lanes)


def moved(emitter: LlvmEmitter, x: Vec, start: Vec, distance: int) -> Vec:
    """Return a vector shifted up by some lanes; `start` enters the first ones."""
    lanes = x.lanes
    places = [i - distance for i in range(lanes)]
    order = [p if 0 <= p < lanes else lanes for p in places]
    text = ", ".join(f"i32 {place}" for place in order)
    shuffle = f"shufflevector {x}, {start}, <{lanes} x i32> <{text}>"
    return emitter.body.emit(shuffle, x.elem, lanes)


def spread_lane(emitter: LlvmEmitter, x: Vec, lane: int) -> Vec:
    """Broadcast the value of one lane to all lanes."""
    if x.lanes == 1:
        return x
    order = ", ".join([f"i32 {lane}"] * x.lanes)
    text = f"shufflevector {x}, {x.type} poison, <{x.lanes} x i32> <{order}>"
    return emitter.body.emit(text, x.elem, x.lanes)


def put(frame: NestFrame, target: TileBuffer | Variable, index: Index, value: Vec) -> None:
    """Store a result at its place."""
    if isinstance(target, TileBuffer):
        write_element(frame, target, index, value)
    else:
        frame.emitter.put(target, value)


def along_lanes(nest: Nest, effect: Combine) -> bool:
    """Return whether a reduction runs along the lanes (or along the last loop of a serial nest)."""
    return bool(effect.loops) and effect.loops[-1] is nest.loops[-1]


TABLE: dict[str, Callable[[Reducer, NestFrame, Combine], None]] = {
    "reduce": Reducer.step,
    "scan": Reducer.step,
}
