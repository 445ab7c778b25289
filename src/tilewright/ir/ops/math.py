"""Elementary functions on floats. f16 and bf16 compute in f32 and round once at the end."""

from __future__ import annotations

from ..attrs import Rounding
from ..opdef import OpDef, declare
from .rules import is_float, same


def _fn(name: str, doc: str, operands: str = "arg", **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_float), doc, attrs=attrs)


OPS = (
    _fn("ceil", "The least integer not below arg."),
    _fn("floor", "The greatest integer not above arg."),
    _fn("sin", "Sine."),
    _fn("cos", "Cosine."),
    _fn("tan", "Tangent."),
    _fn("sinh", "Hyperbolic sine."),
    _fn("cosh", "Hyperbolic cosine."),
    _fn("tanh", "Hyperbolic tangent.", rounding=Rounding.FULL),
    _fn("exp", "e to the arg.", rounding=Rounding.FULL),
    _fn("expm1", "e to the arg, minus 1."),
    _fn("exp2", "2 to the arg.", ftz=False),
    _fn("log", "Natural logarithm."),
    _fn("log1p", "Natural logarithm of 1 + arg."),
    _fn("log2", "Logarithm to base 2."),
    _fn("sqrt", "Square root.", rounding=Rounding.NEAREST_EVEN, ftz=False),
    _fn("rsqrt", "1 / sqrt(arg).", ftz=False),
    _fn("erf", "Error function: 2 / sqrt(pi) times the integral of e**-t**2 from 0 to arg."),
    _fn("pow", "lhs to the power rhs.", "lhs rhs"),
    _fn("atan2", "The angle of the point (rhs, lhs): lhs is the numerator.", "lhs rhs"),
)  # fmt: skip
