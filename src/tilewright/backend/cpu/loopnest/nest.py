"""Build the loop nest of a draft: element expressions of fused tiles, then statements.

Sections: demand-driven element expressions, and the builder of nests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd, prod
from typing import TypeAlias

from ....base.shapes import Shape
from ....ir.core import Op, Value
from ....ir.opdef import Trait
from ....ir.ops.layout import CONSTANT
from ....ir.ops.memory import ATOMIC_CAS, LOAD_PTR, LOAD_VIEW
from ....ir.ops.reduction import REDUCE
from ....ir.types import Elem
from . import index as ix
from .facts import PlanFacts, is_ordered, is_regroupable, is_scalar, is_tile
from .index import Axis, Index, IndexField, Loop, NeedSplit
from .nodes import (
    AtomicPointer,
    AtomicView,
    Combine,
    Compute,
    ElementAccess,
    Get,
    Literal,
    Nest,
    NestEffect,
    Operand,
    Position,
    Read,
    ReadBuffer,
    ReadPointer,
    ReadView,
    Reg,
    SetVariable,
    Stmt,
    TileBuffer,
    Variable,
    WriteBuffer,
    WritePointer,
    WriteView,
)
from .optimize import lane_width
from .schedule import Assign, CatPart, EffectDraft, Keep, Key, NestDraft, Sink, State, sink_shape

# -------------------------------------------------------------------------------------------------
# Demand-driven lowering of element expressions: what an element needs, and how it is computed.
#
# Layout ops only change the index of the demand. The work list is explicit: nothing recurses, so
# chains of ops may have any length.

Element: TypeAlias = tuple[Value, Index]
"""One element of a tile (the index of a scalar is empty)."""


class ExprBuilder:
    """The demand-driven builder of a nest's reads; `key` decides which tiles are in buffers."""

    def __init__(self, state: State, kept: Mapping[Value, Key], key: Key) -> None:
        self.state = state
        self.facts: PlanFacts = state.facts
        self.kept = kept
        self.key = key
        self.reads: list[Read] = []
        self.known: dict[Element, Operand] = {}
        self.is_serial = False
        """Whether elements must be handled one by one."""

    def pull(self, value: Value, index: Index) -> Operand:
        """Return the register of one element."""
        wanted = (value, index if is_tile(value) else ())
        todo = [wanted]
        while todo:
            element = todo[-1]
            missing = [] if element in self.known else self._visit(element)
            if missing:
                todo += reversed(missing)
            else:
                todo.pop()
        return self.known[wanted]

    def _visit(self, element: Element) -> list[Element]:
        """Build an element, or return the elements that must be built before it."""
        value, index = element
        if not is_tile(value):
            self.known[element] = self.scalar(value)
            return []
        if (buffer := self._buffer(value)) is not None:
            self.known[element] = self._read_buffer(buffer, index)
            return []
        op = self.facts.definition[value]
        needs = self.needs(op, index)
        missing = [need for need in needs if need not in self.known]
        if not missing:
            self.known[element] = self.make(op, index, [self.known[n] for n in needs])
        return missing

    def compute(self, op: Op, index: Index) -> Operand:
        """Emit one element of the result of an op."""
        needs = self.needs(op, index)
        return self.make(op, index, [self.pull(*need) for need in needs])

    def needs(self, op: Op, index: Index) -> list[Element]:
        """Return the operand elements that an element of a lazy op depends on."""
        found = NEEDS[op.name](self, op, index) if op.name in NEEDS else [
            (v, index) for v in op.operands
        ]  # fmt: skip
        return [(value, at if is_tile(value) else ()) for value, at in found]

    def make(self, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
        """Emit an element of a lazy op from the elements it needs."""
        if op.has(Trait.ELEMENTWISE):
            return self.apply(op, given)
        return MAKES[op.name](self, op, index, given)

    def _buffer(self, value: Value) -> TileBuffer | None:
        """Return the buffer of a tile, if it is filled when this nest runs."""
        if value in self.kept and self.kept[value] >= self.key:
            return None
        return self.state.buffers.get(value)

    def _read_buffer(self, buffer: TileBuffer, index: Index) -> Reg:
        ix.offset(index, buffer.layout)  # asks for finer loops where the layout needs them
        result = Reg(buffer.elem, ix.loops_in(index))
        self.reads.append(ReadBuffer(result, buffer, index))
        return result

    def scalar(self, value: Value) -> Value | Literal:
        """Return a scalar, as a constant where it is one."""
        op = self.facts.definition.get(value)
        if op is not None and op.is_a(CONSTANT):
            return Literal(op.attrs["dtype"], op.attrs["value"])
        return value

    def apply(self, op: Op, given: Sequence[Operand]) -> Reg:
        """Return an op on registers."""
        result = Reg(op.result.tile.elem, loops_of(given))
        self.reads.append(Compute(result, op, tuple(given)))
        return result

    def position(self, axis: Axis, elem: Elem) -> Reg:
        """Return a coordinate as a number."""
        result = Reg(elem, ix.loops_in([axis]))
        self.reads.append(Position(result, axis))
        return result

    def access(self, op: Op) -> ElementAccess:
        """Return the tile of a tensor that an op touches."""
        view = op.one("view")
        tensor = self.facts.definition[view].one("tensor")
        return ElementAccess(view.view, tensor, op.all("index"), op.maybe("guard"))

    def rows(self, op: Op, index: Index) -> list[Element]:
        """Return the row number that an access to a sparse view needs."""
        sparse = op.one("view").view.sparse
        return [] if sparse is None else [(op.all("index")[sparse], (index[sparse],))]


def loops_of(given: Sequence[Operand | None]) -> frozenset[ix.Loop]:
    """Return the loops that registers depend on."""
    return frozenset(loop for a in given if isinstance(a, Reg) for loop in a.loops)


# What an element needs, by op; elementwise ops need the same element of every operand.


def _nothing(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    return []


def _reshape(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    (arg,) = op.operands
    return [(arg, ix.reshape(index, arg.tile.shape) if is_tile(arg) else ())]


def _broadcast(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    (arg,) = op.operands
    return [(arg, ix.broadcast(index, arg.tile.shape))]


def _permute(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    return [(op.operands[0], ix.permute(index, op.attrs["order"]))]


def _extract(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    arg, *at = op.operands
    places: list[Value | int] = []
    for value in at:
        known = exprs.scalar(value)
        places.append(int(known.value) if isinstance(known, Literal) else known)
    return [(arg, ix.extract(index, arg.tile.shape, op.attrs["shape"], places))]


def _unpack(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    pairs, _ = ix.cut(index[-1], 2)
    return [(op.operands[0], (*index[:-1], pairs))]


def _pack(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    return [(op.operands[0], (*index[:-1], (*index[-1], IndexField(side, 2)))) for side in (0, 1)]


def _view_rows(exprs: ExprBuilder, op: Op, index: Index) -> list[Element]:
    return exprs.rows(op, index)


NEEDS: dict[str, Callable[[ExprBuilder, Op, Index], list[Element]]] = {
    "constant": _nothing, "iota": _nothing, "reshape": _reshape, "broadcast": _broadcast,
    "permute": _permute, "extract": _extract, "unpack": _unpack, "pack": _pack,
    "load_view": _view_rows,
}  # fmt: skip


# How an element is made of what it needs, by op.


def _same(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    return given[0]


def _constant(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    return Literal(op.attrs["dtype"], op.attrs["value"])


def _iota(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    return exprs.position(index[0], op.attrs["dtype"])


def _half(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    _, side = ix.cut(index[-1], 2)
    return exprs.apply(op, [*given, exprs.position(side, op.operands[0].tile.elem)])


def _pair(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    return exprs.apply(op, given)


def _load_view(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    result = Reg(op.result.tile.elem, ix.loops_in(index))
    row = given[0] if given else None
    exprs.reads.append(ReadView(result, exprs.access(op), index, row))
    return result


def _load_ptr(exprs: ExprBuilder, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
    address, *rest = given
    mask = rest.pop(0) if op.maybe("mask") is not None else None
    padding = rest.pop(0) if rest else None
    result = Reg(op.result.tile.elem, loops_of([address, mask, padding]))
    ordered = is_ordered(op)
    exprs.is_serial |= ordered
    exprs.reads.append(ReadPointer(result, address, mask, padding, ordered))
    return result


MAKES: dict[str, Callable[[ExprBuilder, Op, Index, Sequence[Operand]], Operand]] = {
    "constant": _constant, "iota": _iota, "reshape": _same, "broadcast": _same,
    "permute": _same, "extract": _same, "unpack": _half, "pack": _pair,
    "load_view": _load_view, "load_ptr": _load_ptr,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The nest builder: read the operands of the sinks into registers, then write.
#
# If an axis of an operand ends inside a loop, the loop is split and the nest is built again.

MAX_LANES = 64


class NestBuilder(ExprBuilder):
    """The builder of one nest."""

    def __init__(
        self, state: State, kept: Mapping[Value, Key], key: Key, sizes: list[list[int]]
    ) -> None:
        super().__init__(state, kept, key)
        self.groups = [[Loop(n, "") for n in group] for group in sizes]
        self.loops = tuple(loop for group in self.groups for loop in group)
        for number, loop in enumerate(self.loops):
            loop.name = f"i{number}"
        self.effects: list[NestEffect] = []
        self.gets: list[Get] = []
        self.descending = False
        self.scans_lanes = False

    def index(self, shape: Shape) -> Index:
        """Return the index of the element at the current loop variables."""
        groups = iter(self.groups)
        axes: list[Axis] = []
        for n in shape:
            axes.append(
                # Axes of length 1 have no loop; a split axis has several, most significant first.
                tuple(IndexField(loop, loop.size) for loop in next(groups)) if n > 1 else ()
            )
        return tuple(axes)

    # Writing.

    def write(self, buffer: TileBuffer, index: Index, value: Operand) -> None:
        """Store an element in a buffer."""
        ix.offset(index, buffer.layout)
        self.effects.append(WriteBuffer(buffer, index, value))

    def sink(self, sink: Sink) -> None:
        """Build the reads and the effect of a sink."""
        index = self.index(sink_shape(sink))
        match sink:
            case Keep() | Assign():
                self.write(sink.buffer, index, self.pull(sink.value, index))
            case CatPart():
                self.cat_part(sink, index)
            case EffectDraft():
                SINKS[sink.op.name](self, sink.op, index)

    def cat_part(self, sink: CatPart, index: Index) -> None:
        """Build one side of a `cat`: rows of the result, from `shift` on."""
        value = self.pull(sink.value, index)
        part = tuple(
            (ix.Part(n, axis[0].stride),)
            for axis, n in zip(sink.buffer.layout, sink.value.tile.shape, strict=True)
        )
        self.effects.append(WriteBuffer(sink.buffer, index, value, part, sink.shift))

    def target(self, value: Value) -> TileBuffer | Variable:
        """Return the destination of a result of this nest."""
        if is_tile(value):
            return self.state.buffers[value]
        variable = self.state.variable(value.tile.elem)
        self.gets.append(Get(value, variable))
        return variable

    def finish(self, lane_bytes: int, draft: NestDraft | None) -> Nest:
        """Return the nest as it is."""
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
        # The widest register decides, so that all of them fit. Extents are powers of two: the gcd
        # is the largest width that divides the loop.
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
    row, value = _row(builder, op, index), builder.pull(op.one("value"), index)
    builder.is_serial |= not _lanes_are_neighbours(builder, op, index)
    builder.effects.append(AtomicView(op, builder.access(op), index, value, row))


def _lanes_are_neighbours(builder: NestBuilder, op: Op, index: Index) -> bool:
    """Return whether the last loop walks along neighbours in memory."""
    view = op.one("view").view
    return any(
        axis[-1:] == (IndexField(builder.loops[-1], builder.loops[-1].size),)
        and k != view.sparse
        and view.tensor.strides[view.dim_map[k]] == 1
        for k, axis in enumerate(index)
        if axis
    )


def _atomic_pointer(builder: NestBuilder, op: Op, index: Index) -> None:
    builder.is_serial = True
    address = builder.pull(op.one("target"), index)
    names = ("compare", "value") if op.is_a(ATOMIC_CAS) else ("value",)
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
    if op.is_a(REDUCE):
        builder.effects.append(Combine(op, values, loops, targets, rest))
        return
    # A reverse scan runs its loops downwards; all sinks of the nest share the direction, which is
    # why scans are exclusive.
    builder.descending = op.attrs["reverse"]
    combine = Combine(op, values, loops, targets, index, (), rest)
    # Along the lanes: a prefix network within a vector regroups the elements, which only an
    # associative body permits. Otherwise one element at a time.
    if loops and loops[-1] is builder.loops[-1]:
        builder.scans_lanes = is_regroupable(op)
        builder.is_serial |= not builder.scans_lanes
    else:
        # Along an outer axis every lane has its own running value, kept in a buffer between rows.
        combine.carry = tuple(_carry(builder, v, rest) for v in op.operands)
    builder.effects.append(combine)


def _carry(builder: NestBuilder, value: Value, rest: Index) -> TileBuffer:
    """Return room for the running values of a scan along an outer axis."""
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
    """Return the nest of a draft, and the values to read from it afterwards."""
    sizes = [[n] for n in draft.dims]
    while True:
        builder = NestBuilder(state, kept, draft.key, sizes)
        try:
            for sink in draft.sinks:
                builder.sink(sink)
        # An operand's axis ends inside a loop (reshape, cat): split the loop there. Each split
        # refines the loops, so this terminates.
        except NeedSplit as wish:
            sizes = split(builder.groups, wish)
            continue
        return [builder.finish(lane_bytes, draft), *builder.gets]


def split(groups: list[list[Loop]], wish: NeedSplit) -> list[list[int]]:
    """Return the sizes of the loops after one of them was cut in two."""
    sizes: list[list[int]] = []
    for group in groups:
        sizes.append([])
        for loop in group:
            cut = [loop.size // wish.low, wish.low] if loop is wish.loop else [loop.size]
            sizes[-1] += cut
    return sizes


def build_scalar(state: State, kept: Mapping[Value, Key], key: Key, op: Op) -> list[Stmt]:
    """Return a scalar taken from a tile or from memory: a nest without loops."""
    builder = NestBuilder(state, kept, key, [])
    value = builder.compute(op, ())
    variable = state.variable(op.result.tile.elem)
    builder.effects.append(SetVariable(variable, value))
    return [builder.finish(0, None), Get(op.result, variable)]


def needs_nest(op: Op) -> bool:
    """Return whether a scalar op reads memory or a tile."""
    loads = op.is_a(LOAD_VIEW, LOAD_PTR)
    return loads or any(is_tile(v) and is_scalar(op.result) for v in op.operands)
