"""Raw pointers: addresses as 64-bit integers; only those of arguments are ever touched."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import AnyDType
from ...ir.core import Op, Value
from ...ir.types import PtrType
from .exact import Array
from .machine import Frame, Results, Rule, elementwise, filled


def pointee(pointers: Value) -> AnyDType:
    """The element type that a tile of pointers points to."""
    elem = pointers.tile.elem
    assert isinstance(elem, PtrType), f"expected pointers, got {pointers.type}"
    return elem.to


def mask_of(frame: Frame, op: Op, pointers: Array) -> Array:
    """The mask of a pointer access, all true where it has none."""
    mask = op.maybe("mask")
    return np.ones(pointers.shape, np.bool_) if mask is None else frame.array(mask)


def _offset(frame: Frame, op: Op) -> Results:
    pointers, by = frame.arrays(op)
    return (pointers + by.astype(np.int64) * pointee(op.one("pointer")).itemsize,)


def _load_ptr(frame: Frame, op: Op) -> Results:
    source, padding = op.one("source"), op.maybe("padding")
    dtype, pointers, memory = pointee(source), frame.array(source), frame.launch.memory
    mask = mask_of(frame, op, pointers)
    loaded = memory.read(memory.watch.enter(op), pointers, mask, dtype)
    rest = filled(dtype, loaded.shape, 0) if padding is None else frame.array(padding)
    return (np.where(mask, loaded, rest),)


def _store_ptr(frame: Frame, op: Op) -> Results:
    target = op.one("target")
    pointers, memory = frame.array(target), frame.launch.memory
    value = frame.array(op.one("value"))
    mask = mask_of(frame, op, pointers)
    memory.write(memory.watch.enter(op), pointers, mask, value, pointee(target))
    return ()


def _same(addresses: Array) -> Array:
    return addresses


RULES: dict[str, Rule] = {
    "offset": _offset,
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
    "ptr_to_int": elementwise(_same),
    "int_to_ptr": elementwise(_same),
    "ptr_to_ptr": elementwise(_same),
}
