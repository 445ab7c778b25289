"""Functions that Tile IR lacks: composed within our error bounds, or approximated where allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....analysis.needed_precision import LAST_BITS, Form, Forms, note_of
from ....base.polynomials import (
    ERF,
    ERF_ONE,
    ERFC,
    ERFC_1,
    EXP,
    EXP2_F32,
    LN2,
    LOG2E,
    LOG_F32,
    LOG_F64,
)
from ....ir.attrs import Rounding
from ....ir.core import Op
from ..bytecode.enums import ComparisonCode, NanOrdering, RoundingCode, Signedness
from ..bytecode.program import Val
from ..bytecode.types import F32, F64, I1, I32, I64, ScalarType, TileValueType
from .emitter import Rule, TileEmitter, tile

# --- approximate forms of functions in Tile IR -------------------------------------------------

Write = Callable[..., Val]


def _tanh(em: TileEmitter, x: Val) -> Val:
    return em.same("tanh", x, rounding_mode=RoundingCode.APPROX)


def _exp(em: TileEmitter, x: Val) -> Val:
    """Compute 2**(x log2(e)): the product is rounded, as if x had been rounded once more."""
    factor = em.number(math.log2(math.e), tile(x))
    nearest = RoundingCode.NEAREST_EVEN
    scaled = em.same("mulf", x, factor, flush_to_zero=True, rounding_mode=nearest)
    return _exp2(em, scaled)


def _exp2(em: TileEmitter, x: Val) -> Val:
    return em.same("exp2", x, flush_to_zero=True)


def _divf(em: TileEmitter, a: Val, b: Val) -> Val:
    return em.same("divf", a, b, flush_to_zero=False, rounding_mode=RoundingCode.FULL)


def _divf_of_normal(em: TileEmitter, a: Val, b: Val) -> Val:
    """Multiply by the reciprocal, which is 0 if the divisor is beyond 2**126."""
    return em.same("divf", a, b, flush_to_zero=True, rounding_mode=RoundingCode.APPROX)


def _plain(name: str) -> Write:
    def write(em: TileEmitter, *args: Val) -> Val:
        return em.same(name, *args)

    return write


FORMS: Forms[Write] = {
    "tanh": (Form(11, "tanh.approx", _tanh),),
    "exp": (Form(LAST_BITS, "exp2 of a scaled argument", _exp),),
    "exp2": (Form(LAST_BITS, "ex2.approx", _exp2),),
    "divf": (
        Form(LAST_BITS, "div.approx", _divf_of_normal, Rounding.APPROX),
        Form(LAST_BITS, "div.full", _divf),
    ),
    **{
        name: (Form(LAST_BITS, f"{name} in f32", _plain(name)),) for name in ("tan", "sinh", "cosh")
    },
}
"""The approximate forms of functions, the fastest first.

