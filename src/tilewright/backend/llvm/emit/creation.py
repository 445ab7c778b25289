"""Constants and positions: numbers that come from nowhere but the loops."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Op
from ..plan.index import terms
from ..plan.statements import Position
from .emitter import Emitter
from .frame import Frame
from .types import register_type


def _constant(emitter: Emitter, op: Op) -> None:
    emitter.names[op.result] = emitter.literal(op.attrs["dtype"], op.attrs["value"], 1)


def position(frame: Frame, read: Position) -> None:
    """The coordinate along an axis, wrapping in its type."""
    emitter, lanes = frame.emitter, frame.lanes(read.result)
    kind = register_type(read.result.elem)
    place = frame.sum(terms(read.axis))
    base = place.base if kind == "i64" else place.base.cast("trunc", kind)
    number = emitter.splat(base, lanes)
    if lanes > 1:
        number = number + emitter.lanes_of(kind, lanes, place.step)
    frame.registers[read.result] = number


TABLE: dict[str, Callable[..., None]] = {"constant": _constant, "iota": position}
