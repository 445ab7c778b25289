"""Arithmetic: floats one to one; integer division guarded, for Tile IR leaves some of it open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.dtypes import bf16, int_range
from ....ir.attrs import Overflow, Rounding
from ....ir.core import Op, Value
from ..encoding import enums
from ..encoding.enums import Comparison
from ..program.core import Val
from ..program.types import I1
from .accurate import in_f64
from .emitter import Emitter, Rule, tile
from .reciprocal import multiplied, shared_divisor

ROUNDINGS: dict[Rounding, enums.Rounding] = {
    Rounding.NEAREST_EVEN: enums.Rounding.NEAREST_EVEN,
    Rounding.ZERO: enums.Rounding.ZERO,
    Rounding.NEG_INF: enums.Rounding.NEGATIVE_INF,
    Rounding.POS_INF: enums.Rounding.POSITIVE_INF,
    Rounding.APPROX: enums.Rounding.APPROX,
    Rounding.FULL: enums.Rounding.FULL,
}
OVERFLOWS: dict[Overflow, enums.Overflow] = {
    Overflow.NONE: enums.Overflow.NONE,
    Overflow.NO_SIGNED_WRAP: enums.Overflow.NO_SIGNED_WRAP,
    Overflow.NO_UNSIGNED_WRAP: enums.Overflow.NO_UNSIGNED_WRAP,
    Overflow.NO_WRAP: enums.Overflow.NO_WRAP,
}


def rounded(em: Emitter, op: Op) -> Sequence[Val]:
    """A float op that is told how to round."""
    attrs: dict[str, Any] = {"rounding_mode": ROUNDINGS[op.attrs["rounding"]]}
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"], **attrs),)


def _divf(em: Emitter, op: Op) -> Sequence[Val]:
    if op.attrs["rounding"] not in (Rounding.APPROX, Rounding.FULL):
        return rounded(em, op)
    divisor = shared_divisor(em, op)
    if divisor is not None:
        return (multiplied(em, em.get(op.one("lhs")), divisor),)
    # The approximate division gives NaN for inf / 2e38, and the full one 2.02 ulp now and then.
    nearest, ftz = ROUNDINGS[Rounding.NEAREST_EVEN], op.attrs["ftz"]
    return (em.same("divf", *em.all(op), flush_to_zero=ftz, rounding_mode=nearest),)


def _fma(em: Emitter, op: Op) -> Sequence[Val]:
    # Tile IR computes that of bf16 in f32, so that ties are rounded twice.
    return (in_f64(em, "fma", em.all(op)),) if op.result.tile.dtype is bf16 else rounded(em, op)


def plain(em: Emitter, op: Op) -> Sequence[Val]:
    """An op that is the same in both, without attributes."""
    return (em.same(op.name, *em.all(op)),)


def renamed(name: str) -> Rule:
    """An op that Tile IR has under another name."""

    def rule(em: Emitter, op: Op) -> Sequence[Val]:
        return (em.same(name, *em.all(op)),)

    return rule


def _extreme(em: Emitter, op: Op) -> Sequence[Val]:
    nan, ftz = op.attrs["nan"], op.attrs["ftz"]
    return (em.same(op.name, *em.all(op), propagate_nan=nan, flush_to_zero=ftz),)


def wrapping(em: Emitter, op: Op) -> Sequence[Val]:
    """An integer op that may promise not to overflow."""
    return (em.same(op.name, *em.all(op), overflow=OVERFLOWS[op.attrs["overflow"]]),)


def signed(em: Emitter, op: Op) -> Sequence[Val]:
    """An integer op that depends on the sign."""
    return (em.same(op.name, *em.all(op), signedness=is_signed(op.operands[0])),)


def is_signed(value: Value) -> bool:
    """Whether a tile holds signed integers."""
    return value.tile.dtype.is_signed


def _absi(em: Emitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    return (em.same("absi", arg) if is_signed(op.one("arg")) else arg,)


# --- division ------------------------------------------------------------------------------------


def _divisor(em: Emitter, op: Op) -> tuple[Val, Val | None]:
    """A divisor that leaves nothing open, and where the given one is zero (None: nowhere).

    Dividing by 1 instead of -1 gives MIN for MIN / -1, and 0 for the remainder.
    """
    lhs, rhs = op.operands
    a, b = em.ranges.of(lhs), em.ranges.of(rhs)
    given = em.get(rhs)
    kind = tile(given)
    one = None
    zero = None
    if b.low <= 0 <= b.high:
        zero = em.compare(Comparison.EQUAL, given, em.number(0, kind))
    wrong = zero
    least = int_range(lhs.tile.dtype)[0]
    if is_signed(lhs) and a.low == least and b.low <= -1 <= b.high:
        overflows = em.one(
            "andi", kind.of(I1),
            em.compare(Comparison.EQUAL, em.get(lhs), em.number(least, kind)),
            em.compare(Comparison.EQUAL, given, em.number(-1, kind)),
        )  # fmt: skip
        wrong = overflows if zero is None else em.same("ori", zero, overflows)
    if wrong is None:
        return given, None
    one = em.number(1, kind)
    return em.one("select", kind, wrong, one, given), zero


def _divi(em: Emitter, op: Op) -> Sequence[Val]:
    divisor, zero = _divisor(em, op)
    lhs = em.get(op.one("lhs"))
    rounding = ROUNDINGS[op.attrs["rounding"]]
    quotient = em.same("divi", lhs, divisor, signedness=is_signed(op.one("lhs")), rounding=rounding)
    if zero is None:
        return (quotient,)
    return (em.one("select", lhs.kind, zero, em.number(0, tile(lhs)), quotient),)


def _remi(em: Emitter, op: Op) -> Sequence[Val]:
    assert op.attrs["rounding"] is Rounding.ZERO, "other remainders are desugared"
    divisor, zero = _divisor(em, op)
    lhs = em.get(op.one("lhs"))
    rest = em.same("remi", lhs, divisor, signedness=is_signed(op.one("lhs")))
    return (rest if zero is None else em.one("select", lhs.kind, zero, lhs, rest),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("addf", "subf", "mulf"), rounded),
    "fma": _fma,
    "divf": _divf,
    **dict.fromkeys(("remf", "negf", "absf"), plain),
    **dict.fromkeys(("maxf", "minf"), _extreme),
    **dict.fromkeys(("addi", "subi", "muli", "negi"), wrapping),
    **dict.fromkeys(("maxi", "mini"), signed),
    "divi": _divi, "remi": _remi, "mulhi": renamed("mulhii"), "absi": _absi,
}  # fmt: skip
