"""Constants, positions, elements of buffers, and transposed tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from ....base.shapes import row_major_strides
from ....ir.core import Op
from ...llvm.builder import Vec
from ..loopnest.index import Index, Layout, loops_in, offset, terms
from ..loopnest.nodes import Position, ReadBuffer, TileBuffer, Transpose, WriteBuffer, itemsize
from . import access
from .access import mangled
from .emitter import LlvmEmitter, memory_type, register_type
from .frame import LinearIndex, NestFrame
from .matmul import LoopWriter

# -------------------------------------------------------------------------------------------------
# Constants and positions: values that depend on the loops only.


def _constant(emitter: LlvmEmitter, op: Op) -> None:
    emitter.names[op.result] = emitter.literal(op.attrs["dtype"], op.attrs["value"], 1)


def position(frame: NestFrame, read: Position) -> None:
    """Emit the coordinate along an axis, wrapping in its type."""
    emitter, lanes = frame.emitter, frame.lanes(read.result)
    kind = register_type(read.result.elem)
    place = frame.sum(terms(read.axis))
    base = place.base if kind == "i64" else place.base.cast("trunc", kind)
    number = emitter.splat(base, lanes)
    if lanes > 1:
        number = number + emitter.lanes_of(kind, lanes, place.step)
    frame.registers[read.result] = number


CREATION_TABLE: dict[str, Callable[..., None]] = {"constant": _constant, "iota": position}


# -------------------------------------------------------------------------------------------------
# Elements of buffers: a layout op changes no data, only the offset of an element.


def _address(frame: NestFrame, buffer: TileBuffer, place: LinearIndex) -> Vec:
    base = frame.emitter.buffers[buffer]
    return frame.emitter.shifted(base, place.base, memory_type(buffer.elem))


def read_element(frame: NestFrame, buffer: TileBuffer, index: Index) -> Vec:
    """Return one element per lane of a buffer, or one for all lanes."""
    emitter = frame.emitter
    lanes = frame.nest.lanes if frame.is_vector(loops_in(index)) else 1
    place = frame.sum(offset(index, buffer.layout))
    first = _address(frame, buffer, place)
    if lanes == 1 or place.step == 1:
        return access.load_dense(emitter, first, buffer.elem, lanes)
    if place.phase is not None and access.is_interleaved(place.step, place.phase):
        return access.load_interleaved(emitter, first, buffer.elem, lanes, place.step, place.phase)
    each = _each(emitter, first, place, lanes, buffer)
    padding = emitter.body.constant(memory_type(buffer.elem), lanes, 0)
    return access.gather(emitter, each, access.truths(emitter, lanes), padding, buffer.elem)


def _each(
    emitter: LlvmEmitter, first: Vec, place: LinearIndex, lanes: int, buffer: TileBuffer
) -> Vec:
    steps = emitter.lanes_of("i64", lanes, place.step)
    return access.addresses(emitter, first, steps, buffer.elem)


def write_element(
    frame: NestFrame,
    buffer: TileBuffer,
    index: Index,
    value: Vec,
    part: Layout | None = None,
    shift: int = 0,
) -> None:
    """Store one element per lane in a buffer, or in a part of it."""
    emitter = frame.emitter
    whole = frame.sum(offset(index, buffer.layout if part is None else part))
    place = LinearIndex(whole.base + shift, whole.step)
    first = _address(frame, buffer, place)
    if value.lanes == 1 or place.step == 1:
        access.store_dense(emitter, value, first, buffer.elem)
        return
    each = _each(emitter, first, place, value.lanes, buffer)
    access.scatter(emitter, value, each, access.truths(emitter, value.lanes), buffer.elem)


def read_buffer(frame: NestFrame, read: ReadBuffer) -> None:
    """Emit a read of a buffer."""
    frame.registers[read.result] = read_element(frame, read.buffer, read.index)


def write_buffer(frame: NestFrame, write: WriteBuffer) -> None:
    """Emit a write of a buffer."""
    lanes = frame.nest.lanes if frame.is_vector(loops_in(write.index)) else 1
    value = frame.value(write.value, lanes)
    write_element(frame, write.buffer, write.index, value, write.part, write.shift)


def interleaved(frame: NestFrame, write: WriteBuffer, following: Sequence[WriteBuffer]) -> int:
    """Return how many writes, of those that begin here, fill memory without gaps: each stores one
    of every few neighbours. One if that is not so."""
    if not frame.is_vector(loops_in(write.index)):
        return 1
    step = sum(
        factor
        for field, factor in offset(write.index, write.layout)
        if field.source is frame.nest.loops[-1]
    )
    count = min(step, access.MOST_PHASES)
    together = [write, *following][:count]
    if count < 2 or count < step or len(together) < count:
        return 1
    same = all(
        other.buffer is write.buffer
        and (other.index, other.layout) == (write.index, write.layout)
        and other.shift == write.shift + number
        for number, other in enumerate(together)
    )
    return count if same else 1


def write_interleaved(frame: NestFrame, writes: Sequence[WriteBuffer]) -> None:
    """Emit writes that fill memory without gaps as one store."""
    first, buffer = writes[0], writes[0].buffer
    place = frame.sum(offset(first.index, first.layout))
    address = _address(frame, buffer, LinearIndex(place.base + first.shift, place.step))
    values = [frame.value(write.value, frame.nest.lanes) for write in writes]
    access.store_interleaved(frame.emitter, values, address, buffer.elem)


def _scalar(emitter: LlvmEmitter, op: Op) -> None:
    """Rename a scalar: rearrangement does not change it."""
    emitter.names[op.result] = emitter.scalar(op.operands[0])


LAYOUT_TABLE: dict[str, Callable[..., None]] = {
    "reshape": _scalar,
    "broadcast": _scalar,
    "permute": _scalar,
    "extract": _scalar,
    "cat": write_buffer,
}


# -------------------------------------------------------------------------------------------------
# Transposition in registers: square blocks are read along one axis and written along the other.
#
# A block of B rows is transposed by log2(B) stages of a butterfly network, each of which
# interleaves the first half of the rows with the second half.

MAX_BLOCK = 16


@dataclass(frozen=True, slots=True)
class TransposeAxis:
    """A loop over one axis (or a piece of it): where its steps lead on both sides."""

    size: int
    source_step: int
    target_step: int


@dataclass(frozen=True, slots=True)
class TransposeShape:
    """The shape of a transpose: `rows` are dense in the target, `columns` in the source."""

    kind: str
    block: int
    rows: TransposeAxis
    columns: TransposeAxis
    others: tuple[TransposeAxis, ...]

    @property
    def symbol(self) -> str:
        """The function's name."""
        axes = (self.rows, self.columns, *self.others)
        numbers = [f"{a.size}.{a.source_step}.{a.target_step}" for a in axes]
        return f"@tw_transpose_{mangled(self.kind, self.block)}_{'_'.join(numbers)}"


