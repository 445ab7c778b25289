"""Rounding: results that are exact, or nearly so, come down to an element type once.

Directed rounding corrects what rounding to nearest gave, by the sign of what it left out; this is
known exactly, by fractions where no float holds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..encoding.enums import Rounding
from ..program.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, F64, TF32, Scalar
from .values import ELEMENTS, TF32_DROPPED, Array, UndefinedError

LARGEST: dict[Scalar, float] = {F8E4M3FN: 448.0, F8E5M2: 57344.0, F4E2M1FN: 6.0}
"""The largest numbers of the types that numbers too large become, instead of infinity."""
Exact = Callable[..., Fraction]


def narrow(wide: Array, kind: Scalar) -> Array:
    """Round f64 to the nearest number of a type, ties to even."""
    if kind in (F64, F32, F16):
        return wide.astype(ELEMENTS[kind])
    # Other types are reached through f32; rounding to odd there makes the second rounding exact.
    single = _odd_f32(wide)
    if kind is TF32:
        return _tf32(single)
    if kind in LARGEST:
        single = np.clip(single, -LARGEST[kind], LARGEST[kind])
    if kind is F4E2M1FN:
        single = np.where(np.isnan(single), np.float32(LARGEST[kind]), single)
    elif kind not in (BF16, F8E4M3FN, F8E5M2):
        raise UndefinedError(f"numbers are not rounded to the nearest {kind}")
    return single.astype(ELEMENTS[kind])


def _odd_f32(wide: Array) -> Array:
    """Round f64 to f32 toward zero, and set the last bit of what is inexact."""
    nearest = wide.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32)
    toward_zero = bits - (np.abs(back) > np.abs(wide))
    inexact = (back != wide) & ~np.isnan(wide)
    return np.where(inexact, toward_zero | 1, bits).astype(np.int32).view(np.float32)


def _tf32(single: Array) -> Array:
    """Round f32 to tf32, ties to even; what is not finite stays."""
    bits = single.view(np.uint32)
    half = np.uint32((1 << TF32_DROPPED - 1) - 1) + (bits >> TF32_DROPPED & 1)
    rounded = (bits + half) >> TF32_DROPPED << TF32_DROPPED
    kept = np.where(np.isfinite(single), rounded, bits >> TF32_DROPPED << TF32_DROPPED)
    return kept.astype(np.uint32).view(np.float32)


def odd_sum(a: Array, b: Array) -> Array:
    """The sum of two f64, rounded to odd: where it is inexact, its last bit is set (TwoSum)."""
    total = np.asarray(a + b)
    part = total - a
    rest = (a - (total - part)) + (b - part)
    bits = total.view(np.int64)
    # What is left out points away from zero, or back to it.
    away = (rest > 0) == (total > 0)
    fix = np.isfinite(total) & np.isfinite(rest) & (rest != 0) & (bits % 2 == 0)
    return np.where(fix, bits + np.where(away, 1, -1), bits).astype(np.int64).view(np.float64)


def fma(a: Array, b: Array, c: Array, kind: Scalar) -> Array:
    """a * b + c, rounded once to nearest."""
    wide = [x.astype(np.float64) for x in (a, b, c)]
    if kind is not F64:  # products of f32 are exact in f64
        return narrow(odd_sum(wide[0] * wide[1], wide[2]), kind)
    finite = np.isfinite(wide[0]) & np.isfinite(wide[1])  # though their product may not be
    made = np.where(finite & np.isinf(wide[2]), wide[2], wide[0] * wide[1] + wide[2])
    return _where_finite(made, wide, _fma_f64)


def _fma_f64(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:  # a sum of zeros, or a difference of equal numbers
        return a * b + c if not (a and b) else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _where_finite(made: Array, given: list[Array], function: Callable[..., float]) -> Array:
    """What a function of numbers gives, where all of these are finite."""
    shaped = np.broadcast_arrays(*given)
    result = np.array(made, np.float64)
    finite = np.logical_and.reduce([np.isfinite(x) for x in shaped])
    rows = zip(*(x[finite].tolist() for x in shaped), strict=True)
    result[finite] = [function(*row) for row in rows]
    return result


# --- directed rounding ---------------------------------------------------------------------------

DIRECTED = (Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF)


def directed(nearest: Array, sign: Callable[..., int], given: list[Array], mode: Rounding) -> Array:
    """Round in one direction what was rounded to nearest.

    `sign` tells by the numbers of one element, the nearest result last, whether the exact result is
    above (1), below (-1) or the same. Where it is the same zero, it is -0 toward -infinity.
    """
    result = np.array(nearest)
    shaped = np.broadcast_arrays(*given, result)
    for at in np.ndindex(result.shape):
        row = [float(x[at]) for x in shaped]
        if not all(map(math.isfinite, row[:-1])):
            continue
        target = _target(row[-1], sign(*row), mode)
        if target is not None:
            result[at] = np.nextafter(result[at], np.asarray(target, result.dtype))
    return result


def _target(nearest: float, sign: int, mode: Rounding) -> float | None:
    """Where to move by one step what was rounded to nearest; None if it stays."""
    if mode is Rounding.POSITIVE_INF and sign > 0:
        return math.inf
    if mode is Rounding.NEGATIVE_INF and sign < 0:
        return -math.inf
    away = nearest * sign < 0  # the exact result is nearer to zero
    return 0.0 if mode is Rounding.ZERO and away else None


def sign_of(exact: Exact) -> Callable[..., int]:
    """Whether an exact result lies above, below or on what it was rounded to."""

    def sign(*row: float) -> int:
        *given, nearest = row
        if math.isinf(nearest):
            return -1 if nearest > 0 else 1
        rest = exact(*map(Fraction, given)) - Fraction(nearest)
        return (rest > 0) - (rest < 0)

    return sign


def sign_of_root(x: float, nearest: float) -> int:
    """The same for a square root."""
    rest = Fraction(x) - Fraction(nearest) ** 2
    return (rest > 0) - (rest < 0)


def sign_of_quotient(a: float, b: float, nearest: float) -> int:
    """The same for a quotient, which a divisor of zero does not have."""
    return sign_of(_quotient)(a, b, nearest) if b else 0


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    return a / b


def flushed(array: Array) -> Array:
    """Subnormal f32 as zeros of their sign."""
    small = np.abs(array) < np.finfo(np.float32).tiny
    return np.where(small, np.copysign(np.float32(0), array), array).astype(array.dtype)
