"""Emits prefetches of the next block's tile: the same element, one tile distance away."""

from __future__ import annotations

from ....ir.types import Elem
from ..functions.text import Value as Vec
from ..plan.nontemporal import LINE
from ..plan.statements import ReadView
from ..plan.values import itemsize
from .emitter import Emitter
from .frame import Window
from .types import memory_type

PREFETCH = "@llvm.prefetch.p0"
FOR_READING, INTO_SECOND_LEVEL, OF_DATA = 0, 2, 1


def distance(emitter: Emitter, read: ReadView, window: Window) -> Vec:
    """How many elements the next block's tile is away from this one's."""
    assert read.prefetch is not None, "only such loads are prefetched"
    view = read.access.view
    total = emitter.integer(0)
    for k, axis in enumerate(read.prefetch):
        if axis is not None:
            step = (view.step or view.tile)[k]
            total = total + emitter.to_next[axis] * step * window.strides[k]
    return total


def prefetch(emitter: Emitter, address: Vec, away: Vec, elem: Elem, lanes: int) -> None:
    """Ask for the lines of neighbouring elements some elements away."""
    emitter.body.declarations.add(f"declare void {PREFETCH}(ptr, i32, i32, i32)")
    first = emitter.shifted(address, away, memory_type(elem))
    hints = f"i32 {FOR_READING}, i32 {INTO_SECOND_LEVEL}, i32 {OF_DATA}"
    for at in range(0, lanes * itemsize(elem), LINE):
        line = emitter.shifted(first, emitter.integer(at), "i8")
        emitter.do(f"call void {PREFETCH}({line}, {hints})")
