"""What elementwise ops compute, on Python numbers: the scalar meaning of the IR in one place.

The reference interpreter defines the ops on arrays; this evaluates one element, for code that
knows numbers while compiling. `evaluate` returns what every backend computes, to the bit, or
nothing: integers wrap and division is total; floats only where the result is correctly rounded by
definition (never a NaN, whose bits are not defined, never a transcendental function, never under a
flag that allows another answer). `estimate` returns what a result is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.dtypes import FLOATS, AnyDType, bf16, f16, int_range, round_to
from .attrs import Predicate, Rounding

if TYPE_CHECKING:
    from .core import Op

Number: TypeAlias = int | float
"""A bool for booleans, an int for integers, a float (exact in its type) for floats."""

Rule: TypeAlias = Callable[["Op", AnyDType, Sequence[Any]], Number | None]
"""From the op, the element type of its last operand and the numbers, to the result."""


def evaluate(op: Op, numbers: Sequence[Number]) -> Number | None:
    """Return the result of an elementwise op on these operands; None where it is not certain."""
    rule = EXACT.get(op.name)
    if rule is None:
        return None
    with np.errstate(all="ignore"):
        result = rule(op, op.operands[-1].tile.dtype, numbers)
    return None if isinstance(result, float) and math.isnan(result) else result


def estimate(op: Op, numbers: Sequence[Number]) -> Number | None:
    """Return an approximate result of an elementwise op on these operands; None for other ops."""
    exact = evaluate(op, numbers)
    function = ABOUT.get(op.name)
    if exact is not None or function is None:
        return exact
    with np.errstate(all="ignore"):
        return float(function(*(np.float64(n) for n in numbers)))


def number_of(value: Number, dtype: AnyDType) -> Number:
    """Return a constant's value as a Python number."""
    if dtype.is_float:
        return float(value)
    return bool(value) if dtype.is_bool else int(value)


