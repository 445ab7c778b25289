"""log, log1p, log2: x = 2^e m with m in [sqrt(1/2), sqrt(2)), a polynomial for log m, e added.

log(1 + f) is f plus a small correction, so that its rounding errors hardly count near x = 1.
"""

from __future__ import annotations

from ....base.polynomials import LN2, LOG_F32, LOG_F64
from .text import (
    BIAS,
    FRACTION_BITS,
    MANGLED,
    Function,
    Value,
    constant,
    float_of,
    fma,
    horner,
    where,
)

SQRT_HALF = 0.7071067811865476
LOG2E_PARTS = {"float": (1.4426950216293335, 1.925963033500011e-08),
               "double": (1.4426950408889634, 2.0355273740931033e-17)}  # fmt: skip
"""1 / ln 2 as a sum of two floats."""


def split(x: Value) -> tuple[Value, Value]:
    """Exponent e (as a float) and f = m - 1 of a positive finite x = 2^e m."""
    fraction = FRACTION_BITS[x.elem]
    tiny = x < 2.0 ** (1 - BIAS[x.elem])
    bits = where(tiny, x * 2.0**fraction, x).bits()
    exponent = (bits - constant(x, SQRT_HALF).bits()).ashr(fraction)
    m = (bits - (exponent << fraction)).as_float()
    exponent = where(tiny, exponent - fraction, exponent)
    return float_of(exponent), m - 1.0


def correction_f32(f: Value) -> Value:
    """log(1 + f) - f."""
    square = f * f
    return fma(square * f, horner(f, LOG_F32), square * -0.5)


def correction_f64(f: Value) -> Value:
    """log(1 + f) - f, by 2 atanh(s) with s = f / (2 + f)."""
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    return fma(s, fma(square, horner(square, LOG_F64), half), -half)


CORRECTION = {"float": correction_f32, "double": correction_f64}


def with_special_cases(x: Value, result: Value) -> Value:
    """Minus infinity at 0, infinity at infinity, NaN below 0 and for NaN."""
    result = where(x.eq(float("inf")), x, result)
    result = where(x.eq(0.0), constant(x, float("-inf")), result)
    return where(x.compare("ult", "ult", 0.0), constant(x, float("nan")), result)


def log_positive(x: Value, more: Value | None = None) -> Value:
    """The natural logarithm of a positive finite number; `more` is a small summand."""
    high, low = LN2[MANGLED[x.elem]]
    e, f = split(x)
    correction = CORRECTION[x.elem](f)
    return fma(e, high, f + fma(e, low, correction if more is None else correction + more))


def log2_positive(x: Value) -> Value:
    """The logarithm to base 2 of a positive finite number; exact for powers of two."""
    high, low = LOG2E_PARTS[x.elem]
    e, f = split(x)
    return e + fma(f, high, fma(f, low, CORRECTION[x.elem](f) * high))


def log(x: Value) -> Value:
    """The natural logarithm."""
    return with_special_cases(x, log_positive(x))


def log1p(x: Value) -> Value:
    """The natural logarithm of 1 + x: what that sum had to leave out counts by its quotient."""
    total = x + 1.0
    added = total - 1.0
    rest = (1.0 - (total - added)) + (x - added)
    result = with_special_cases(total, log_positive(total, rest / total))
    # Adding up loses the sign of zero.
    return where(x.eq(0.0), x, result)


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    return with_special_cases(x, log2_positive(x))


FUNCTIONS = {
    "log": Function(1, {"f32": log, "f64": log}, {"f32": 1.0, "f64": 1.0}),
    "log1p": Function(1, {"f32": log1p, "f64": log1p}, {"f32": 1.0, "f64": 1.0}),
    "log2": Function(1, {"f32": log2, "f64": log2}, {"f32": 1.1, "f64": 1.2}),
}
