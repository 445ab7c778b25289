"""Rounding of floats: exact rational arithmetic, and arrays rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ...base.dtypes import AnyDType, bf16, f4e2m1fn, f16, f32, f64, round_tf32, tf32
from ...ir.attrs import Rounding

# -------------------------------------------------------------------------------------------------
# Float ops in exact rational arithmetic, one element at a time, rounded once in any mode.
#
# This is slow and simple; the directed rounding modes use it, and ops without an exact vector form.

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
    """Return an exact zero: the sign its terms share, else plus (minus if rounding down)."""
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
    """Return the exponent of the greatest power of two that is not above `size`."""
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if size >= Fraction(2) ** guess else guess - 1


def _away(mode: Rounding, negative: bool) -> bool:
    """Return whether a directed mode rounds away from zero."""
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
    """Return a rational that rounds as the root of x does."""
    # The root of 4**shift * x is cut off far behind the last bit of any format. A root that is
    # not exact is never so near to a value of the format, or to a midpoint, as to be cut to it.
    shift = 600 + x.denominator.bit_length()
    scaled = x * (1 << 2 * shift)
    return Fraction(math.isqrt(int(scaled)), 1 << shift)


# -------------------------------------------------------------------------------------------------
# Rounding of arrays: wide results to each element type, rounded once.


def in_f32(native: Callable[..., Array], dtype: AnyDType, arrays: Sequence[Array]) -> Array:
    """Apply a NumPy function in the type itself, for f16 and bf16 in f32, and round once."""
    if dtype in (f16, bf16):
        arrays = [a.astype(np.float32) for a in arrays]
    return np.asarray(native(*arrays)).astype(dtype.np)


def in_f64(native: Callable[..., Array], dtype: AnyDType, arrays: Sequence[Array]) -> Array:
    """Apply a NumPy function in f64 and round once to the type."""
    return narrow(np.asarray(native(*(a.astype(np.float64) for a in arrays))), dtype)


def narrow(wide: Array, dtype: AnyDType) -> Array:
    """Round f64 values to nearest even in any float type."""
    if dtype in (f64, f32, f16):
        return wide.astype(dtype.np)
    # Other types are reached through f32; rounding to odd there keeps the second rounding honest.
    single = _odd_f32(wide)
    if dtype is f4e2m1fn:  # it has no NaN
        single = np.where(np.isnan(single), np.float32(0), single)
    return round_tf32(single) if dtype is tf32 else single.astype(dtype.np)


def _odd_f32(wide: Array) -> Array:
    """Round f64 to f32 so that an inexact result has an odd last bit."""
    nearest = wide.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32)
    below = bits - (np.abs(back) > np.abs(wide))
    inexact = (back != wide) & ~np.isnan(wide)
    return np.where(inexact, below | 1, bits).astype(np.int32).view(np.float32)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and the exact rest that rounding left out."""
    total = np.add(a, b)
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Array) -> tuple[Array, Array]:
    """Return an f64 as two halves of at most 26 bits."""
    scaled = a * np.float64(2**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded product and the exact rest that rounding left out."""
    product = np.multiply(a, b)
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def odd_sum(a: Array, b: Array) -> Array:
    """Return the sum of two f64, rounded so that an inexact result has an odd last bit."""
    total, rest = two_sum(a, b)
    bits = np.asarray(total).view(np.int64)
    away = (rest > 0) == (total > 0)
    change = np.isfinite(total) & (rest != 0) & (bits % 2 == 0)
    return np.where(change, bits + np.where(away, 1, -1), bits).astype(np.int64).view(np.float64)


def fma(dtype: AnyDType, mode: Rounding, arrays: Sequence[Array]) -> Array:
    """Compute a * b + c, rounded once."""
    a, b, c = (x.astype(np.float64) for x in arrays)
    if mode in DIRECTED:
        native = narrow(np.asarray(_plain_fma(a, b, c)), dtype)
        return compute("fma", dtype, mode, arrays, native)
    if dtype is f64:
        return _fma_f64(a, b, c)
    if dtype is f32:
        return odd_sum(a * b, c).astype(np.float32)
    return narrow(np.asarray(a * b + c), dtype)


def _plain_fma(a: Array, b: Array, c: Array) -> Array:
    """Compute a * b + c where an operand is not finite, or a product is exact."""
    infinite = np.isinf(c) & np.isfinite(a) & np.isfinite(b)
    return np.where(infinite, c, a * b + c)


def _ordinary(a: Array) -> Array:
    """Return whether products and rests of such numbers stay clear of overflow and underflow."""
    size = np.abs(a)
    return (size >= 2.0**-400) & (size <= 2.0**400)


def _fma_f64(a: Array, b: Array, c: Array) -> Array:
    product, low = two_product(a, b)
    high, rest = two_sum(c, low)
    total, rest2 = two_sum(product, high)
    result = np.asarray(total + odd_sum(rest, rest2))
    ordinary = _ordinary(a) & _ordinary(b) & (_ordinary(c) | (c == 0))
    plain = (a == 0) | (b == 0) | ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    result = np.where(plain, _plain_fma(a, b, c), result)
    hard = ~(ordinary | plain)
    if hard.any():
        operands = [x[hard] for x in (a, b, c)]
        result[hard] = compute(
            "fma", f64, Rounding.NEAREST_EVEN, operands, np.zeros_like(operands[0])
        )
    return result
