"""Slices: elements read and written one at a time, inside their tensor alone."""

from __future__ import annotations

import numpy as np

from ...ir.core import Op
from .exact import Array
from .machine import Frame, Results, Rule


def _length(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.tensor(op.one("slice")).extents[0], np.int32),)


def _check_index(frame: Frame, op: Op) -> Results:
    index, length = frame.integer(op.one("index")), frame.integer(op.one("length"))
    ok = 0 <= index < length
    if not ok:
        frame.fail(op, index, length)
    return (np.asarray(ok),)


def _address(frame: Frame, op: Op) -> tuple[Array, Array]:
    """The address of an element, and whether it may be touched."""
    guard, tensor = op.maybe("guard"), frame.tensor(op.one("slice"))
    inside = guard is None or bool(frame.array(guard))
    index = frame.integer(op.one("index")) if inside else 0
    itemsize = op.one("slice").tensor.dtype.itemsize
    return np.asarray(tensor.address + index * itemsize, np.int64), np.asarray(inside)


def _load_slice(frame: Frame, op: Op) -> Results:
    address, inside = _address(frame, op)
    memory = frame.launch.memory
    return (memory.read(memory.watch.enter(op), address, inside, op.result.tile.dtype),)


def _store_slice(frame: Frame, op: Op) -> Results:
    address, inside = _address(frame, op)
    memory, value = frame.launch.memory, op.one("value")
    memory.write(memory.watch.enter(op), address, inside, frame.array(value), value.tile.dtype)
    return ()


def _slice_pointer(frame: Frame, op: Op) -> Results:
    index, itemsize = frame.integer(op.one("index")), op.one("slice").tensor.dtype.itemsize
    return (np.asarray(frame.tensor(op.one("slice")).address + index * itemsize, np.int64),)


RULES: dict[str, Rule] = {
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
}
