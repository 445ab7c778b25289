"""Bitwise ops; shifts by the width or more give 0, or the sign."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import constant, where
from .arithmetic import plain
from .emitter import Compute, Emitter


def _shli(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    inside = by.compare("", "ult", op.result.tile.dtype.bits)
    return where(inside, a << by, constant(a, 0))


def _shri(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    dtype = op.result.tile.dtype
    inside = by.compare("", "ult", dtype.bits)
    if dtype.is_signed:
        return a.ashr(where(inside, by, dtype.bits - 1))
    return where(inside, a.lshr(by), constant(a, 0))


def _not(a: Vec) -> Vec:
    return a ^ -1


TABLE: dict[str, Compute] = {
    "andi": plain(Vec.__and__),
    "ori": plain(Vec.__or__),
    "xori": plain(Vec.__xor__),
    "noti": plain(_not),
    "shli": _shli,
    "shri": _shri,
}
