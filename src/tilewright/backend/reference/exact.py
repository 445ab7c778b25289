"""Float ops done in exact rational arithmetic, one element at a time, and rounded once in any mode.

Slow and plain: the directed rounding modes use it, and whatever has no exact vector form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ...base.dtypes import AnyDType, bf16, f16, f32, f64
from ...ir.attrs import Rounding

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DIRECTED = (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format: bits of precision, least and greatest exponent of normal numbers."""

    precision: int
    least: int
    greatest: int


FORMATS: dict[AnyDType, Format] = {
    f16: Format(11, -14, 15),
    bf16: Format(8, -126, 127),
    f32: Format(24, -126, 127),
    f64: Format(53, -1022, 1023),
}


@dataclass(frozen=True, slots=True)
class ExactOp:
    """An op on rationals.

    `signs` are those of the terms whose sum the result is, from those of the operands: they decide
    about an exact zero. Where not `defined`, the result is no number.
    """

    value: Callable[[Sequence[Fraction]], Fraction]
    signs: Callable[[Sequence[bool]], tuple[bool, ...]]
    defined: Callable[[Sequence[float]], bool] = lambda operands: True


def _same(signs: Sequence[bool]) -> tuple[bool, ...]:
    return tuple(signs)


def _difference(signs: Sequence[bool]) -> tuple[bool, ...]:
    return signs[0], not signs[1]


def _product(signs: Sequence[bool]) -> tuple[bool, ...]:
    return (signs[0] != signs[1], *signs[2:])


OPS: dict[str, ExactOp] = {
    "addf": ExactOp(lambda x: x[0] + x[1], _same),
    "subf": ExactOp(lambda x: x[0] - x[1], _difference),
    "mulf": ExactOp(lambda x: x[0] * x[1], _product),
    "divf": ExactOp(lambda x: x[0] / x[1], _product, lambda x: x[1] != 0),
    "fma": ExactOp(lambda x: x[0] * x[1] + x[2], _product),
    "sqrt": ExactOp(lambda x: _sqrt(x[0]), _same, lambda x: x[0] >= 0),
}


def compute(
    name: str, dtype: AnyDType, mode: Rounding, arrays: Sequence[Array], native: Array
) -> Array:
    """Round the exact results of op `name`; where they are not finite numbers, keep `native`."""
    result = np.array(native)
    columns = [a.astype(np.float64).ravel().tolist() for a in arrays]
    flat = result.reshape(-1)
    for i, operands in enumerate(zip(*columns, strict=True)):
        if all(map(math.isfinite, operands)) and OPS[name].defined(operands):
            flat[i] = _one(OPS[name], FORMATS[dtype], mode, operands)
    return flat.reshape(result.shape)


def _one(op: ExactOp, form: Format, mode: Rounding, operands: Sequence[float]) -> float:
    exact = op.value([Fraction(x) for x in operands])
    if exact == 0:
        return _zero(op.signs([math.copysign(1, x) < 0 for x in operands]), mode)
    return round_rational(exact, form, mode)


def _zero(signs: Sequence[bool], mode: Rounding) -> float:
    """An exact zero has the sign its terms agree on, else plus (minus when rounding down)."""
    agreed = len(set(signs)) == 1
    negative = signs[0] if agreed else mode == Rounding.NEG_INF
    return -0.0 if negative else 0.0


def round_rational(exact: Fraction, form: Format, mode: Rounding) -> float:
    """Round a number that is not 0 to a format; the result is exact as a Python float."""
    negative, size = exact < 0, abs(exact)
    quantum = max(_exponent(size), form.least) - form.precision + 1
    scaled = size / Fraction(2) ** quantum
    whole, rest = divmod(scaled, 1)
    kept = int(whole) + _rounds_up(int(whole), rest, mode, negative)
    if kept * Fraction(2) ** quantum >= Fraction(2) ** (form.greatest + 1):
        rounded = _overflow(form, mode, negative)
    else:
        rounded = math.ldexp(kept, quantum)
    return -rounded if negative else rounded


def _exponent(size: Fraction) -> int:
    """The exponent of the greatest power of two that is not above `size`."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if size >= Fraction(2) ** guess else guess - 1


def _away(mode: Rounding, negative: bool) -> bool:
    """Whether a directed mode rounds away from zero."""
    return mode == (Rounding.NEG_INF if negative else Rounding.POS_INF)


def _rounds_up(whole: int, rest: Fraction, mode: Rounding, negative: bool) -> bool:
    if mode in DIRECTED:
        return rest > 0 and _away(mode, negative)
    half = Fraction(1, 2)
    return rest > half or (rest == half and whole % 2 == 1)


def _overflow(form: Format, mode: Rounding, negative: bool) -> float:
    if mode in DIRECTED and not _away(mode, negative):
        return math.ldexp((1 << form.precision) - 1, form.greatest - form.precision + 1)
    return math.inf


def _sqrt(x: Fraction) -> Fraction:
    """A rational that rounds as the root of x does: the root itself, or one just below it."""
    # The root of 4**shift * x is cut off far behind the last bit of any format. A root that is
    # not exact is never so near to a value of the format, or to a midpoint, as to be cut to it.
    shift = 600 + x.denominator.bit_length()
    scaled = x * (1 << 2 * shift)
    return Fraction(math.isqrt(int(scaled)), 1 << shift)