Their errors, as NVIDIA documents them for PTX: tanh.approx 2**-11, ex2.approx 2 ulp, div.full
2 ulp, div.approx 2 ulp for divisors from 2**-126 to 2**126, beyond which quotients are 0. Those of
libdevice's tan, sinh and cosh are 3.1, 2.9 and 2.4 ulp on an H200.
"""


def approximated(em: TileEmitter, op: Op, form: Form[Write]) -> Val:
    """Compute a function in an approximate form, in f32, and note that."""
    note = note_of(op, form)
    if note not in em.notes:
        em.notes.append(note)
    args = em.all(op)
    kind = tile(args[0])
    if kind.scalar is F32:
        return form.write(em, *args)
    wide = kind.of(F32)
    return em.one("ftof", kind, form.write(em, *(em.one("ftof", wide, x) for x in args)))


# -------------------------------------------------------------------------------------------------
# Functions within our error bounds, where those of Tile IR are not.

EXPONENT = 23
"""Where the exponent of an f32 begins."""
ROUNDER = 1.5 * 2.0**EXPONENT
"""Added to a small number it leaves the nearest whole one in the low bits."""
LOWEST, HIGHEST = -126, 128
"""2 to the power of what lies between them is a normal f32; at the upper end it is infinity."""


def in_f64(em: TileEmitter, name: str, args: Sequence[Val]) -> Val:
    """Compute in f64, and round once."""
    kind = tile(args[0])
    widened = [em.one("ftof", kind.of(F64), arg) for arg in args]
    return em.one("ftof", kind, em.same(name, *widened))


def power_of_two(em: TileEmitter, x: Val) -> Val:
    """Compute 2**x: a polynomial of the fraction, scaled by the nearest integer exponent.

    Results that would be subnormal are zero.
    """
    kind = tile(x)
    shifted = _add(em, x, em.number(ROUNDER, kind))
    rest = _subtract(em, x, _subtract(em, shifted, em.number(ROUNDER, kind)))
    power = em.number(EXP2_F32[-1], kind)
    for factor in (*EXP2_F32[-2::-1], 1.0):
        power = em.same("fma", power, rest, em.number(factor, kind))
    whole = kind.of(I32)
    # All but the low bits of the rounder's own pattern are shifted out.
    exponent = em.same("shli", em.one("bitcast", whole, shifted), em.number(EXPONENT, whole))
    scaled = em.same("addi", em.one("bitcast", whole, power), exponent)
    middle = _subtract(em, x, em.number((LOWEST + HIGHEST) / 2, kind))
    normal = _ask(
        em, ComparisonCode.LESS_THAN_OR_EQUAL, em.same("absf", middle), (HIGHEST - LOWEST) / 2
    )
    # Infinity, and NaN where there is one.
    above = _add(em, x, em.number(math.inf, kind))
    beyond = em.one(
        "select", kind, _ask(em, ComparisonCode.LESS_THAN, x, 0.0), em.number(0.0, kind), above
    )
    return em.one("select", kind, normal, em.one("bitcast", kind, scaled), beyond)


def _add(em: TileEmitter, a: Val, b: Val) -> Val:
    return em.same("addf", a, b)


def _subtract(em: TileEmitter, a: Val, b: Val) -> Val:
    return em.same("subf", a, b)


def _ask(em: TileEmitter, predicate: ComparisonCode, lhs: Val, rhs: float) -> Val:
    kind = tile(lhs)
    return em.one(
        "cmpf", kind.of(I1), lhs, em.number(rhs, kind),
        comparison_predicate=predicate, comparison_ordering=NanOrdering.ORDERED,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Functions that Tile IR does not have, composed of its ops, in f32 or f64.
#
# They use the same polynomials as the CPU: see `base/polynomials.py`.

WHOLE: dict[ScalarType, ScalarType] = {F32: I32, F64: I64}
"""The integer that holds the bits of a float."""
FRACTION = {F32: 23, F64: 52}
"""Where the exponent begins."""
HALVES = {F32: 126, F64: 1022}
"""The exponent of one half."""
EXPM1_ENDS = {F32: (-30.0, 89.0), F64: (-60.0, 710.0)}
"""Where e**x - 1 is -1 and infinity."""
EXPM1_SMALL = {F32: 2.0**-25, F64: 2.0**-54}
"""Below it e**x - 1 is x."""
LOG1P_MIDDLE, LOG1P_AROUND = 0.0625, 0.34375
"""What lies around the middle has a polynomial: 1 + x is between the roots of 1/2 and 2."""

CBRT_SMALL = {F32: (2.0**-80, 48), F64: (2.0**-900, 150)}
"""Below the first number residuals may be subnormal: they are scaled by the power of two."""
CBRT_GUESS = {F32: 709958130, F64: 715094163 << 32}
"""Two thirds of the bits of 1, less what makes the largest error of the guess small."""
CBRT_HALLEY = {F32: 1, F64: 2}
"""Iterations of Halley, each of which triples the correct bits: from 4 to 15 or 45."""

Function = Callable[["Writer", Val], Val]


class Writer:
    """The writer of arithmetic on tiles of one type; numbers mean tiles of them."""

    def __init__(self, em: TileEmitter, kind: TileValueType) -> None:
        self._em = em
        self._kind = kind
        self.scalar = kind.scalar
        self.name = str(kind.scalar)

    def value(self, x: Val | float) -> Val:
        """Return a tile, or that of a number."""
        return x if isinstance(x, Val) else self._em.number(x, self._kind)

    def do(self, name: str, *operands: Val | float, **attrs: int | bool) -> Val:
        """Emit an instruction whose operands and result are tiles of the kind."""
        return self._em.same(name, *map(self.value, operands), **attrs)

    def where(
        self, lhs: Val, predicate: ComparisonCode, rhs: Val | float, yes: Val | float, no: Val
    ) -> Val:
        """Return one where a comparison holds, which no NaN does, else the other."""
        held = self._em.one(
            "cmpf", self._kind.of(I1), lhs, self.value(rhs),
            comparison_predicate=predicate, comparison_ordering=NanOrdering.ORDERED,
        )  # fmt: skip
        return self._em.one("select", self._kind, held, self.value(yes), no)

    def horner(self, x: Val, coefficients: Sequence[float]) -> Val:
        """Return the polynomial with these coefficients, lowest first."""
        result = self.value(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.do("fma", result, x, coefficient)
        return result

    def third_of_bits(self, x: Val, more: int) -> Val:
        """Return the float whose bits are a third of those of a positive one, and some more."""
        word = WHOLE[self.scalar]
        kind = self._kind.of(word)
        third = self._em.number(((1 << word.width) + 2) // 3, kind)
        bits = self._em.same(
            "mulhii", self._em.one("bitcast", kind, x), third, signedness=Signedness.UNSIGNED
        )
        guess = self._em.same("addi", bits, self._em.number(more, kind))
        return self._em.one("bitcast", self._kind, guess)

    def divided(self, a: Val, b: Val) -> Val:
        """Return a quotient that need not be rounded correctly."""
        rounding = {"rounding_mode": RoundingCode.FULL} if self.scalar is F32 else {}
        return self.do("divf", a, b, **rounding)

    def signed(self, magnitude: Val, sign: Val) -> Val:
        """Return a float that is not negative, with the sign of another."""
        word = WHOLE[self.scalar]
        kind = self._kind.of(word)
        bits = self._em.one("bitcast", kind, sign)
        sign = self._em.same("andi", bits, self._em.number(-1 << word.width - 1, kind))
        both = self._em.same("ori", self._em.one("bitcast", kind, magnitude), sign)
        return self._em.one("bitcast", self._kind, both)

    def half_power(self, shifted: Val) -> Val:
        """Compute half of 2**n, where n is in the low bits of a float; the rest is shifted out."""
        kind = self._kind.of(WHOLE[self.scalar])
        biased = self._em.same(
            "addi", self._em.one("bitcast", kind, shifted),
            self._em.number(HALVES[self.scalar], kind),
        )  # fmt: skip
        moved = self._em.same("shli", biased, self._em.number(FRACTION[self.scalar], kind))
        return self._em.one("bitcast", self._kind, moved)


def expm1(w: Writer, x: Val) -> Val:
    """Compute e**x - 1 = 2**n (e**r - 1) + (2**n - 1), in halves: 2**n may overflow."""
    low_end, high_end = EXPM1_ENDS[w.scalar]
    inside = w.where(x, ComparisonCode.GREATER_THAN, high_end, high_end, x)
    inside = w.where(inside, ComparisonCode.LESS_THAN, low_end, low_end, inside)
    rounder = 1.5 * 2.0 ** FRACTION[w.scalar]
    shifted = w.do("fma", inside, LOG2E, rounder)
    n = w.do("subf", shifted, rounder)
    high, low = LN2[w.name]
    exact, rest = w.do("fma", n, -high, inside), w.do("mulf", n, -low)
    r = w.do("addf", exact, rest)
    small = w.do("fma", w.do("mulf", r, r), w.horner(r, EXP[w.name]), rest)
    factor = w.half_power(shifted)
    large = w.do("fma", factor, exact, w.do("subf", factor, 0.5))
    half = w.do("fma", factor, small, large)
    return w.where(
        w.do("absf", x),
        ComparisonCode.LESS_THAN,
        EXPM1_SMALL[w.scalar],
        x,
        w.do("addf", half, half),
    )


def log1p(w: Writer, x: Val) -> Val:
    """Compute log(1 + x): near 0 by a polynomial, else with the rounding error of the sum."""
    total = w.do("addf", x, 1.0)
    added = w.do("subf", total, 1.0)
    rest = w.do("addf", w.do("subf", 1.0, w.do("subf", total, added)), w.do("subf", x, added))
    rounding = {"rounding_mode": RoundingCode.FULL} if w.scalar is F32 else {}
    quotient = w.do("divf", rest, total, **rounding)
    # At -1 and infinity there is none.
    quotient = w.where(quotient, ComparisonCode.EQUAL, quotient, quotient, w.value(0.0))
    far = w.do("addf", w.do("log", total), quotient)
    near = w.do("addf", x, _CORRECTIONS[w.scalar](w, x))
    away = w.do("absf", w.do("subf", x, LOG1P_MIDDLE))
    return w.where(away, ComparisonCode.LESS_THAN, LOG1P_AROUND, near, far)


def _correction_f32(w: Writer, x: Val) -> Val:
    """Compute log(1 + x) - x."""
    square = w.do("mulf", x, x)
    cubic = w.do("mulf", w.do("mulf", square, x), w.horner(x, LOG_F32))
    return w.do("fma", square, -0.5, cubic)


def _correction_f64(w: Writer, x: Val) -> Val:
    """Return the correction of the logarithm by 2 atanh(s) with s = x / (2 + x)."""
    s = w.do("divf", x, w.do("addf", x, 2.0))
    square, half = w.do("mulf", s, s), w.do("mulf", w.do("mulf", x, x), 0.5)
    inner = w.do("fma", square, w.horner(square, LOG_F64), half)
    return w.do("fma", s, inner, w.do("negf", half))


_CORRECTIONS: dict[ScalarType, Function] = {F32: _correction_f32, F64: _correction_f64}


def cbrt(w: Writer, x: Val) -> Val:
    """Compute the cube root: a guess from the bits, Halley's iteration, a step of Newton."""
    magnitude = w.do("absf", x)
    bound, exponent = CBRT_SMALL[w.scalar]
    scaled = w.do("mulf", magnitude, 2.0**exponent)
    a = w.where(magnitude, ComparisonCode.LESS_THAN, bound, scaled, magnitude)
    t = w.third_of_bits(a, CBRT_GUESS[w.scalar])
    for _ in range(CBRT_HALLEY[w.scalar]):
        q = w.divided(a, w.do("mulf", t, t))
        t = w.do("mulf", t, w.divided(w.do("fma", q, 2.0, t), w.do("fma", t, 2.0, q)))
    square = w.do("mulf", t, t)
    error = w.do("fma", t, t, w.do("negf", square))
    residual = w.do("fma", w.do("negf", square), t, a)
    residual = w.do("fma", w.do("negf", error), t, residual)
    t = w.do("addf", t, w.divided(residual, w.do("mulf", square, 3.0)))
    unscaled = w.do("mulf", t, 2.0 ** -(exponent // 3))
    t = w.where(magnitude, ComparisonCode.LESS_THAN, bound, unscaled, t)
    t = w.where(x, ComparisonCode.LESS_THAN, 0.0, w.do("negf", t), t)
    t = w.where(magnitude, ComparisonCode.LESS_THAN, math.inf, t, x)
    return w.where(x, ComparisonCode.EQUAL, 0.0, x, t)


def erf(w: Writer, x: Val) -> Val:
    """Return the error function: an odd polynomial up to 1, beyond it 1 - 2**q, a small power."""
    magnitude = w.do("absf", x)
    near = w.do("fma", x, w.horner(w.do("mulf", x, x), ERF[w.name]), x)
    one = ERF_ONE[w.name]
    beyond = w.do("subf", w.where(magnitude, ComparisonCode.GREATER_THAN, one, one, magnitude), 1.0)
    exponent = w.do("mulf", beyond, w.horner(beyond, ERFC[w.name]))
    flushing = {"flush_to_zero": True} if w.scalar is F32 else {}
    far = w.do("fma", w.do("exp2", exponent, **flushing), -ERFC_1, 1.0)
    far = w.where(x, ComparisonCode.LESS_THAN, 0.0, w.do("negf", far), far)
    return w.where(magnitude, ComparisonCode.LESS_THAN, 1.0, near, far)


def round_half_even(w: Writer, x: Val) -> Val:
    """Return the nearest whole number, the even one of two, with the sign of x.

    A magnitude that is added to the first number from which on all are whole is rounded to a whole
    one. NaN and numbers that are whole already stay as they are.
    """
    first_whole = 2.0 ** FRACTION[w.scalar]
    magnitude = w.do("absf", x)
    near = w.do("subf", w.do("addf", magnitude, first_whole), first_whole)
    found = w.where(magnitude, ComparisonCode.LESS_THAN, first_whole, near, magnitude)
    return w.signed(found, x)


def _composed(function: Function) -> Rule:
    """Return the rule of a function; smaller floats are computed in f32 and rounded once."""

    def rule(em: TileEmitter, op: Op) -> Sequence[Val]:
        (arg,) = em.all(op)
        kind = tile(arg)
        if kind.scalar in WHOLE:
            return (function(Writer(em, kind), arg),)
        wide = kind.of(F32)
        result = function(Writer(em, wide), em.one("ftof", wide, arg))
        return (em.one("ftof", kind, result),)

    return rule


COMPOSED: dict[str, Rule] = {
    "expm1": _composed(expm1),
    "log1p": _composed(log1p),
    "cbrt": _composed(cbrt),
    "erf": _composed(erf),
    "round": _composed(round_half_even),
}
