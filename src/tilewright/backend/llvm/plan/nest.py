"""Builds the loop nest of a draft: pulls what its sinks read into registers, then writes.

Where an axis ends in the middle of a loop the loop is split and the nest is built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd, prod

from ....base.shapes import Shape
from ....ir.core import Op, Value
from . import index as ix
from .drafts import Assign, CatPart, Keep, Key, NestDraft, Run, Sink, sink_shape
from .element_expr import ExprBuilder
from .facts import is_ordered, is_regroupable, is_scalar, is_tile
from .index import Axis, Field, Index, Loop, NeedSplit
from .nodes import Get, Stmt
from .schedule import State
from .statements import (
    AtomicPointer,
    AtomicView,
    Combine,
    Effect,
    Nest,
    SetVariable,
    WriteBuffer,
    WritePointer,
    WriteView,
)
from .values import Buffer, Operand, Variable
from .width import lane_width

MAX_LANES = 64


class NestBuilder(ExprBuilder):
    """Builds one nest."""

    def __init__(
        self, state: State, kept: Mapping[Value, Key], key: Key, sizes: list[list[int]]
    ) -> None:
        super().__init__(state, kept, key)
        self.groups = [[Loop(n, "") for n in group] for group in sizes]
        self.loops = tuple(loop for group in self.groups for loop in group)
        for number, loop in enumerate(self.loops):
            loop.name = f"i{number}"
        self.effects: list[Effect] = []
        self.gets: list[Get] = []
        self.descending = False
        self.scans_lanes = False

    def index(self, shape: Shape) -> Index:
        """The index of the element that the loops stand at."""
        groups = iter(self.groups)
        axes: list[Axis] = []
        for n in shape:
            axes.append(tuple(Field(loop, loop.size) for loop in next(groups)) if n > 1 else ())
        return tuple(axes)

    # Writing.

    def write(self, buffer: Buffer, index: Index, value: Operand) -> None:
        """Put an element into a buffer."""
        ix.offset(index, buffer.layout)
        self.effects.append(WriteBuffer(buffer, index, value))

    def sink(self, sink: Sink) -> None:
        """Build what a sink reads and does."""
        index = self.index(sink_shape(sink))
        match sink:
            case Keep() | Assign():
                self.write(sink.buffer, index, self.pull(sink.value, index))
            case CatPart():
                self.cat_part(sink, index)
            case Run():
                SINKS[sink.op.name](self, sink.op, index)

    def cat_part(self, sink: CatPart, index: Index) -> None:
        """One side of a `cat`: the rows of the whole, from `shift` on."""
        value = self.pull(sink.value, index)
        part = tuple(
            (ix.Part(n, axis[0].stride),)
            for axis, n in zip(sink.buffer.layout, sink.value.tile.shape, strict=True)
        )
        self.effects.append(WriteBuffer(sink.buffer, index, value, part, sink.shift))

    def target(self, value: Value) -> Buffer | Variable:
        """Where a result of this nest goes."""
        if is_tile(value):
            return self.state.buffers[value]
        variable = self.state.variable(value.tile.elem)
        self.gets.append(Get(value, variable))
        return variable

    def finish(self, lane_bytes: int, draft: NestDraft | None) -> Nest:
        """The nest as it is."""
        span = draft.span if draft is not None else None
        lanes = 1 if self.is_serial else self._lanes(lane_bytes)
        return Nest(self.loops, lanes, self.reads, self.effects, self.descending, span)

    def _lanes(self, lane_bytes: int) -> int:
        if not self.loops:
            return 1
        inner = self.loops[-1]
        width = lane_width(inner, self.reads, self.effects)
        # Lanes that are scanned depend on each other: one register at a time.
        lane_bytes = lane_bytes // 2 if self.scans_lanes else lane_bytes
        return gcd(inner.size, max(4, min(lane_bytes // width, MAX_LANES)))


# Sinks, by op.


def _row(builder: NestBuilder, op: Op, index: Index) -> Operand | None:
    rows = [builder.pull(*element) for element in builder.rows(op, index)]
    return rows[0] if rows else None


def _mask(builder: NestBuilder, op: Op, index: Index) -> Operand | None:
    mask = op.maybe("mask")
    return builder.pull(mask, index) if mask is not None else None


def _store_view(builder: NestBuilder, op: Op, index: Index) -> None:
    row, value = _row(builder, op, index), builder.pull(op.one("value"), index)
    builder.effects.append(WriteView(builder.access(op), index, value, row))


def _store_ptr(builder: NestBuilder, op: Op, index: Index) -> None:
    address, value = builder.pull(op.one("target"), index), builder.pull(op.one("value"), index)
    elem = op.one("value").tile.dtype
    ordered = is_ordered(op)
    builder.is_serial |= ordered
    mask = _mask(builder, op, index)
    builder.effects.append(WritePointer(address, value, mask, elem, ordered))


def _atomic_view(builder: NestBuilder, op: Op, index: Index) -> None:
    builder.is_serial = True
    row, value = _row(builder, op, index), builder.pull(op.one("value"), index)
    builder.effects.append(AtomicView(op, builder.access(op), index, value, row))


def _atomic_pointer(builder: NestBuilder, op: Op, index: Index) -> None:
    builder.is_serial = True
    address = builder.pull(op.one("target"), index)
    names = ("compare", "value") if op.name == "atomic_cas" else ("value",)
    values = tuple(builder.pull(op.one(name), index) for name in names)
    mask = _mask(builder, op, index)
    target = builder.target(op.result) if builder.facts.users_of(op.result) else None
    builder.effects.append(AtomicPointer(op, address, values, mask, target, index))


def _combine(builder: NestBuilder, op: Op, index: Index) -> None:
    axis: int = op.attrs["axis"]
    values = tuple(builder.pull(v, index) for v in op.operands)
    loops = tuple(f.source for f in index[axis] if isinstance(f.source, Loop))
    targets = tuple(builder.target(v) for v in op.results)
    rest = (*index[:axis], *index[axis + 1 :])
    if op.name == "reduce":
        builder.effects.append(Combine(op, values, loops, targets, rest))
        return
    builder.descending = op.attrs["reverse"]
    combine = Combine(op, values, loops, targets, index, (), rest)
    if loops and loops[-1] is builder.loops[-1]:
        builder.scans_lanes = is_regroupable(op)
        builder.is_serial |= not builder.scans_lanes
    else:
        combine.carry = tuple(_carry(builder, v, rest) for v in op.operands)
    builder.effects.append(combine)


def _carry(builder: NestBuilder, value: Value, rest: Index) -> Buffer:
    """Room for the running values of a scan along an outer axis."""
    shape = tuple(prod(f.size for f in axis) for axis in rest)
    layout = ix.row_major(shape)
    return builder.state.buffer_of(value.tile.elem, layout, "a scan runs through it", None)


SINKS: dict[str, Callable[[NestBuilder, Op, Index], None]] = {
    "store_view": _store_view, "store_ptr": _store_ptr, "atomic_red_view": _atomic_view,
    "atomic_rmw": _atomic_pointer, "atomic_cas": _atomic_pointer,
    "reduce": _combine, "scan": _combine,
}  # fmt: skip


# Whole nests.


def build_nest(
    state: State, kept: Mapping[Value, Key], draft: NestDraft, lane_bytes: int
) -> list[Stmt]:
    """The nest of a draft, and what must be read from it afterwards."""
    sizes = [[n] for n in draft.dims]
    while True:
        builder = NestBuilder(state, kept, draft.key, sizes)
        try:
            for sink in draft.sinks:
                builder.sink(sink)
        except NeedSplit as wish:
            sizes = split(builder.groups, wish)
            continue
        return [builder.finish(lane_bytes, draft), *builder.gets]


def split(groups: list[list[Loop]], wish: NeedSplit) -> list[list[int]]:
    """The sizes of the loops after one of them was cut in two."""
    sizes: list[list[int]] = []
    for group in groups:
        sizes.append([])
        for loop in group:
            cut = [loop.size // wish.low, wish.low] if loop is wish.loop else [loop.size]
            sizes[-1] += cut
    return sizes


def build_scalar(state: State, kept: Mapping[Value, Key], key: Key, op: Op) -> list[Stmt]:
    """A scalar taken from a tile or from memory: a nest without loops."""
    builder = NestBuilder(state, kept, key, [])
    value = builder.compute(op, ())
    variable = state.variable(op.result.tile.elem)
    builder.effects.append(SetVariable(variable, value))
    return [builder.finish(0, None), Get(op.result, variable)]


def needs_nest(op: Op) -> bool:
    """Whether a scalar op reads memory or a tile."""
    loads = op.name in ("load_view", "load_ptr")
    return loads or any(is_tile(v) and is_scalar(op.result) for v in op.operands)
