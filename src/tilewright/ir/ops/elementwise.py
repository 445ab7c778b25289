"""Elementwise ops: arithmetic, math functions, comparisons, bits, conversions."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import AnyDType, bool_, f4e2m1fn, f4e2m1fnx2
from ..attrs import Overflow, Rounding
from ..opdef import OpDef, declare
from ..types import Type
from .rules import Attrs, compare, convert, is_bits, is_float, is_int, need, number, same, tile

# -------------------------------------------------------------------------------------------------
# Arithmetic. Integer ops are total: they wrap, x / 0 = 0, MIN / -1 = MIN.

ROUNDED = {"rounding": Rounding.NEAREST_EVEN, "ftz": False}
WRAPPING = {"overflow": Overflow.NONE}


def _float(name: str, operands: str, doc: str, **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_float), doc, attrs=attrs)


def _int(name: str, operands: str, doc: str, **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_int), doc, attrs=attrs)


ARITHMETIC_OPS = (
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


# -------------------------------------------------------------------------------------------------
# Elementary functions on floats. f16 and bf16 compute in f32 and round once at the end.


def _fn(name: str, doc: str, operands: str = "arg", **attrs: object) -> OpDef:
    return declare(name, "core", operands, same(is_float), doc, attrs=attrs)


MATH_OPS = (
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


# -------------------------------------------------------------------------------------------------
# Comparisons and selection, elementwise.


def _select(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    cond, a, b = tile(types[0]), tile(types[1]), tile(types[2])
    need(cond == a.with_elem(bool_), f"condition {cond} does not fit {a}")
    need(a == b, f"choices differ: {a}, {b}")
    return (a,)


COMPARISON_OPS = (
    declare("cmpi", "core", "lhs rhs", compare(is_bits),
            "Compares integers (by their signedness) or booleans.", attrs={"predicate": None}),
    declare("cmpf", "core", "lhs rhs", compare(is_float),
            "Compares floats; with a NaN the answer is `unordered`.",
            attrs={"predicate": None, "unordered": False}),
    declare("select", "core", "cond a b", _select, "a where cond, else b."),
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Bitwise ops on integers and booleans. Shifts by the width or more are 0, or the sign.

BITWISE_OPS = (
    declare("andi", "core", "lhs rhs", same(is_bits), "lhs & rhs."),
    declare("ori", "core", "lhs rhs", same(is_bits), "lhs | rhs."),
    declare("xori", "core", "lhs rhs", same(is_bits), "lhs ^ rhs."),
    declare("noti", "core", "arg", same(is_bits), "All bits inverted; logical not of booleans."),
    declare("shli", "core", "lhs rhs", same(is_int),
            "lhs << rhs; rhs read as unsigned, width or more gives 0.",
            attrs={"overflow": Overflow.NONE}),
    declare("shri", "core", "lhs rhs", same(is_int),
            "lhs >> rhs, arithmetic for signed types; rhs read as unsigned, width or more gives 0"
            " or the sign."),
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Conversions between element types.


def _any_float(d: AnyDType) -> bool:
    return d.is_float


def _bitcast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.bits == to.bits, f"bit widths differ: {arg}, {to}")
    return (arg.with_elem(to),)


def _exti(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(is_bits(arg.dtype) and to.is_int and to.bits > arg.dtype.bits, f"{arg} is not narrower")
    return (arg.with_elem(to),)


def _trunci(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.is_int and to.is_int and to.bits < arg.dtype.bits, f"{arg} is not wider")
    return (arg.with_elem(to),)


def _unpack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fnx2 and arg.rank >= 1, f"cannot unpack {arg}")
    return (arg.with_elem(f4e2m1fn).with_shape((*arg.shape[:-1], arg.shape[-1] * 2)),)


def _pack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fn and arg.rank >= 1 and arg.shape[-1] % 2 == 0, f"cannot pack {arg}")
    return (arg.with_elem(f4e2m1fnx2).with_shape((*arg.shape[:-1], arg.shape[-1] // 2)),)


TO = {"to": None}

CONVERSION_OPS = (
    declare("ftof", "core", "arg", convert(_any_float, _any_float),
            "Float to another float type, rounded once.",
            attrs=TO | {"rounding": Rounding.NEAREST_EVEN}),
    declare("ftoi", "core", "arg", convert(_any_float, is_int),
            "Float to integer, toward zero, saturating; NaN gives 0.", attrs=TO),
    declare("itof", "core", "arg", convert(is_bits, _any_float),
            "Integer or bool to float, rounded to nearest even.", attrs=TO),
    declare("exti", "core", "arg", _exti,
            "To a wider integer, by the source's sign; bool gives 0 or 1.", attrs=TO),
    declare("trunci", "core", "arg", _trunci, "To a narrower integer, dropping high bits.",
            attrs=TO | {"overflow": Overflow.NONE}),
    declare("bitcast", "core", "arg", _bitcast, "The same bits read as another type.", attrs=TO),
    declare("unpack", "core", "arg", _unpack,
            "Packed pairs to twice as many f4 along the last axis, low half first."),
    declare("pack", "core", "arg", _pack,
            "Neighbouring f4 along the last axis to packed pairs, the first in the low half."),
)  # fmt: skip


OPS = (*ARITHMETIC_OPS, *MATH_OPS, *COMPARISON_OPS, *BITWISE_OPS, *CONVERSION_OPS)
"""All ops of the family."""
