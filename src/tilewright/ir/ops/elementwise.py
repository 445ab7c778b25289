"""Elementwise ops: arithmetic, math functions, comparisons, bits, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType, bool_, f4e2m1fn, f4e2m1fnx2, int_range
from ..attrs import Overflow, Rounding
from ..opdef import (
    Attrs,
    Neutral,
    OpDef,
    Trait,
    compare,
    convert,
    declare,
    is_bits,
    is_float,
    is_int,
    need,
    number,
    same,
    tile,
)
from ..types import Type

# -------------------------------------------------------------------------------------------------
# Arithmetic. Integer ops are total: they wrap, x / 0 = 0, MIN / -1 = MIN.

ROUNDED = {"rounding": Rounding.NEAREST_EVEN, "ftz": False}
WRAPPING = {"overflow": Overflow.NONE}
BITS = {"bits": 0}
"""The bits of the result that matter: its relative error may be 2**-bits; 0 if nothing is known."""
ALL_BITS = 64
"""More bits than any float has: the function must be as exact as the type allows."""


EACH = Trait.ELEMENTWISE | Trait.OF_THREAD
COMBINES = Trait.COMMUTATIVE | Trait.ASSOCIATIVE


def _family(
    accepts: Callable[[AnyDType], bool], common: Trait, usual_cost: int = 1
) -> Callable[..., OpDef]:
    """Return a function that declares ops whose operands and result have one type."""

    def declares(
        name: str,
        operands: str,
        doc: str,
        *,
        traits: Trait = Trait.NONE,
        cost: int = usual_cost,
        neutral: Neutral | None = None,
        conditions: tuple[float, ...] = (),
        **attrs: object,
    ) -> OpDef:
        return declare(
            name, "core", operands, same(accepts), doc,
            attrs=attrs, traits=common | traits, cost=cost, neutral=neutral, conditions=conditions,
        )  # fmt: skip

    return declares


_float = _family(is_float, EACH)
_int = _family(is_int, EACH)


def _always(number: float) -> Neutral:
    """Return one number for all types."""
    return lambda dtype: number


def _limit(end: int) -> Neutral:
    """Return the least or the greatest number of a type."""
    return lambda dtype: int_range(dtype)[end]


def _all_bits(dtype: AnyDType) -> int:
    return True if dtype.is_bool else -1 if dtype.is_signed else int_range(dtype)[1]


def _no_bits(dtype: AnyDType) -> int:
    return False if dtype.is_bool else 0


ADDF = _float(
    "addf",
    "lhs rhs",
    "lhs + rhs, rounded once.",
    **ROUNDED,
    traits=COMBINES,
    neutral=_always(-0.0),
)
SUBF = _float("subf", "lhs rhs", "lhs - rhs, rounded once.", **ROUNDED)
MULF = _float(
    "mulf",
    "lhs rhs",
    "lhs * rhs, rounded once.",
    **ROUNDED,
    traits=COMBINES,
    neutral=_always(1.0),
    conditions=(1.0, 1.0),
)
DIVF = _float("divf", "lhs rhs", "lhs / rhs.", **ROUNDED, **BITS, cost=8, conditions=(1.0, 1.0))
FMA = _float("fma", "lhs rhs acc", "lhs * rhs + acc, rounded once.", **ROUNDED)
REMF = _float("remf", "lhs rhs", "lhs - trunc(lhs / rhs) * rhs, with the sign of lhs.", cost=30)
NEGF = _float("negf", "arg", "-arg.", conditions=(1.0,))
ABSF = _float("absf", "arg", "The absolute value.", traits=Trait.NONNEGATIVE, conditions=(1.0,))
MAXF = _float(
    "maxf",
    "lhs rhs",
    "The greater; NaN wins if `nan`, else loses; +0 > -0.",
    nan=True,
    ftz=False,
    traits=COMBINES,
    neutral=_always(-math.inf),
    conditions=(1.0, 1.0),
)
MINF = _float(
    "minf",
    "lhs rhs",
    "The lesser; NaN wins if `nan`, else loses; -0 < +0.",
    nan=True,
    ftz=False,
    traits=COMBINES,
    neutral=_always(math.inf),
    conditions=(1.0, 1.0),
)
ADDI = _int(
    "addi", "lhs rhs", "lhs + rhs, wrapping.", **WRAPPING, traits=COMBINES, neutral=_always(0)
)
SUBI = _int("subi", "lhs rhs", "lhs - rhs, wrapping.", **WRAPPING)
MULI = _int(
    "muli", "lhs rhs", "lhs * rhs, wrapping.", **WRAPPING, traits=COMBINES, neutral=_always(1)
)
DIVI = _int(
    "divi",
    "lhs rhs",
    "lhs / rhs rounded (zero, neg_inf or pos_inf); x / 0 = 0, MIN / -1 = MIN.",
    rounding=Rounding.ZERO,
    cost=30,
)
REMI = _int(
    "remi",
    "lhs rhs",
    "lhs - divi(lhs, rhs) * rhs with the same rounding (zero or neg_inf); x rem 0 = x.",
    rounding=Rounding.ZERO,
    cost=30,
)
MULHI = _int(
    "mulhi",
    "lhs rhs",
    "The high half of the product, both read as unsigned.",
    traits=Trait.COMMUTATIVE,
)
NEGI = _int("negi", "arg", "-arg, wrapping.", **WRAPPING)
ABSI = _int("absi", "arg", "The absolute value, wrapping; of unsigned: arg.")
MAXI = _int("maxi", "lhs rhs", "The greater.", traits=COMBINES, neutral=_limit(0))
MINI = _int("mini", "lhs rhs", "The lesser.", traits=COMBINES, neutral=_limit(1))

ARITHMETIC_OPS = (
    ADDF,
    SUBF,
    MULF,
    DIVF,
    FMA,
    REMF,
    NEGF,
    ABSF,
    MAXF,
    MINF,
    ADDI,
    SUBI,
    MULI,
    DIVI,
    REMI,
    MULHI,
    NEGI,
    ABSI,
    MAXI,
    MINI,
)


# -------------------------------------------------------------------------------------------------
# Elementary functions on floats. f16 and bf16 compute in f32 and round once at the end.


_exact_fn = _family(is_float, EACH | Trait.MATH, 1)


def _fn(name: str, operands: str, doc: str, **declared: Any) -> OpDef:
    """Declare a function that may be approximated where few bits of its result matter."""
    family = _family(is_float, EACH | Trait.MATH, 20)
    return family(name, operands, doc, **declared, **BITS)


CEIL = _exact_fn("ceil", "arg", "The least integer not below arg.")
FLOOR = _exact_fn("floor", "arg", "The greatest integer not above arg.")
ROUND = _exact_fn("round", "arg", "The nearest integer, the even one of two, with the sign of arg.")
SIN = _fn("sin", "arg", "Sine.")
COS = _fn("cos", "arg", "Cosine.")
TAN = _fn("tan", "arg", "Tangent.")
SINH = _fn("sinh", "arg", "Hyperbolic sine.")
COSH = _fn("cosh", "arg", "Hyperbolic cosine.", traits=Trait.NONNEGATIVE)
TANH = _fn("tanh", "arg", "Hyperbolic tangent.", rounding=Rounding.FULL, conditions=(1.0,))
EXP = _fn("exp", "arg", "e to the arg.", rounding=Rounding.FULL, traits=Trait.NONNEGATIVE)
EXPM1 = _fn("expm1", "arg", "e to the arg, minus 1.")
EXP2 = _fn("exp2", "arg", "2 to the arg.", ftz=False, traits=Trait.NONNEGATIVE)
LOG = _fn("log", "arg", "Natural logarithm.")
LOG1P = _fn("log1p", "arg", "Natural logarithm of 1 + arg.")
LOG2 = _fn("log2", "arg", "Logarithm to base 2.")
SQRT = _fn(
    "sqrt",
    "arg",
    "Square root.",
    rounding=Rounding.NEAREST_EVEN,
    ftz=False,
    cost=8,
    traits=Trait.NONNEGATIVE,
    conditions=(0.5,),
)
RSQRT = _fn(
    "rsqrt", "arg", "1 / sqrt(arg).", ftz=False, traits=Trait.NONNEGATIVE, conditions=(0.5,)
)
CBRT = _fn("cbrt", "arg", "Cube root.", conditions=(1 / 3,))
ERF = _fn(
    "erf",
    "arg",
    "Error function: 2 / sqrt(pi) times the integral of e**-t**2 from 0 to arg.",
    conditions=(1.0,),
)
POW = _fn("pow", "lhs rhs", "lhs to the power rhs.")
ATAN2 = _fn(
    "atan2",
    "lhs rhs",
    "The angle of the point (rhs, lhs): lhs is the numerator.",
    conditions=(1.0, 1.0),
)

MATH_OPS = (
    CEIL,
    FLOOR,
    ROUND,
    SIN,
    COS,
    TAN,
    SINH,
    COSH,
    TANH,
    EXP,
    EXPM1,
    EXP2,
    LOG,
    LOG1P,
    LOG2,
    SQRT,
    RSQRT,
    CBRT,
    ERF,
    POW,
    ATAN2,
)


# -------------------------------------------------------------------------------------------------
# Comparisons and selection, elementwise.


def _select(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    cond, a, b = tile(types[0]), tile(types[1]), tile(types[2])
    need(cond == a.with_elem(bool_), "condition {} does not fit {}", cond, a)
    need(a == b, "choices differ: {}, {}", a, b)
    return (a,)


CMPI = declare(
    "cmpi",
    "core",
    "lhs rhs",
    compare(is_bits),
    "Compares integers (by their signedness) or booleans.",
    attrs={"predicate": None},
    traits=EACH,
)
CMPF = declare(
    "cmpf",
    "core",
    "lhs rhs",
    compare(is_float),
    "Compares floats; with a NaN the answer is `unordered`.",
    attrs={"predicate": None, "unordered": False},
    traits=EACH,
)
SELECT = declare(
    "select",
    "core",
    "cond a b",
    _select,
    "a where cond, else b.",
    traits=EACH,
    conditions=(math.inf, 1.0, 1.0),
)

COMPARISON_OPS = (CMPI, CMPF, SELECT)


# -------------------------------------------------------------------------------------------------
# Bitwise ops on integers and booleans. Shifts by the width or more are 0, or the sign.

ANDI = declare(
    "andi",
    "core",
    "lhs rhs",
    same(is_bits),
    "lhs & rhs.",
    traits=EACH | COMBINES,
    neutral=_all_bits,
)
ORI = declare(
    "ori", "core", "lhs rhs", same(is_bits), "lhs | rhs.", traits=EACH | COMBINES, neutral=_no_bits
)
XORI = declare(
    "xori", "core", "lhs rhs", same(is_bits), "lhs ^ rhs.", traits=EACH | COMBINES, neutral=_no_bits
)
NOTI = declare(
    "noti", "core", "arg", same(is_bits), "All bits inverted; logical not of booleans.", traits=EACH
)
SHLI = declare(
    "shli",
    "core",
    "lhs rhs",
    same(is_int),
    "lhs << rhs; rhs read as unsigned, width or more gives 0.",
    attrs={"overflow": Overflow.NONE},
    traits=EACH,
)
SHRI = declare(
    "shri",
    "core",
    "lhs rhs",
    same(is_int),
    "lhs >> rhs, arithmetic for signed types; rhs read as unsigned, width or more gives 0"
    " or the sign.",
    traits=EACH,
)

BITWISE_OPS = (ANDI, ORI, XORI, NOTI, SHLI, SHRI)


# -------------------------------------------------------------------------------------------------
# Conversions between element types.


def _any_float(d: AnyDType) -> bool:
    return d.is_float


def _bitcast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.bits == to.bits, "bit widths differ: {}, {}", arg, to)
    return (arg.with_elem(to),)


def _exti(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(is_bits(arg.dtype) and to.is_int and to.bits > arg.dtype.bits, "{} is not narrower", arg)
    return (arg.with_elem(to),)


def _trunci(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.is_int and to.is_int and to.bits < arg.dtype.bits, "{} is not wider", arg)
    return (arg.with_elem(to),)


def _unpack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fnx2 and arg.rank >= 1, "cannot unpack {}", arg)
    return (arg.with_elem(f4e2m1fn).with_shape((*arg.shape[:-1], arg.shape[-1] * 2)),)


def _pack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fn and arg.rank >= 1 and arg.shape[-1] % 2 == 0, "cannot pack {}", arg)
    return (arg.with_elem(f4e2m1fnx2).with_shape((*arg.shape[:-1], arg.shape[-1] // 2)),)


TO = {"to": None}

FTOF = declare(
    "ftof",
    "core",
    "arg",
    convert(_any_float, _any_float),
    "Float to another float type, rounded once.",
    attrs=TO | {"rounding": Rounding.NEAREST_EVEN},
    traits=EACH,
    cost=2,
    conditions=(1.0,),
)
FTOI = declare(
    "ftoi",
    "core",
    "arg",
    convert(_any_float, is_int),
    "Float to integer, toward zero, saturating; NaN gives 0.",
    attrs=TO,
    traits=EACH,
)
ITOF = declare(
    "itof",
    "core",
    "arg",
    convert(is_bits, _any_float),
    "Integer or bool to float, rounded to nearest even.",
    attrs=TO,
    traits=EACH,
)
EXTI = declare(
    "exti",
    "core",
    "arg",
    _exti,
    "To a wider integer, by the source's sign; bool gives 0 or 1.",
    attrs=TO,
    traits=EACH,
)
TRUNCI = declare(
    "trunci",
    "core",
    "arg",
    _trunci,
    "To a narrower integer, dropping high bits.",
    attrs=TO | {"overflow": Overflow.NONE},
    traits=EACH,
)
BITCAST = declare(
    "bitcast", "core", "arg", _bitcast, "The same bits read as another type.", attrs=TO, traits=EACH
)
UNPACK = declare(
    "unpack",
    "core",
    "arg",
    _unpack,
    "Packed pairs to twice as many f4 along the last axis, low half first.",
    traits=Trait.OF_THREAD,
    cost=8,
)
PACK = declare(
    "pack",
    "core",
    "arg",
    _pack,
    "Neighbouring f4 along the last axis to packed pairs, the first in the low half.",
    traits=Trait.OF_THREAD,
    cost=8,
)

CONVERSION_OPS = (FTOF, FTOI, ITOF, EXTI, TRUNCI, BITCAST, UNPACK, PACK)


OPS = (*ARITHMETIC_OPS, *MATH_OPS, *COMPARISON_OPS, *BITWISE_OPS, *CONVERSION_OPS)
"""All ops of the family."""
