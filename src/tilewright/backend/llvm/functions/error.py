"""erf: an odd polynomial up to 1; beyond it 1 - 2^q, a small power of another polynomial."""

from __future__ import annotations

from ....base.polynomials import ERF, ERF_ONE, ERFC, ERFC_1, EXP2_F32
from .exponential import exp2_reduced_f64
from .scaling import nearest, scale_normal
from .text import MANGLED, Function, Value, absolute, constant, copysign, fma, horner, where


def power_of_two(x: Value) -> Value:
    """2^x, which is a normal number."""
    exponent = nearest(x)
    r = x - exponent.number
    near = fma(r, horner(r, EXP2_F32), 1.0) if x.elem == "float" else exp2_reduced_f64(r)
    return scale_normal(near, exponent)


def erf(x: Value) -> Value:
    """The error function."""
    name = MANGLED[x.elem]
    magnitude, one = absolute(x), ERF_ONE[name]
    near = fma(x, horner(x * x, ERF[name]), x)
    beyond = where(magnitude > one, constant(x, one), magnitude) - 1.0
    far = fma(power_of_two(beyond * horner(beyond, ERFC[name])), -ERFC_1, 1.0)
    return where(magnitude < 1.0, near, copysign(far, x))


FUNCTIONS = {"erf": Function(1, {"f32": erf, "f64": erf}, {"f32": 1.1, "f64": 1.2})}
