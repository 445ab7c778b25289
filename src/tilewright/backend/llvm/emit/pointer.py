"""Raw pointers: addresses are 64-bit integers; lanes that are neighbours are accessed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.core import Op
from ....ir.types import PtrType
from ..functions.text import Value as Vec
from ..plan.statements import ReadPointer, WritePointer
from ..plan.values import itemsize
from .access import load_through, store_through, to_memory
from .emitter import Compute, Emitter
from .frame import Frame


def _offset(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    address, by = args
    elem = op.result.tile.elem
    assert isinstance(elem, PtrType), "only pointers are moved"
    if by.elem != "i64":
        by = by.cast("sext" if op.operands[1].tile.dtype.is_signed else "zext", "i64")
    return address + by * itemsize(elem.to)


def _same(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    return args[0]


def _load_ptr(frame: Frame, read: ReadPointer) -> None:
    emitter, lanes = frame.emitter, frame.lanes(read.result)
    elem = read.result.elem
    address = frame.value(read.address, lanes)
    mask = frame.value(read.mask, lanes) if read.mask is not None else None
    padding = (
        frame.value(read.padding, lanes) if read.padding is not None
        else emitter.literal(elem, 0, lanes)
    )  # fmt: skip
    padding = to_memory(padding, elem)
    loaded = load_through(emitter, address, mask, padding, elem, read.ordered)
    frame.registers[read.result] = loaded


def _store_ptr(frame: Frame, write: WritePointer) -> None:
    lanes = frame.nest.lanes
    address, value = frame.value(write.address, lanes), frame.value(write.value, lanes)
    mask = frame.value(write.mask, lanes) if write.mask is not None else None
    store_through(frame.emitter, value, address, mask, write.elem, write.ordered)


COMPUTE: dict[str, Compute] = {
    "offset": _offset,
    "ptr_to_int": _same,
    "int_to_ptr": _same,
    "ptr_to_ptr": _same,
}
TABLE: dict[str, Callable[..., object]] = {
    **COMPUTE,
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
}
