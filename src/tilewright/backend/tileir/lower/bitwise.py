"""Bitwise ops; shifts are brought to amounts below the width first, for Tile IR leaves others
open."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..encoding.enums import Comparison, Signedness
from ..program.core import Val
from .arithmetic import OVERFLOWS, is_signed, plain
from .emitter import Emitter, Rule, tile


def _noti(em: Emitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    return (em.same("xori", arg, em.number(-1, tile(arg))),)


def _fits(em: Emitter, op: Op) -> bool:
    """Whether the amount surely is below the width."""
    amount = em.ranges.of(op.one("rhs"))
    return amount.low >= 0 and amount.high < op.result.tile.dtype.bits


def _small(em: Emitter, amount: Val, width: int) -> Val:
    """The amount, at most one below the width; read as unsigned."""
    return em.same(
        "mini", amount, em.number(width - 1, tile(amount)), signedness=Signedness.UNSIGNED
    )


def _or_zero(em: Emitter, amount: Val, width: int, shifted: Val) -> Val:
    """What was shifted, or 0 where the amount is the width or more."""
    kind = tile(shifted)
    inside = em.compare(Comparison.LESS_THAN, amount, em.number(width, kind), signed=False)
    return em.one("select", kind, inside, shifted, em.number(0, kind))


def _shli(em: Emitter, op: Op) -> Sequence[Val]:
    lhs, amount = em.all(op)
    overflow = OVERFLOWS[op.attrs["overflow"]]
    if _fits(em, op):
        return (em.same("shli", lhs, amount, overflow=overflow),)
    width = op.result.tile.dtype.bits
    shifted = em.same("shli", lhs, _small(em, amount, width))
    return (_or_zero(em, amount, width, shifted),)


def _shri(em: Emitter, op: Op) -> Sequence[Val]:
    lhs, amount = em.all(op)
    signed, width = is_signed(op.one("lhs")), op.result.tile.dtype.bits
    if _fits(em, op):
        return (em.same("shri", lhs, amount, signedness=signed),)
    shifted = em.same("shri", lhs, _small(em, amount, width), signedness=signed)
    return (shifted if signed else _or_zero(em, amount, width, shifted),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("andi", "ori", "xori"), plain),
    "noti": _noti, "shli": _shli, "shri": _shri,
}  # fmt: skip
