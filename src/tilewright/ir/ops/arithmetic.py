"""Arithmetic, elementwise. Integer ops are total: they wrap, x / 0 = 0, MIN / -1 = MIN."""

from __future__ import annotations

from ..attrs import Overflow, Rounding
from ..opdef import OpDef, declare
from .rules import is_float, is_int, same

ROUNDED = {"rounding": Rounding.NEAREST_EVEN, "ftz": False}
WRAPPING = {"overflow": Overflow.NONE}


def _float(name: str, operands: str, doc: str, **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_float), doc, attrs=attrs)


def _int(name: str, operands: str, doc: str, **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_int), doc, attrs=attrs)


OPS = (
    _float("addf", "lhs rhs", "lhs + rhs, rounded once.", **ROUNDED),
    _float("subf", "lhs rhs", "lhs - rhs, rounded once.", **ROUNDED),
    _float("mulf", "lhs rhs", "lhs * rhs, rounded once.", **ROUNDED),
    _float("divf", "lhs rhs", "lhs / rhs.", **ROUNDED),
    _float("fma", "lhs rhs acc", "lhs * rhs + acc, rounded once.", **ROUNDED),
    _float("remf", "lhs rhs", "lhs - trunc(lhs / rhs) * rhs, with the sign of lhs."),
    _float("negf", "arg", "-arg."),
    _float("absf", "arg", "The absolute value."),
    _float("maxf", "lhs rhs", "The greater; NaN wins if `nan`, else loses; +0 > -0.",
           nan=True, ftz=False),
    _float("minf", "lhs rhs", "The lesser; NaN wins if `nan`, else loses; -0 < +0.",
           nan=True, ftz=False),
    _int("addi", "lhs rhs", "lhs + rhs, wrapping.", **WRAPPING),
    _int("subi", "lhs rhs", "lhs - rhs, wrapping.", **WRAPPING),
    _int("muli", "lhs rhs", "lhs * rhs, wrapping.", **WRAPPING),
    _int("divi", "lhs rhs", "lhs / rhs rounded (zero, neg_inf or pos_inf); x / 0 = 0,"
         " MIN / -1 = MIN.", rounding=Rounding.ZERO),
    _int("remi", "lhs rhs", "lhs - divi(lhs, rhs) * rhs with the same rounding (zero or neg_inf);"
         " x rem 0 = x.", rounding=Rounding.ZERO),
    _int("mulhi", "lhs rhs", "The high half of the product, both read as unsigned."),
    _int("negi", "arg", "-arg, wrapping.", **WRAPPING),
    _int("absi", "arg", "The absolute value, wrapping; of unsigned: arg."),
    _int("maxi", "lhs rhs", "The greater."),
    _int("mini", "lhs rhs", "The lesser."),
)  # fmt: skip
