"""Conversions between element types, and opaque rematerialized ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....base.dtypes import AnyDType, f8e8m0fnu, int_range
from ....base.shapes import size
from ....ir.core import Op, Value
from ....ir.ops.elementwise import ROUND
from ..bytecode.enums import V13_4, ComparisonCode, NanOrdering, RoundingCode, Signedness
from ..bytecode.program import Val
from ..bytecode.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Pointer,
    ScalarType,
    TileValueType,
    tile_of,
)
from .elementwise import OVERFLOWS, is_signed
from .emitter import Reduced, Rule, TileEmitter, tile
from .math_expansion import ROUNDER

# -------------------------------------------------------------------------------------------------
# Opaque rematerialization: keep the assembler from merging rematerialized conversions (CSE).
#
# tileiras would merge two conversions of one tile and hold the wide result in registers. So the
# second one converts the tile's bits combined with an opaque zero, a term that is always 0 and that
# depends on the reduction, which makes it distinct and not available before.

WORDS = {1: I8, 2: I16}
"""The integers of narrow elements, by their bytes."""
HALF = 16


def note_reduction(em: TileEmitter, op: Op, results: tuple[Val, ...]) -> None:
    """Note that a reduction has been lowered."""
    given = op.operands[0].tile.shape
    if tile(results[0]).elem == F32:
        em.reduced[id(em.code)] = Reduced(results[0], given, op.attrs["axis"])


def converted(em: TileEmitter, value: Value) -> Val:
    """Return the operand of a conversion: the value, or its opaque bits if converted before."""
    found, last = em.get(value), em.reduced.get(id(em.code))
    word = WORDS.get(value.tile.dtype.itemsize)
    first = em.converted.setdefault((id(em.code), value), last)
    if word is None or last is None or first is last or last.given != value.tile.shape:
        return found
    kind = tile(found)
    words = kind.of(word)
    bits = found if kind == words else em.one("bitcast", words, found)
    bits = em.same("ori", bits, em.one("broadcast", words, _zeros(em, last, word)))
    return bits if kind == words else em.one("bitcast", kind, bits)


def opaque_false(em: TileEmitter, x: Val) -> Val:
    """Emit False per element of x, of 32 bits: x * x + 1 is not 7 * y * y, not even modulo 8."""
    kind = tile(x)
    y = em.same("shri", x, em.number(HALF, kind), signedness=Signedness.UNSIGNED)
    left = em.same("addi", em.same("muli", x, x), em.number(1, kind))
    right = em.same("muli", em.number(7, kind), em.same("muli", y, y))
    return em.compare(ComparisonCode.EQUAL, left, right)


def _zeros(em: TileEmitter, last: Reduced, word: ScalarType) -> Val:
    """Return a zero per result of a reduction."""
    kind = tile(last.result).of(I32)
    never = opaque_false(em, em.one("bitcast", kind, last.result))
    zero = em.one("exti", kind.of(word), never, signedness=Signedness.UNSIGNED)
    ones = tuple(1 if k == last.axis else n for k, n in enumerate(last.given))
    return em.one("reshape", kind.of(word).shaped(ones), zero)


# -------------------------------------------------------------------------------------------------
# Conversions between element types; cases that Tile IR leaves open are decided here.


def _ftof(em: TileEmitter, op: Op) -> Sequence[Val]:
    arg = converted(em, op.one("arg"))
    kind = tile_of(op.result.type)
    if op.attrs["to"] is f8e8m0fnu:
        return (_to_scale(em, arg, kind),)
    if kind.elem not in (*OVERFLOWS_TO, F4E2M1FN):
        return (em.one("ftof", kind, arg, rounding_mode=RoundingCode.NEAREST_EVEN),)
    if tile(arg).elem not in COMPARED:
        arg = em.one("ftof", kind.of(F32), arg)
    if kind.elem == F4E2M1FN:
        return (em.one("ftof", kind, _zero_for_nan(em, arg)),)
    return (_overflowing(em, arg, em.one("ftof", kind, arg), kind),)


def _zero_for_nan(em: TileEmitter, arg: Val) -> Val:
    """Replace NaN by zero; hardware would make the largest number of it."""
    kind = tile(arg)
    ordinary = _ask(em, ComparisonCode.EQUAL, arg, arg)
    return em.one("select", kind, ordinary, arg, em.number(0.0, kind))


COMPARED = (F16, BF16, F32, F64)
"""Floats that can be compared."""
OVERFLOWS_TO: dict[ScalarType | Pointer, tuple[ComparisonCode, float, float]] = {
    # 464 still fits: it is as near to the largest number as to the next, and that one is even.
    F8E4M3FN: (ComparisonCode.GREATER_THAN, 464.0, math.nan),
    F8E5M2: (ComparisonCode.GREATER_THAN_OR_EQUAL, 61440.0, math.inf),
}
"""Which magnitudes are too large, and what they become; Tile IR would give the largest number."""


def _overflowing(em: TileEmitter, arg: Val, narrow: Val, kind: TileValueType) -> Val:
    """Select the converted number, or the result of overflow where a number is too large."""
    predicate, bound, beyond = OVERFLOWS_TO[kind.elem]
    source = tile(arg)
    large = _ask(em, predicate, em.same("absf", arg), em.number(bound, source))
    negative = _ask(em, ComparisonCode.LESS_THAN, arg, em.number(0.0, source))
    signed = em.one("select", kind, negative, em.number(-beyond, kind), em.number(beyond, kind))
    return em.one("select", kind, large, signed, narrow)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The exponent field of a float, for conversions to powers of two."""

    word: ScalarType
    fraction: int
    """Where the exponent begins."""
    rebias: int
    """How much its exponents exceed those of a power of two."""
    least: int
    """The bits of the least power of two; the next one has the first exponent that is not 0."""