def shape_of(step: Transpose, vector_bytes: int) -> TransposeShape:
    """Return the loops: the last axis of the source, that of the target, and the rest."""
    shape = step.source.shape
    strides = row_major_strides(shape)
    last, dense = len(shape) - 1, step.order[-1]
    others: list[TransposeAxis] = []
    pair: dict[int, TransposeAxis] = {}
    for place, k in enumerate(step.order):
        parts = step.target.layout[place]
        inner = parts[-1]
        # A panel's columns are one loop, its panels another.
        outer_step = strides[k] * inner.size
        for part in parts[:-1]:
            others.append(TransposeAxis(part.size, outer_step, part.stride))
        axis = TransposeAxis(inner.size, strides[k], inner.stride)
        if k in (last, dense):
            pair[k] = axis
        else:
            others.append(axis)
    rows, columns = pair[dense], pair[last]
    widest = min(MAX_BLOCK, vector_bytes // itemsize(step.source.elem))
    block = gcd(widest, rows.size, columns.size)
    return TransposeShape(memory_type(step.source.elem), block, rows, columns, tuple(others))


def transpose(emitter: LlvmEmitter, step: Transpose) -> None:
    """Write the step: a call of the function for its shape."""
    shape = shape_of(step, emitter.cpu.vector_bytes)
    emitter.helper(shape.symbol, lambda: _function(shape))
    source, target = emitter.buffers[step.source], emitter.buffers[step.target]
    emitter.do(f"call void {shape.symbol}({source}, {target})")


def _function(shape: TransposeShape) -> str:
    writer = _TransposeWriter(shape)
    writer.others(list(shape.others), writer.pointer("%from"), writer.pointer("%to"))
    return writer.function(shape.symbol, ("%from", "%to"))


class _TransposeWriter(LoopWriter):
    """The writer of the function of one shape."""

    def __init__(self, shape: TransposeShape) -> None:
        super().__init__(shape.kind)
        self.shape = shape

    def moved(
        self,
        axis: TransposeAxis,
        count: int,
        inner: Callable[[Vec, Vec], None],
        source: Vec,
        target: Vec,
    ) -> None:
        """Emit a loop along an axis that advances both addresses."""
        stretch = axis.size // count

        def step(i: Vec) -> None:
            inner(
                self.at(source, i * (stretch * axis.source_step)),
                self.at(target, i * (stretch * axis.target_step)),
            )

        self.loop(count, step)

    def others(self, axes: list[TransposeAxis], source: Vec, target: Vec) -> None:
        """Emit the loops around the two transposed axes."""
        if not axes:
            self.blocks(source, target)
            return
        first, *rest = axes
        self.moved(first, first.size, lambda s, t: self.others(rest, s, t), source, target)

    def blocks(self, source: Vec, target: Vec) -> None:
        """Emit all blocks of the two axes."""
        shape = self.shape
        rows, columns = (a.size // shape.block for a in (shape.rows, shape.columns))

        def across(s: Vec, t: Vec) -> None:
            self.moved(shape.columns, columns, self.block, s, t)

        self.moved(shape.rows, rows, across, source, target)

    def block(self, source: Vec, target: Vec) -> None:
        """Emit one block: rows of the source in, rows of the target out."""
        shape = self.shape
        rows = [
            self.load(self.at(source, self.number(r * shape.rows.source_step)), shape.block)
            for r in range(shape.block)
        ]
        for c, row in enumerate(self.transposed(rows)):
            self.store(row, self.at(target, self.number(c * shape.columns.target_step)))

    def transposed(self, rows: list[Vec]) -> list[Vec]:
        """Return the columns of a block."""
        half = len(rows) // 2
        rounds = len(rows).bit_length() - 1
        for _ in range(rounds):
            pairs = zip(rows[:half], rows[half:], strict=True)
            rows = [self.zipped(a, b, side) for a, b in pairs for side in (0, 1)]
        return rows

    def zipped(self, a: Vec, b: Vec, side: int) -> Vec:
        """Return the lower or upper halves of two vectors, element by element."""
        lanes = a.lanes
        start = side * lanes // 2
        order = [start + i // 2 + (i % 2) * lanes for i in range(lanes)]
        text = ", ".join(f"i32 {i}" for i in order)
        shuffle = f"shufflevector {a}, {b}, <{lanes} x i32> <{text}>"
        return self.body.emit(shuffle, a.elem, lanes)


TABLE: dict[str, Callable[..., None]] = {
    **CREATION_TABLE, **LAYOUT_TABLE,
}  # fmt: skip
