"""Bitwise ops; shifts by the width or more give 0, or the sign.

Of such shifts LLVM knows no result, and what it takes for one must not spread: it is frozen.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import constant, where
from .arithmetic import plain
from .emitter import Compute, Emitter


def _is_small(by: Vec, bits: int) -> bool:
    """Whether an amount is a constant below the width."""
    digits = by.name.removeprefix(f"splat ({by.elem} ").removesuffix(")")
    return digits.isdigit() and int(digits) < bits


def _shli(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    bits = op.result.tile.dtype.bits
    if _is_small(by, bits):
        return a << by
    inside = by.compare("", "ult", bits)
    return where(inside, (a << by).frozen(), constant(a, 0))


def _shri(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    dtype = op.result.tile.dtype
    if _is_small(by, dtype.bits):
        return a.ashr(by) if dtype.is_signed else a.lshr(by)
    inside = by.compare("", "ult", dtype.bits)
    if dtype.is_signed:
        return a.ashr(where(inside, by, dtype.bits - 1))
    return where(inside, a.lshr(by).frozen(), constant(a, 0))


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
