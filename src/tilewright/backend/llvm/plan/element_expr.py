"""Builds element expressions of lazy tiles in a nest: what an element needs, and how it is made.

Layout ops only change the index on the way to what they need. Nothing here recurses, so chains of
ops may be as long as a program makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ....ir.core import Op, Value
from ....ir.types import Elem
from . import index as ix
from .drafts import Key
from .facts import ELEMENTWISE, Facts, is_ordered, is_tile
from .index import Axis, Field, Index
from .schedule import State
from .statements import Compute, Position, Read, ReadBuffer, ReadPointer, ReadView
from .values import Access, Buffer, Literal, Operand, Reg

Element: TypeAlias = tuple[Value, Index]
"""One element of a tile (the index of a scalar is empty)."""


class ExprBuilder:
    """Gathers the reads of a nest. `key` tells which tiles are in their buffers already."""

    def __init__(self, state: State, kept: Mapping[Value, Key], key: Key) -> None:
        self.state = state
        self.facts: Facts = state.facts
        self.kept = kept
        self.key = key
        self.reads: list[Read] = []
        self.known: dict[Element, Operand] = {}
        self.is_serial = False
        """Whether elements must be handled one by one."""

    def pull(self, value: Value, index: Index) -> Operand:
        """The register of one element."""
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
        """Make an element known, or say what must be known before."""
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
        """One element of what an op gives."""
        needs = self.needs(op, index)
        return self.make(op, index, [self.pull(*need) for need in needs])

    def needs(self, op: Op, index: Index) -> list[Element]:
        """What an element of a lazy op is made of."""
        found = NEEDS[op.name](self, op, index) if op.name in NEEDS else [
            (v, index) for v in op.operands
        ]  # fmt: skip
        return [(value, at if is_tile(value) else ()) for value, at in found]

    def make(self, op: Op, index: Index, given: Sequence[Operand]) -> Operand:
        """An element of a lazy op from what it needs."""
        if op.name in ELEMENTWISE:
            return self.apply(op, given)
        return MAKES[op.name](self, op, index, given)

    def _buffer(self, value: Value) -> Buffer | None:
        """The buffer of a tile, if it is filled when this nest runs."""
        if value in self.kept and self.kept[value] >= self.key:
            return None
        return self.state.buffers.get(value)

    def _read_buffer(self, buffer: Buffer, index: Index) -> Reg:
        ix.offset(index, buffer.layout)  # asks for finer loops where the layout needs them
        result = Reg(buffer.elem, ix.loops_in(index))
        self.reads.append(ReadBuffer(result, buffer, index))
        return result

    def scalar(self, value: Value) -> Value | Literal:
        """A scalar, as a constant where it is one."""
        op = self.facts.definition.get(value)
        if op is not None and op.name == "constant":
            return Literal(op.attrs["dtype"], op.attrs["value"])
        return value

    def apply(self, op: Op, given: Sequence[Operand]) -> Reg:
        """An op on registers."""
        result = Reg(op.result.tile.elem, loops_of(given))
        self.reads.append(Compute(result, op, tuple(given)))
        return result

    def position(self, axis: Axis, elem: Elem) -> Reg:
        """A coordinate as a number."""
        result = Reg(elem, ix.loops_in([axis]))
        self.reads.append(Position(result, axis))
        return result

    def access(self, op: Op) -> Access:
        """The tile of a tensor that an op touches."""
        view = op.one("view")
        tensor = self.facts.definition[view].one("tensor")
        return Access(view.view, tensor, op.all("index"), op.maybe("guard"))

    def rows(self, op: Op, index: Index) -> list[Element]:
        """The row number that an access to a sparse view needs."""
        sparse = op.one("view").view.sparse
        return [] if sparse is None else [(op.all("index")[sparse], (index[sparse],))]


def loops_of(given: Sequence[Operand | None]) -> frozenset[ix.Loop]:
    """The loops that registers depend on."""
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
    return [(op.operands[0], (*index[:-1], (*index[-1], Field(side, 2)))) for side in (0, 1)]


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
