"""Elements of buffers: a layout op changes no data, only where in a buffer an element is found."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Op
from ..functions.text import Value as Vec
from ..plan.index import Index, Layout, loops_in, offset
from ..plan.statements import ReadBuffer, WriteBuffer
from ..plan.values import Buffer
from . import access
from .emitter import Emitter
from .frame import Frame, Place
from .types import memory_type


def _address(frame: Frame, buffer: Buffer, place: Place) -> Vec:
    base = frame.emitter.buffers[buffer]
    return frame.emitter.shifted(base, place.base, memory_type(buffer.elem))


def read_element(frame: Frame, buffer: Buffer, index: Index) -> Vec:
    """One element per lane of a buffer, or one for all lanes."""
    emitter = frame.emitter
    lanes = frame.nest.lanes if frame.is_vector(loops_in(index)) else 1
    place = frame.sum(offset(index, buffer.layout))
    first = _address(frame, buffer, place)
    if lanes == 1 or place.step == 1:
        return access.load_dense(emitter, first, buffer.elem, lanes)
    each = _each(emitter, first, place, lanes, buffer)
    padding = emitter.body.constant(memory_type(buffer.elem), lanes, 0)
    return access.gather(emitter, each, access.truths(emitter, lanes), padding, buffer.elem)


def _each(emitter: Emitter, first: Vec, place: Place, lanes: int, buffer: Buffer) -> Vec:
    steps = emitter.lanes_of("i64", lanes, place.step)
    return access.addresses(emitter, first, steps, buffer.elem)


def write_element(
    frame: Frame,
    buffer: Buffer,
    index: Index,
    value: Vec,
    part: Layout | None = None,
    shift: int = 0,
) -> None:
    """Put one element per lane into a buffer, or into a part of it."""
    emitter = frame.emitter
    whole = frame.sum(offset(index, buffer.layout if part is None else part))
    place = Place(whole.base + shift, whole.step)
    first = _address(frame, buffer, place)
    if value.lanes == 1 or place.step == 1:
        access.store_dense(emitter, value, first, buffer.elem)
        return
    each = _each(emitter, first, place, value.lanes, buffer)
    access.scatter(emitter, value, each, access.truths(emitter, value.lanes), buffer.elem)


def read_buffer(frame: Frame, read: ReadBuffer) -> None:
    """A statement that reads a buffer."""
    frame.registers[read.result] = read_element(frame, read.buffer, read.index)


def write_buffer(frame: Frame, write: WriteBuffer) -> None:
    """A statement that writes a buffer."""
    lanes = frame.nest.lanes if frame.is_vector(loops_in(write.index)) else 1
    value = frame.value(write.value, lanes)
    write_element(frame, write.buffer, write.index, value, write.part, write.shift)


def _scalar(emitter: Emitter, op: Op) -> None:
    """A scalar stays what it is, however it is arranged."""
    emitter.names[op.result] = emitter.scalar(op.operands[0])


TABLE: dict[str, Callable[..., None]] = {
    "reshape": _scalar,
    "broadcast": _scalar,
    "permute": _scalar,
    "extract": _scalar,
    "cat": write_buffer,
}
