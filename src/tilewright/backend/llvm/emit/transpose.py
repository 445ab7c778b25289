"""Transposes tiles: squares are read along one axis, transposed in registers, and written.

A block of B rows becomes its transpose by log2(B) rounds in which the first half of the rows is
zipped with the second half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from ....base.shapes import row_major_strides
from ..functions.text import Value as Vec
from ..plan.nodes import Transpose
from ..plan.values import itemsize
from .access import mangled
from .emitter import Emitter
from .loops import LoopWriter
from .types import memory_type

MAX_BLOCK = 16


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop over one axis (or a piece of it): where its steps lead on both sides."""

    size: int
    source_step: int
    target_step: int


@dataclass(frozen=True, slots=True)
class Shape:
    """How one tile is turned: `rows` are dense in the target, `columns` in the source."""

    kind: str
    block: int
    rows: Axis
    columns: Axis
    others: tuple[Axis, ...]

    @property
    def symbol(self) -> str:
        """The function's name."""
        axes = (self.rows, self.columns, *self.others)
        numbers = [f"{a.size}.{a.source_step}.{a.target_step}" for a in axes]
        return f"@tw_transpose_{mangled(self.kind, self.block)}_{'_'.join(numbers)}"


def shape_of(step: Transpose, vector_bytes: int) -> Shape:
    """Take the loops apart: the last axis of the source, that of the target, and the rest."""
    shape = step.source.shape
    strides = row_major_strides(shape)
    last, dense = len(shape) - 1, step.order[-1]
    others: list[Axis] = []
    pair: dict[int, Axis] = {}
    for place, k in enumerate(step.order):
        parts = step.target.layout[place]
        inner = parts[-1]
        # A panel's columns are one loop, its panels another.
        outer_step = strides[k] * inner.size
        for part in parts[:-1]:
            others.append(Axis(part.size, outer_step, part.stride))
        axis = Axis(inner.size, strides[k], inner.stride)
        if k in (last, dense):
            pair[k] = axis
        else:
            others.append(axis)
    rows, columns = pair[dense], pair[last]
    widest = min(MAX_BLOCK, vector_bytes // itemsize(step.source.elem))
    block = gcd(widest, rows.size, columns.size)
    return Shape(memory_type(step.source.elem), block, rows, columns, tuple(others))


def transpose(emitter: Emitter, step: Transpose) -> None:
    """Write the step: a call of the function for its shape."""
    shape = shape_of(step, emitter.cpu.vector_bytes)
    emitter.helper(shape.symbol, lambda: _function(shape))
    source, target = emitter.buffers[step.source], emitter.buffers[step.target]
    emitter.do(f"call void {shape.symbol}({source}, {target})")


def _function(shape: Shape) -> str:
    writer = _Writer(shape)
    writer.others(list(shape.others), writer.pointer("%from"), writer.pointer("%to"))
    return writer.function(shape.symbol, ("%from", "%to"))


class _Writer(LoopWriter):
    """Writes the function of one shape."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape.kind)
        self.shape = shape

    def moved(
        self, axis: Axis, count: int, inner: Callable[[Vec, Vec], None], source: Vec, target: Vec
    ) -> None:
        """A loop of so many steps along an axis, with both addresses moved along."""
        stretch = axis.size // count

        def step(i: Vec) -> None:
            inner(
                self.at(source, i * (stretch * axis.source_step)),
                self.at(target, i * (stretch * axis.target_step)),
            )

        self.loop(count, step)

    def others(self, axes: list[Axis], source: Vec, target: Vec) -> None:
        """The loops around the two axes that are turned."""
        if not axes:
            self.blocks(source, target)
            return
        first, *rest = axes
        self.moved(first, first.size, lambda s, t: self.others(rest, s, t), source, target)

    def blocks(self, source: Vec, target: Vec) -> None:
        """All blocks of the two axes."""
        shape = self.shape
        rows, columns = (a.size // shape.block for a in (shape.rows, shape.columns))

        def across(s: Vec, t: Vec) -> None:
            self.moved(shape.columns, columns, self.block, s, t)

        self.moved(shape.rows, rows, across, source, target)

    def block(self, source: Vec, target: Vec) -> None:
        """One block: rows of the source in, rows of the target out."""
        shape = self.shape
        rows = [
            self.load(self.at(source, self.number(r * shape.rows.source_step)), shape.block)
            for r in range(shape.block)
        ]
        for c, row in enumerate(self.transposed(rows)):
            self.store(row, self.at(target, self.number(c * shape.columns.target_step)))

    def transposed(self, rows: list[Vec]) -> list[Vec]:
        """The columns of a block."""
        half = len(rows) // 2
        rounds = len(rows).bit_length() - 1
        for _ in range(rounds):
            pairs = zip(rows[:half], rows[half:], strict=True)
            rows = [self.zipped(a, b, side) for a, b in pairs for side in (0, 1)]
        return rows

    def zipped(self, a: Vec, b: Vec, side: int) -> Vec:
        """The lower or upper halves of two vectors, element by element."""
        lanes = a.lanes
        start = side * lanes // 2
        order = [start + i // 2 + (i % 2) * lanes for i in range(lanes)]
        text = ", ".join(f"i32 {i}" for i in order)
        shuffle = f"shufflevector {a}, {b}, <{lanes} x i32> <{text}>"
        return self.body.emit(shuffle, a.elem, lanes)