def same(a: Number, b: Number) -> bool:
    """Return whether two numbers have the same bits: -0.0 is not 0.0, a NaN is the same NaN."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)
    return type(a) is type(b) and a == b


def wrap(dtype: AnyDType, n: int) -> int:
    """Return the value an integer type holds after wrapping around."""
    low, _ = int_range(dtype)
    return (n - low) % (1 << dtype.bits) + low


def unsigned(dtype: AnyDType, n: int) -> int:
    """Reinterpret the bits of an integer as unsigned."""
    return n % (1 << dtype.bits)


def divide(a: int, b: int, rounding: Rounding) -> int:
    """Return the total quotient of integers, before wrapping: 0 for a divisor of 0."""
    if b == 0:
        return 0
    if rounding is Rounding.NEG_INF:
        return a // b
    if rounding is Rounding.POS_INF:
        return -(-a // b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int, rounding: Rounding) -> int:
    """Return the remainder of `divide`, before wrapping: a for a divisor of 0."""
    if rounding is Rounding.NEG_INF:
        return a % b if b else a
    return a - divide(a, b, rounding) * b


# Integers and booleans.


def _int(compute: Callable[[int, int], int]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        return wrap(dtype, compute(x[0], x[1]))

    return rule


def _bits(compute: Callable[[int, int], int]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        result = compute(x[0], x[1])
        return bool(result) if dtype.is_bool else wrap(dtype, result)

    return rule


def _negi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, -x[0])


def _absi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, abs(x[0]))


def _divi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, divide(x[0], x[1], op.attrs["rounding"]))


def _remi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, remainder(x[0], x[1], op.attrs["rounding"]))


def _mulhi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, unsigned(dtype, x[0]) * unsigned(dtype, x[1]) >> dtype.bits)


def _noti(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return not x[0] if dtype.is_bool else wrap(dtype, ~x[0])


def _shli(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    amount = unsigned(dtype, x[1])
    return wrap(dtype, x[0] << amount) if amount < dtype.bits else 0


def _shri(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return int(x[0]) >> min(unsigned(dtype, x[1]), dtype.bits)


def _cmpi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return bool(Predicate(op.attrs["predicate"]).apply(x[0], x[1]))


# Floats.


def _nearest(op: Op) -> bool:
    return op.attrs.get("rounding", Rounding.NEAREST_EVEN) is Rounding.NEAREST_EVEN


def _round(dtype: AnyDType, value: float) -> float | None:
    """Round once, to nearest even; only to types with arithmetic."""
    return round_to(dtype, value) if dtype in FLOATS else None


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Rule:
    """Return the rule of + - * /, computed in f32 for narrower types: that is correctly rounded."""

    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
        if not _nearest(op) or op.attrs["ftz"]:
            return None
        wide = np.float32 if dtype in (f16, bf16) else dtype.np.type
        return _round(dtype, float(compute(wide(x[0]), wide(x[1]))))

    return rule


def _signed(value: float) -> tuple[float, float]:
    """Return a key that orders floats: +0 is greater than -0."""
    return value, math.copysign(1.0, value)


def _maxf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    numbers: list[float] = [*x]
    return None if op.attrs["ftz"] or any(map(math.isnan, x)) else max(numbers, key=_signed)


def _minf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    numbers: list[float] = [*x]
    return None if op.attrs["ftz"] or any(map(math.isnan, x)) else min(numbers, key=_signed)


def _exact(compute: Callable[[float], float]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        return float(compute(x[0]))

    return rule


def _cmpf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    if math.isnan(x[0]) or math.isnan(x[1]):
        return bool(op.attrs["unordered"])
    return bool(Predicate(op.attrs["predicate"]).apply(x[0], x[1]))


def _select(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return x[1] if x[0] else x[2]  # type: ignore[no-any-return]


# Conversions.


def _ftof(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    return _round(op.attrs["to"], x[0]) if _nearest(op) else None


def _ftoi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    low, high = int_range(op.attrs["to"])
    if math.isnan(x[0]):
        return 0
    if math.isinf(x[0]):
        return low if x[0] < 0 else high
    return min(max(int(x[0]), low), high)


def _itof(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    # Beyond 2**53 the way through f64 would round twice.
    return _round(op.attrs["to"], float(x[0])) if abs(x[0]) <= 1 << 53 else None


def _to_int(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(op.attrs["to"], int(x[0]))


def _bitcast(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    to: AnyDType = op.attrs["to"]
    if not all(d.is_int or d in FLOATS for d in (dtype, to)) or math.isnan(x[0]):
        return None
    number = np.asarray(x[0], dtype.np).view(to.np)
    return float(number) if to.is_float else int(number)


def _fused(a: float, b: float, c: float) -> float:
    return a * b + c


def _inverse_root(a: float) -> float:
    return float(1.0 / np.sqrt(a))


EXACT: dict[str, Rule] = {
    "addi": _int(lambda a, b: a + b), "subi": _int(lambda a, b: a - b),
    "muli": _int(lambda a, b: a * b), "divi": _divi, "remi": _remi, "mulhi": _mulhi,
    "negi": _negi, "absi": _absi,
    "maxi": _int(lambda a, b: max(a, b)), "mini": _int(lambda a, b: min(a, b)),
    "andi": _bits(lambda a, b: a & b), "ori": _bits(lambda a, b: a | b),
    "xori": _bits(lambda a, b: a ^ b), "noti": _noti, "shli": _shli, "shri": _shri, "cmpi": _cmpi,
    "addf": _arithmetic(np.add), "subf": _arithmetic(np.subtract),
    "mulf": _arithmetic(np.multiply), "divf": _arithmetic(np.divide),
    "maxf": _maxf, "minf": _minf, "negf": _exact(lambda a: -a), "absf": _exact(abs),
    "floor": _exact(np.floor), "ceil": _exact(np.ceil), "round": _exact(np.rint),
    "cmpf": _cmpf, "select": _select,
    "ftof": _ftof, "ftoi": _ftoi, "itof": _itof, "exti": _to_int, "trunci": _to_int,
    "bitcast": _bitcast,
}  # fmt: skip
"""Ops whose result is the same to the bit wherever they run."""

ABOUT: dict[str, Callable[..., Any]] = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
    "fma": _fused, "remf": np.fmod, "maxf": np.maximum, "minf": np.minimum,
    "negf": np.negative, "absf": np.absolute, "ceil": np.ceil, "floor": np.floor,
    "round": np.rint,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log": np.log,
    "log1p": np.log1p, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": _inverse_root,
    "erf": math.erf, "pow": np.power, "atan2": np.arctan2, "ftof": float, "itof": float,
}  # fmt: skip
"""Ops on floats in f64, for those that round otherwise, or as each backend likes."""
