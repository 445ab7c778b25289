"""exp and exp2: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial for e^r, then a shift by n.

The polynomials minimize the relative error (found by Remez exchange in 70 digits, then rounded).
"""

from __future__ import annotations

from .scaling import Exponent, nearest, scale
from .text import Function, Value, constant, fma, horner, where

LN2 = {"float": (0.6931471824645996, -1.9046542121259336e-09),
       "double": (0.6931471805599453, 2.3190468138462996e-17)}  # fmt: skip
"""The natural logarithm of 2 as a sum of two floats."""
LOG2E = 1.4426950408889634

EXP_F32 = (
    0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368716575205326,
    0.0013814626727253199,
)  # fmt: skip
"""(e^r - 1 - r) / r^2."""
EXP_F64 = (
    0.5, 0.16666666666666682, 0.041666666666666095, 0.008333333333317039, 0.0013888888889115993,
    0.00019841269896375582, 2.4801586925946926e-05, 2.7557234868898975e-06,
    2.7557582404382636e-07, 2.5112034758079434e-08, 2.082646429836284e-09,
)  # fmt: skip
EXP2_F32 = (
    0.6931471824645996, 0.24022647738456726, 0.055503323674201965, 0.009618442505598068,
    0.001339888316579163, 0.00015352187620010227,
)  # fmt: skip
"""(2^r - 1) / r."""


def clamp(x: Value, low: float, high: float) -> Value:
    """Into [low, high]; NaN stays."""
    x = where(x > high, constant(x, high), x)
    return where(x < low, constant(x, low), x)


def exp_reduced(r: Value) -> Value:
    """e^r for |r| <= ln 2 / 2."""
    return horner(r, (1.0, 1.0, *(EXP_F32 if r.elem == "float" else EXP_F64)))


def exp_parts(x: Value) -> tuple[Value, Exponent]:
    """e^x as a float near 1 and the exponent of a power of two to multiply it with."""
    high, low = LN2[x.elem]
    exponent = nearest(x, LOG2E)
    n = exponent.number
    # The first product cancels against x without error, so r is as exact as a float can be.
    return exp_reduced(fma(n, -low, fma(n, -high, x))), exponent


def exp2_reduced_f64(r: Value, low: Value | None = None) -> Value:
    """2^(r + low) for |r| <= 1/2 and a tiny low."""
    high, rest = LN2["double"]
    tail = r * rest
    return exp_reduced(fma(r, high, tail if low is None else fma(low, high, tail)))


def exp_f32(x: Value) -> Value:
    """e^x. The clamp's ends give 0 and infinity."""
    return scale(*exp_parts(clamp(x, -104.0, 89.0)))


def exp_f64(x: Value) -> Value:
    """e^x."""
    return scale(*exp_parts(clamp(x, -746.0, 710.0)))


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
    "exp2": Function(1, {"f32": exp2_f32, "f64": exp2_f64}, {"f32": 1.1, "f64": 1.1}),
}
