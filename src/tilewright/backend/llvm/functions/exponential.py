"""exp, expm1 and exp2: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial for e^r, a shift by n."""

from __future__ import annotations

from ....base.polynomials import EXP, EXP2_F32, LN2, LOG2E
from .scaling import Exponent, half_power, nearest, scale
from .text import MANGLED, Function, Value, absolute, constant, fma, horner, where

EXPM1_ENDS = {"float": (-30.0, 89.0), "double": (-60.0, 710.0)}
"""Where e^x - 1 is -1 and infinity."""
EXPM1_SMALL = {"float": 2.0**-25, "double": 2.0**-54}
"""Below it e^x - 1 rounds to x, or to its neighbour."""


def clamp(x: Value, low: float, high: float) -> Value:
    """Into [low, high]; NaN stays."""
    x = where(x > high, constant(x, high), x)
    return where(x < low, constant(x, low), x)


def exp_reduced(r: Value) -> Value:
    """e^r for |r| <= ln 2 / 2."""
    return horner(r, (1.0, 1.0, *EXP[MANGLED[r.elem]]))


def exp_parts(x: Value) -> tuple[Value, Exponent]:
    """e^x as a float near 1 and the exponent of a power of two to multiply it with."""
    high, low = LN2[MANGLED[x.elem]]
    exponent = nearest(x, LOG2E)
    n = exponent.number
    # The first product cancels against x without error, so r is as exact as a float can be.
    return exp_reduced(fma(n, -low, fma(n, -high, x))), exponent


def exp2_reduced_f64(r: Value, low: Value | None = None) -> Value:
    """2^(r + low) for |r| <= 1/2 and a tiny low."""
    high, rest = LN2["f64"]
    tail = r * rest
    return exp_reduced(fma(r, high, tail if low is None else fma(low, high, tail)))


def exp_f32(x: Value) -> Value:
    """e^x. The clamp's ends give 0 and infinity."""
    return scale(*exp_parts(clamp(x, -104.0, 89.0)))


def exp_f64(x: Value) -> Value:
    """e^x."""
    return scale(*exp_parts(clamp(x, -746.0, 710.0)))


def expm1(x: Value) -> Value:
    """e^x - 1 = 2^n (e^r - 1) + (2^n - 1), in halves, since 2^n may overflow where that does not.

    r has a part that is exact, and a small one that enters the sum with all that is small.
    """
    high, low = LN2[MANGLED[x.elem]]
    inside = clamp(x, *EXPM1_ENDS[x.elem])
    exponent = nearest(inside, LOG2E)
    n = exponent.number
    exact, rest = fma(n, -high, inside), n * -low
    r = exact + rest
    small = fma(r * r, horner(r, EXP[MANGLED[x.elem]]), rest)
    factor = half_power(exponent)
    half = fma(factor, small, fma(factor, exact, factor - 0.5))
    return where(absolute(x) < EXPM1_SMALL[x.elem], x, half + half)


def exp2_f32(x: Value) -> Value:
    """2^x; exact for integers."""
    x = clamp(x, -151.0, 129.0)
    exponent = nearest(x)
    r = x - exponent.number
    return scale(fma(r, horner(r, EXP2_F32), 1.0), exponent)


def exp2_f64(x: Value) -> Value:
    """2^x; exact for integers."""
    x = clamp(x, -1076.0, 1025.0)
    exponent = nearest(x)
    return scale(exp2_reduced_f64(x - exponent.number), exponent)


FUNCTIONS = {
    "exp": Function(1, {"f32": exp_f32, "f64": exp_f64}, {"f32": 1.1, "f64": 1.1}),
    "expm1": Function(1, {"f32": expm1, "f64": expm1}, {"f32": 1.3, "f64": 1.3}),
    "exp2": Function(1, {"f32": exp2_f32, "f64": exp2_f64}, {"f32": 1.1, "f64": 1.1}),
}