LAYOUTS: dict[ScalarType | Pointer, _Layout] = {
    F32: _Layout(I32, 23, 0, 1 << 22),
    F64: _Layout(I64, 52, 896, 896 << 52),
}
NOT_A_NUMBER = 0xFF


def _to_scale(em: TileEmitter, arg: Val, kind: TileValueType) -> Val:
    """Convert to the nearest power of two, the greater at a tie; NaN unless positive.

    All between the two least powers goes to the greater, as in the other backends.
    """
    wide = arg if tile(arg).elem in LAYOUTS else em.one("ftof", kind.of(F32), arg)
    layout = LAYOUTS[tile(wide).elem]
    whole = kind.of(layout.word)
    bits = em.one("bitcast", whole, wide)
    half, fraction = em.number(1 << layout.fraction - 1, whole), em.number(layout.fraction, whole)
    exponent = em.same(
        "shri", em.same("addi", bits, half), fraction, signedness=Signedness.UNSIGNED
    )
    code = em.same("subi", exponent, em.number(layout.rebias, whole))
    above = em.compare(ComparisonCode.GREATER_THAN, bits, em.number(layout.least, whole))
    least = em.one("exti", whole, above, signedness=Signedness.UNSIGNED)
    second = em.number(layout.rebias + 1 << layout.fraction, whole)
    code = em.one("select", whole, em.compare(ComparisonCode.LESS_THAN, bits, second), least, code)
    nan = em.number(NOT_A_NUMBER, whole)
    positive = em.compare(ComparisonCode.GREATER_THAN, bits, em.number(0, whole))
    code = em.one("select", whole, positive, code, nan)
    code = em.same("mini", code, nan, signedness=Signedness.UNSIGNED)
    return em.one("bitcast", kind, em.one("trunci", kind.of(I8), code))


# --- floats to integers --------------------------------------------------------------------------


SHORT = 16
"""Integers of so many bits are the low bits of `ROUNDER` plus such a number."""


