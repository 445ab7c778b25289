"""Builds the loop nest of a draft: pulls what its sinks read into registers, then writes.

Pulling a lazy tile at an index computes it there; layout ops only change the index on the way.
Where an axis ends in the middle of a loop the loop is split and the nest is built anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd, prod
from typing import TypeAlias

from ....base.dtypes import f32
from ....base.shapes import Shape
from ....ir.core import Op, Value
from ....ir.types import Elem
from . import index as ix
from .drafts import Assign, CatPart, Keep, Key, NestDraft, Run, Sink, sink_shape
from .facts import ELEMENTWISE, Facts, is_scalar, is_tile
from .index import Axis, Field, Index, Loop, NeedSplit
from .nodes import (
    Access,
    AtomicPointer,
    AtomicView,
    Buffer,
    Combine,
    Compute,
    Effect,
    Get,
    Literal,
    Nest,
    Operand,
    Position,
    Read,
    ReadBuffer,
    ReadPointer,
    ReadView,
    Reg,
    SetVariable,
    Stmt,
    Variable,
    WriteBuffer,
    WritePointer,
    WriteView,
    itemsize,
)  # fmt: skip
from .schedule import State

MAX_LANES = 64
SMALL_FLOATS_COMPUTE_IN = itemsize(f32)


class NestBuilder:
    """Builds one nest. `key` tells which tiles of the segment are in their buffers already."""

    def __init__(
        self, state: State, kept: Mapping[Value, Key], key: Key, sizes: list[list[int]]
    ) -> None:
        self.state = state
        self.facts: Facts = state.facts
        self.kept = kept
        self.key = key
        self.groups = [[Loop(n, "") for n in group] for group in sizes]
        self.loops = tuple(loop for group in self.groups for loop in group)
        for number, loop in enumerate(self.loops):
            loop.name = f"i{number}"
        self.reads: list[Read] = []
        self.effects: list[Effect] = []
        self.gets: list[Get] = []
        self.known: dict[tuple[Value, Index], Operand] = {}
        self.is_serial = False
        self.descending = False

    def index(self, shape: Shape) -> Index:
        """The index of the element that the loops stand at."""
        groups = iter(self.groups)
        axes: list[Axis] = []
        for n in shape:
            axes.append(tuple(Field(loop, loop.size) for loop in next(groups)) if n > 1 else ())
        return tuple(axes)

    # Reading.

    def pull(self, value: Value, index: Index) -> Operand:
        """One element of a tile, or a scalar."""
        if not is_tile(value):
            return self.scalar(value)
        if (value, index) not in self.known:
            buffer = self._buffer(value)
            if buffer is not None:
                self.known[value, index] = self._read_buffer(buffer, index)
            else:
                self.known[value, index] = self.compute(self.facts.definition[value], index)
        return self.known[value, index]

    def _buffer(self, value: Value) -> Buffer | None:
        """The buffer of a tile, if it is filled when this nest runs."""
        if value in self.kept and self.kept[value] >= self.key:
            return None
        return self.state.buffers.get(value)

    def compute(self, op: Op, index: Index) -> Operand:
        """One element of what an op gives."""
        if op.name in ELEMENTWISE:
            return self._elementwise(op, index)
        return PULLS[op.name](self, op, index)

    def scalar(self, value: Value) -> Operand:
        """A scalar, as a constant where it is one."""
        op = self.facts.definition.get(value)
        if op is not None and op.name == "constant":
            return Literal(op.attrs["dtype"], op.attrs["value"])
        return value

    def _elementwise(self, op: Op, index: Index) -> Operand:
        args = tuple(self.pull(v, index) for v in op.operands)
        return self.compute_with(op, args)

    def compute_with(self, op: Op, args: tuple[Operand, ...]) -> Reg:
        """Apply an op to registers."""
        loops = frozenset(loop for a in args if isinstance(a, Reg) for loop in a.loops)
        result = Reg(op.result.tile.elem, loops)
        self.reads.append(Compute(result, op, args))
        return result

    def position(self, axis: Axis, elem: Elem) -> Reg:
        """A coordinate as a number."""
        result = Reg(elem, ix.loops_in([axis]))
        self.reads.append(Position(result, axis))
        return result

    def _read_buffer(self, buffer: Buffer, index: Index) -> Reg:
        ix.offset(index, buffer.layout)  # asks for finer loops where the layout needs them
        result = Reg(buffer.elem, ix.loops_in(index))
        self.reads.append(ReadBuffer(result, buffer, index))
        return result

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
        widths = [_width(read) for read in self.reads if inner in read.result.loops]
        widths += [itemsize(e.buffer.elem) for e in self.effects if isinstance(e, WriteBuffer)]
        return gcd(inner.size, max(4, min(lane_bytes // max(widths, default=1), MAX_LANES)))


def _width(read: Read) -> int:
    """Bytes a register takes per lane; small floats are widened to be computed with."""
    width = itemsize(read.result.elem)
    return max(width, SMALL_FLOATS_COMPUTE_IN) if isinstance(read, Compute) else width


# Pulling, by op.


def _constant(builder: NestBuilder, op: Op, index: Index) -> Operand:
    return Literal(op.attrs["dtype"], op.attrs["value"])


def _iota(builder: NestBuilder, op: Op, index: Index) -> Operand:
    return builder.position(index[0], op.attrs["dtype"])


def _reshape(builder: NestBuilder, op: Op, index: Index) -> Operand:
    (arg,) = op.operands
    shape = arg.tile.shape
    return builder.pull(arg, ix.reshape(index, shape) if is_tile(arg) else ())


def _broadcast(builder: NestBuilder, op: Op, index: Index) -> Operand:
    (arg,) = op.operands
    return builder.pull(arg, ix.broadcast(index, arg.tile.shape))


def _permute(builder: NestBuilder, op: Op, index: Index) -> Operand:
    return builder.pull(op.operands[0], ix.permute(index, op.attrs["order"]))


def _extract(builder: NestBuilder, op: Op, index: Index) -> Operand:
    arg, *at = op.operands
    places = [builder.scalar(v) for v in at]
    numbers = [
        int(p.value) if isinstance(p, Literal) else v for p, v in zip(places, at, strict=True)
    ]
    return builder.pull(arg, ix.extract(index, arg.tile.shape, op.attrs["shape"], numbers))


def _unpack(builder: NestBuilder, op: Op, index: Index) -> Operand:
    (arg,) = op.operands
    pairs, side = ix.cut(index[-1], 2)
    byte = builder.pull(arg, (*index[:-1], pairs))
    return builder.compute_with(op, (byte, builder.position(side, arg.tile.elem)))


def _pack(builder: NestBuilder, op: Op, index: Index) -> Operand:
    (arg,) = op.operands
    sides = [(*index[:-1], (*index[-1], Field(side, 2))) for side in (0, 1)]
    low, high = (builder.pull(arg, side) for side in sides)
    return builder.compute_with(op, (low, high))


def _access(builder: NestBuilder, op: Op, index: Index) -> tuple[Access, Operand | None]:
    view = op.one("view").view
    tensor = builder.facts.definition[op.one("view")].one("tensor")
    where = op.all("index")
    row = None
    if view.sparse is not None:
        row = builder.pull(where[view.sparse], (index[view.sparse],))
    return Access(view, tensor, where, op.maybe("guard")), row


def _load_view(builder: NestBuilder, op: Op, index: Index) -> Operand:
    access, row = _access(builder, op, index)
    loops = ix.loops_in(index)
    result = Reg(op.result.tile.elem, loops)
    builder.reads.append(ReadView(result, access, index, row))
    return result


def _load_ptr(builder: NestBuilder, op: Op, index: Index) -> Operand:
    address = builder.pull(op.one("source"), index)
    mask, padding = op.maybe("mask"), op.maybe("padding")
    rest = [builder.pull(v, index) if v is not None else None for v in (mask, padding)]
    given = [a for a in (address, *rest) if isinstance(a, Reg)]
    result = Reg(op.result.tile.elem, frozenset(loop for a in given for loop in a.loops))
    builder.reads.append(ReadPointer(result, address, *rest))
    return result


Puller: TypeAlias = Callable[[NestBuilder, Op, Index], Operand]
PULLS: dict[str, Puller] = {
    "constant": _constant, "iota": _iota, "reshape": _reshape, "broadcast": _broadcast,
    "permute": _permute, "extract": _extract, "unpack": _unpack, "pack": _pack,
    "load_view": _load_view, "load_ptr": _load_ptr,
}  # fmt: skip


# Sinks, by op.


def _store_view(builder: NestBuilder, op: Op, index: Index) -> None:
    access, row = _access(builder, op, index)
    value = builder.pull(op.one("value"), index)
    builder.effects.append(WriteView(access, index, value, row))


def _store_ptr(builder: NestBuilder, op: Op, index: Index) -> None:
    address, value = builder.pull(op.one("target"), index), builder.pull(op.one("value"), index)
    mask = op.maybe("mask")
    guard = builder.pull(mask, index) if mask is not None else None
    elem = op.one("value").tile.dtype
    builder.effects.append(WritePointer(address, value, guard, elem))


def _atomic_view(builder: NestBuilder, op: Op, index: Index) -> None:
    builder.is_serial = True
    access, row = _access(builder, op, index)
    value = builder.pull(op.one("value"), index)
    builder.effects.append(AtomicView(op, access, index, value, row))


def _atomic_pointer(builder: NestBuilder, op: Op, index: Index) -> None:
    builder.is_serial = True
    address = builder.pull(op.one("target"), index)
    names = ("compare", "value") if op.name == "atomic_cas" else ("value",)
    values = tuple(builder.pull(op.one(name), index) for name in names)
    mask = op.maybe("mask")
    guard = builder.pull(mask, index) if mask is not None else None
    target = builder.target(op.result) if builder.facts.users_of(op.result) else None
    builder.effects.append(AtomicPointer(op, address, values, guard, target, index))


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
        builder.is_serial = True
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
