"""Needed precision: let functions be approximated whose last bits no result shows.

Goals: a kernel that keeps floats of 16 bits computes them in f32, by functions that may be as fast
as a GPU has them. This pass notes on each function how many bits of its result matter (`bits`), as
`analysis.needed_precision` finds; each backend takes the fastest form that keeps so many.

Non-goals: f64, f32 that is kept, `precise=True`; sums and products, which are exact to the last bit
everywhere.

Rules:

1. 1 + tanh(u), of which few bits matter: it cancels where u is negative, its equal does not, and
   needs no more than a power of two and a division, both of which may be approximated.
       %t = tanh %u; addf %t, 1   ->  2 / (1 + exp(-2 %u))
       %t = tanh %u; subf 1, %t   ->  2 / (1 + exp(2 %u))
   1 + erf(u) likewise, where an error of 2**-14 is hidden: for negative u it is a power
   of two, of a polynomial in |u|, and for others 2 less that.
       %t = erf %u; addf %t, 1    ->  %u < 0 ? 2**p(|%u|) : 2 - 2**p(|%u|)
2. A function of which only so many bits matter: they are noted on it.
       exp %x                     ->  exp %x {bits=17}
3. A quotient or root of which only so many bits matter, by or of a sum of a normal constant and
   what is not below zero: it need not care for subnormal numbers, nor a quotient for a divisor so
   large that its reciprocal is subnormal. Such a reciprocal is 0.
       %s = addf (exp %y), 1; divf %x, %s   ->  divf %x, %s {rounding=approx, bits=17}
       %s = addf (mulf %y, %y), c; rsqrt %s ->  rsqrt %s {ftz=True, bits=17}
4. A power of e of a number times a constant, of which only so many bits matter: the constant takes
   the logarithm in, by which GPUs would multiply.
       exp (mulf %x, c)           ->  exp2 (mulf %x, c log2(e)) {bits=17}
5. A quotient by a constant, of which only so many bits matter: a product with its reciprocal, which
   is within 1.5 ulp where both are normal numbers.
       divf %x, c                 ->  mulf %x, 1 / c
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..analysis.dataflow import Constants, constants
from ..analysis.needed_precision import LEAST, NeededPrecision, is_approximable, tolerance_of
from ..analysis.ranges import signs
from ..analysis.structure import structure, use_counts
from ..base.dtypes import f16, f32, round_to
from ..base.polynomials import LOG_ERFC, LOG_ERFC_END
from ..ir.attrs import Predicate, Rounding
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Func, Op, Value
from ..ir.opdef import OpDef, Trait
from ..ir.ops.elementwise import ADDF, DIVF, ERF, EXP, MULF, RSQRT, SQRT, SUBF, TANH

LEAST_NORMAL = 2.0**-126
"""The least normal f32."""
ONLY_NORMAL: dict[OpDef, dict[str, Any]] = {
    DIVF: {"rounding": Rounding.APPROX}, SQRT: {"ftz": True}, RSQRT: {"ftz": True},
}  # fmt: skip
"""The attributes of ops whose last operand is a normal number (Rule 3)."""


def needed_precision(func: Func) -> Func:
    """Note on each function how many bits of its result matter, if not all do."""
    func = _without_cancellation(func)
    bits = NeededPrecision(func).bits()
    if not bits:
        return func
    operands = _Operands(func)

    def visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op not in bits:
            return None
        scaled = operands.scaled(op) if op.is_a(EXP) else None
        if scaled is not None:
            x, factor = scaled
            number = r.constant(factor, f32, x.tile.shape)
            return (r.emit("exp2", r.emit("mulf", r.get(x), number), bits=bits[op]),)
        reciprocal = operands.reciprocal(op) if op.is_a(DIVF) else None
        if reciprocal is not None:
            number = r.constant(reciprocal, f32, op.result.tile.shape)
            return (r.emit("mulf", r.get(op.one("lhs")), number),)
        noted: dict[str, Any] = {**op.attrs, "bits": bits[op]}
        if op.is_a(*ONLY_NORMAL) and operands.is_normal(op.operands[-1]):
            noted |= ONLY_NORMAL[op.defn]
        return r.op(op.name, *r.many(op.operands), **noted).results

    return rewrite(func, visit)


class _Operands:
    """What is known of the operands of functions."""

    def __init__(self, func: Func) -> None:
        self.nesting = structure(func)
        self.numbers = constants(func)
        self.signs = signs(func)

    def scaled(self, op: Op) -> tuple[Value, float] | None:
        """Return x and c log2(e), rounded to f32, of an f32 exponential of x c (Rule 4)."""
        made = self.nesting.definer(op.one("arg"))
        if made is None or not made.is_a(MULF) or made.result.tile.dtype is not f32:
            return None
        for x, c in (made.operands, made.operands[::-1]):
            number = self.numbers.get(c)
            if number is not None and x not in self.numbers:
                factor = round_to(f32, number * math.log2(math.e))
                return (x, factor) if math.isfinite(factor) else None
        return None

    def reciprocal(self, op: Op) -> float | None:
        """Return the reciprocal of the constant that an f32 division divides by (Rule 5)."""
        number = abs(self.numbers.get(op.one("rhs"), 0.0))
        if op.result.tile.dtype is not f32 or not LEAST_NORMAL <= number <= 1 / LEAST_NORMAL:
            return None
        return round_to(f32, 1.0 / self.numbers[op.one("rhs")])

    def is_normal(self, value: Value) -> bool:
        """Return whether a value is always a normal f32, infinity or NaN (Rule 3)."""
        made = self.nesting.definer(value)
        while made is not None and made.has(Trait.REARRANGES):
            made = self.nesting.definer(made.operands[0])
        if made is None or not made.is_a(ADDF) or made.result.tile.dtype is not f32:
            return False
        return any(
            self.numbers.get(a, 0.0) >= LEAST_NORMAL and self.signs.get(b) == 1
            for a, b in (made.operands, made.operands[::-1])
        )


# -------------------------------------------------------------------------------------------------
# Rule 1: sums of 1 and a function that tends to -1.


def _without_cancellation(func: Func) -> Func:
    found = _sums(func)

    def visit(r: Rewriter, op: Op) -> Sequence[Value] | None:
        function = found.get(op)
        if function is None:
            return None
        _, formula = FORMULAS[function.defn]
        x = r.get(function.one("arg"))
        return (formula(r, x if op.is_a(ADDF) else r.emit("negf", x)),)

    return rewrite(func, visit) if found else func


def _sums(func: Func) -> dict[Op, Op]:
    """Return the sums that Rule 1 replaces, each with its function, which is used there alone."""
    if not any(op.is_a(*FORMULAS) for op in func.walk()):
        return {}
    nesting, uses = structure(func), use_counts(func)
    numbers, needed = constants(func), NeededPrecision(func)
    found: dict[Op, Op] = {}
    for op in func.walk():
        term = _term_beside_one(op, numbers) if op.is_a(ADDF, SUBF) else None
        function = None if term is None else nesting.definer(term)
        if function is None or not function.is_a(*FORMULAS) or uses[function.result] > 1:
            continue
        least, _ = FORMULAS[function.defn]
        is_f32 = op.result.tile.dtype is f32
        if is_f32 and is_approximable(function) and needed.of(op.result) >= least:
            found[op] = function
    return found


def _term_beside_one(op: Op, numbers: Constants) -> Value | None:
    """Return x of the sums 1 + x, x + 1 and 1 - x, rounded to nearest."""
    if op.attrs["rounding"] is not Rounding.NEAREST_EVEN:
        return None
    lhs, rhs = op.operands
    if numbers.get(lhs) == 1.0:
        return rhs
    return lhs if op.is_a(ADDF) and numbers.get(rhs) == 1.0 else None


def _logistic(r: Rewriter, x: Value) -> Value:
    """Emit 1 + tanh(x) = 2 * (1 / (1 + exp(-2 x)))."""
    number = _numbers(r, x)
    power = r.emit("exp", r.emit("mulf", x, number(-2.0)))
    sum_ = r.emit("addf", power, number(1.0))
    share = r.emit("divf", number(1.0), sum_, rounding=Rounding.FULL)
    return r.emit("mulf", share, number(2.0))


def _erfc(r: Rewriter, x: Value) -> Value:
    """Emit 1 + erf(x) = 1 - erf(-x), which is small where x is negative."""
    number = _numbers(r, x)
    size = r.emit("absf", x)
    # Beyond its end the polynomial is not one of the function; the exponent goes on falling.
    inside = r.emit("minf", size, number(LOG_ERFC_END))
    slope = number(LOG_ERFC[-1])
    for coefficient in LOG_ERFC[-2::-1]:
        slope = r.emit("fma", slope, inside, number(coefficient))
    tail = r.emit("exp2", r.emit("mulf", size, slope))
    negative = r.emit("cmpf", x, number(0.0), predicate=Predicate.LT)
    return r.emit("select", negative, tail, r.emit("subf", number(2.0), tail))


def _numbers(r: Rewriter, like: Value) -> Callable[[float], Value]:
    """Return a function that makes tiles of one number, of the type of another tile."""

    def number(value: float) -> Value:
        return r.constant(round_to(f32, value), f32, like.tile.shape)

    return number


FORMULAS: dict[OpDef, tuple[float, Callable[[Rewriter, Value], Value]]] = {
    TANH: (LEAST, _logistic),
    ERF: (tolerance_of(f16), _erfc),
}
"""1 + f(x) for an odd function f, and how far off its result may be at least."""