def _ftoi(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    kind, to = tile_of(op.result.type), op.attrs["to"]
    maker = em.nesting.definer(op.one("arg"))
    if maker is not None and maker.is_a(ROUND) and to.bits <= SHORT and tile(arg).elem != F64:
        return (_nearest(em, em.get(maker.one("arg")), kind, to),)
    # The bounds of integers are not numbers of the small floats.
    wide = arg if tile(arg).elem in (F32, F64) else em.one("ftof", kind.of(F32), arg)
    if em.version >= V13_4:
        return (_converted(em, wide, kind, to, saturating=True),)
    return (_saturated(em, wide, kind, to),)


def _nearest(em: TileEmitter, arg: Val, kind: TileValueType, to: AnyDType) -> Val:
    """Convert to the nearest short integer, the nearest bound outside; NaN becomes 0.

    A clamped number that is added to `ROUNDER` is rounded by the addition, and its low bits are
    the integer: half the instructions of rounding to a whole float and converting that.
    """
    source = tile(arg).of(F32)
    wide = arg if tile(arg) == source else em.one("ftof", source, arg)
    low, high = (em.number(float(end), source) for end in int_range(to))
    number = _zero_for_nan(em, wide)
    clamped = em.same("minf", em.same("maxf", number, low), high)
    shifted = em.same("addf", clamped, em.number(ROUNDER, source))
    return em.one("trunci", kind, em.one("bitcast", source.of(I32), shifted))


def _converted(
    em: TileEmitter, arg: Val, kind: TileValueType, to: AnyDType, *, saturating: bool
) -> Val:
    return em.one(
        "ftoi", kind, arg,
        saturating=saturating, signedness=to.is_signed,
        rounding_mode=RoundingCode.NEAREST_INT_TO_ZERO,
    )  # fmt: skip


def _saturated(em: TileEmitter, arg: Val, kind: TileValueType, to: AnyDType) -> Val:
    """Return the nearest bound where a number does not fit, 0 for NaN: by comparisons."""
    low, high = int_range(to)
    source = tile(arg)
    # high + 1 is a power of two, so it is exact as a float.
    above = _ask(em, ComparisonCode.GREATER_THAN_OR_EQUAL, arg, em.number(float(high + 1), source))
    below = _ask(em, ComparisonCode.LESS_THAN, arg, em.number(float(low), source))
    ordinary = _ask(em, ComparisonCode.EQUAL, arg, arg)
    outside = em.same("ori", above, below)
    fits = em.same("andi", ordinary, em.same("xori", outside, em.number(1, kind.of(I1))))
    safe = em.one("select", source, fits, arg, em.number(0.0, source))
    whole = _converted(em, safe, kind, to, saturating=False)
    bounded = em.one("select", kind, above, em.number(high, kind), whole)
    return em.one("select", kind, below, em.number(low, kind), bounded)


def _ask(em: TileEmitter, predicate: ComparisonCode, lhs: Val, rhs: Val) -> Val:
    kind = tile(lhs).of(I1)
    return em.one(
        "cmpf",
        kind,
        lhs,
        rhs,
        comparison_predicate=predicate,
        comparison_ordering=NanOrdering.ORDERED,
    )


# --- integers ------------------------------------------------------------------------------------


def _itof(em: TileEmitter, op: Op) -> Sequence[Val]:
    arg = converted(em, op.one("arg"))
    kind = tile_of(op.result.type)
    signed = is_signed(op.one("arg"))
    if op.attrs["to"] is f8e8m0fnu:
        return (_to_scale(em, _as_f64(em, arg, signed=signed), kind),)
    if kind.elem in OVERFLOWS_TO:  # integers that fit are exact as f32
        wide = em.one(
            "itof", kind.of(F32), arg, signedness=signed, rounding_mode=RoundingCode.NEAREST_EVEN
        )
        return (_overflowing(em, wide, em.one("ftof", kind, wide), kind),)
    return (em.one("itof", kind, arg, signedness=signed, rounding_mode=RoundingCode.NEAREST_EVEN),)


STICKY = 12
"""Low bits of a 64-bit integer that one bit stands for, so that f64 holds the others."""


def _as_f64(em: TileEmitter, arg: Val, *, signed: bool) -> Val:
    """Return an integer as an f64 that lies on the same side of all numbers of few bits."""
    kind = tile(arg)
    if kind.scalar is I64:
        low = em.same("andi", arg, em.number((1 << STICKY) - 1, kind))
        zero = em.number(0, kind)
        rest = em.compare(ComparisonCode.NOT_EQUAL, low, zero)
        bit = em.one("select", kind, rest, em.number(1 << STICKY - 1, kind), zero)
        short = em.same("ori", em.same("subi", arg, low), bit)
        large = em.compare(
            ComparisonCode.GREATER_THAN_OR_EQUAL, arg, em.number(1 << 53, kind), signed=False
        )
        arg = em.one("select", kind, large, short, arg)
    return em.one(
        "itof", kind.of(F64), arg, signedness=signed, rounding_mode=RoundingCode.NEAREST_EVEN
    )


def _exti(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    return (em.one("exti", tile_of(op.result.type), arg, signedness=is_signed(op.one("arg"))),)


def _trunci(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    overflow = OVERFLOWS[op.attrs["overflow"]]
    return (em.one("trunci", tile_of(op.result.type), arg, overflow=overflow),)


# --- bits ----------------------------------------------------------------------------------------


def _bitcast(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    kind = tile_of(op.result.type)
    if kind == arg.kind:
        return (arg,)
    # Here tf32 has no bits to spare; its memory form is an f32.
    if tile(arg).elem == TF32:
        arg = em.one("ftof", kind.of(F32), arg)
    if kind.elem != TF32:
        return (arg if kind == arg.kind else em.one("bitcast", kind, arg),)
    wide = arg if tile(arg).elem == F32 else em.one("bitcast", kind.of(F32), arg)
    return (em.one("ftof", kind, wide),)


def _repacked(name: str) -> Rule:
    """Return the conversion between packed bytes and f4, through flat tiles."""

    def rule(em: TileEmitter, op: Op) -> Sequence[Val]:
        (arg,) = em.all(op)
        kind = tile_of(op.result.type)
        flat = em.one("reshape", tile(arg).shaped((size(tile(arg).shape),)), arg)
        made = em.one(name, kind.shaped((kind.size,)), flat)
        return (em.one("reshape", kind, made),)

    return rule


RULES: dict[str, Rule] = {
    "ftof": _ftof, "ftoi": _ftoi, "itof": _itof, "exti": _exti, "trunci": _trunci,
    "bitcast": _bitcast, "unpack": _repacked("unpack"), "pack": _repacked("pack"),
}  # fmt: skip
