"""sinh, cosh, tanh: from e^|x| where that loses nothing, else by an odd polynomial."""

from __future__ import annotations

from .exponential import clamp, exp_parts
from .scaling import scale, scale_normal
from .text import Function, Value, absolute, constant, copysign, fma, horner, signed, where

SINH_F64 = (
    0.16666666666666666, 0.008333333333333333, 0.000198412698412696, 2.755731922411629e-06,
    2.5052108346509174e-08, 1.6059050601239818e-10, 7.646482897148948e-13, 2.8482329732039093e-15,
)  # fmt: skip
"""(sinh(x) / x - 1) / x^2 in x^2, for |x| <= 1."""
TANH = {
    "float": (-0.33333298563957214, 0.13331924378871918, -0.05378387123346329,
              0.020796053111553192, -0.005895197857171297),
    "double": (-0.3333333333333333, 0.13333333333333067, -0.05396825396804399,
               0.02186948852783969, -0.008863235336540006, 0.003592125166629838,
               -0.0014558058806966626, 0.0005898332119412073, -0.00023821463716123455,
               9.396815501897528e-05, -3.296670941795875e-05, 7.448994875721695e-06),
}  # fmt: skip
"""(tanh(x) / x - 1) / x^2 in x^2, for |x| <= 0.6 (f32) and 0.55 (f64)."""
TANH_SMALL = {"float": 0.6, "double": 0.55}
TANH_ONE = {"float": 20.0, "double": 40.0}
"""Where 2x is this large, tanh(x) rounds to 1."""


def odd(x: Value, coefficients: tuple[float, ...]) -> Value:
    """x + x^3 P(x^2)."""
    square = x * x
    return fma(square * x, horner(square, coefficients), x)


def half_exp(x: Value) -> Value:
    """e^x / 2 for x >= 0; it overflows only where sinh and cosh do."""
    significand, exponent = exp_parts(clamp(x, 0.0, 712.0))
    return scale(significand * 0.5, exponent)


def sinh_f64(x: Value) -> Value:
    """Hyperbolic sine."""
    magnitude = absolute(x)
    half = half_exp(magnitude)
    result = where(magnitude < 1.0, odd(magnitude, SINH_F64), half - 0.25 / half)
    return copysign(result, x)


def cosh_f64(x: Value) -> Value:
    """Hyperbolic cosine."""
    half = half_exp(absolute(x))
    return half + 0.25 / half


def tanh(x: Value) -> Value:
    """Hyperbolic tangent: 1 - 2 / (e^2x + 1), or the polynomial."""
    magnitude = absolute(x)
    double = magnitude + magnitude
    limit = TANH_ONE[x.elem]
    significand, exponent = exp_parts(where(double > limit, constant(x, limit), double))
    power = scale_normal(significand, exponent)
    small = odd(magnitude, TANH[x.elem])
    result = where(magnitude < TANH_SMALL[x.elem], small, 1.0 - 2.0 / (power + 1.0))
    return copysign(result, x)


def sinh_f32(x: Value) -> Value:
    """Hyperbolic sine, computed in f64."""
    return signed(sinh_f64(x.extend()), x)


def cosh_f32(x: Value) -> Value:
    """Hyperbolic cosine, computed in f64."""
    return cosh_f64(x.extend()).truncate()


FUNCTIONS = {
    "sinh": Function(1, {"f32": sinh_f32, "f64": sinh_f64}, {"f32": 0.51, "f64": 1.9}),
    "cosh": Function(1, {"f32": cosh_f32, "f64": cosh_f64}, {"f32": 0.51, "f64": 1.6}),
    "tanh": Function(1, {"f32": tanh, "f64": tanh}, {"f32": 1.5, "f64": 1.6}),
}
