"""Values of Tile IR as NumPy arrays, and the rounding of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tilewright.backend.tileir.bytecode.enums import RoundingCode
from tilewright.backend.tileir.bytecode.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Kind,
    Pointer,
    ScalarType,
    TensorView,
    TileValueType,
    View,
)

# -------------------------------------------------------------------------------------------------
# Values: NumPy arrays for tiles, records for views, sets for tokens.
#
# Integers are stored as signed; an instruction that reads them as unsigned declares it. One bit is
# a boolean, tf32 an f32, as in memory, a pointer an address and the memory it may reach.

Array: TypeAlias = np.ndarray[Any, Any]
DType: TypeAlias = np.dtype[Any]

ELEMENTS: dict[ScalarType, DType] = {
    scalar: np.dtype(made)
    for scalar, made in {
        I1: np.bool_, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64,
        F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64,
        TF32: np.float32, F8E4M3FN: ml_dtypes.float8_e4m3fn, F8E5M2: ml_dtypes.float8_e5m2,
        F8E8M0FNU: ml_dtypes.float8_e8m0fnu, F4E2M1FN: ml_dtypes.float4_e2m1fn,
    }.items()
}  # fmt: skip
"""The NumPy type of an element."""
POINTER = np.dtype([("address", np.int64), ("origin", np.int32)])
"""A pointer: its address, and the number of the memory that it was derived from."""
TF32_DROPPED = 13
"""Low bits of an f32 that tf32 does not have."""
GARBAGE = 0xCD
"""The bytes of unspecified elements: an improbable number."""


class UndefinedError(Exception):
    """Raised if the operands of an instruction make its behaviour undefined."""


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor view: a pointer, extents and strides in elements."""

    kind: TensorView
    base: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ViewValue:
    """A tensor seen as tiles."""

    kind: View
    tensor: TensorValue


@dataclass(frozen=True, slots=True)
class TokenValue:
    """The accesses that happen before the users of a token: a bit for each."""

    before: int = 0


Value: TypeAlias = Array | TensorValue | ViewValue | TokenValue


def dtype_of(elem: ScalarType | Pointer) -> DType:
    """Return the NumPy type of the elements of a tile."""
    return POINTER if isinstance(elem, Pointer) else ELEMENTS[elem]


def tile_kind(kind: Kind) -> TileValueType:
    """Return a type that is known to be a tile."""
    assert isinstance(kind, TileValueType), f"expected a tile, got {kind}"
    return kind


def unsigned(array: Array) -> Array:
    """Read integers as unsigned."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def signed(array: Array) -> Array:
    """Read integers as signed; the one-bit integer that is set is -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def integers(array: Array, kind: ScalarType) -> Array:
    """Reduce integers of any type modulo the width of an element type."""
    if kind is I1:
        return np.asarray(np.asarray(array) & 1).astype(np.bool_)
    return np.asarray(array).astype(ELEMENTS[kind], copy=False)


def element(bits: int, kind: ScalarType) -> Array:
    """Return the number with the given bits."""
    if kind is TF32:
        return np.array(bits << TF32_DROPPED, np.uint32).view(np.float32)
    data = bits.to_bytes(max(kind.nbytes, 1), "little")
    return np.frombuffer(data, ELEMENTS[kind], 1).reshape(()).copy()


def constant(data: bytes, kind: TileValueType) -> Array:
    """Return the elements of a constant; a single element is repeated."""
    scalar, count = kind.scalar, kind.size
    if scalar is I1:
        return _bits(data, count).reshape(kind.shape)
    length = scalar.nbytes
    if len(data) not in (length, length * count):
        raise ValueError(f"a constant of {len(data)} bytes for {kind}")
    parts = [data[i : i + length] for i in range(0, len(data), length)]
    if scalar is TF32:
        made = np.array([element(int.from_bytes(part, "little"), TF32) for part in parts])
    else:
        made = np.frombuffer(data, ELEMENTS[scalar])
    return np.broadcast_to(made, (count,)).reshape(kind.shape)


def _bits(data: bytes, count: int) -> Array:
    if data in (b"\0", b"\xff") or count == 1:
        return np.full(count, bool(data[0]))
    if len(data) != -(-count // 8):
        raise ValueError(f"{len(data)} bytes for {count} bits")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count, bitorder="little").astype(bool)


def garbage(kind: TileValueType) -> Array:
    """Return a tile whose elements are unspecified."""
    dtype = dtype_of(kind.elem)
    if dtype == np.bool_:
        return np.ones(kind.shape, np.bool_)
    raw = np.full((*kind.shape, dtype.itemsize), GARBAGE, np.uint8)
    return raw.view(dtype).reshape(kind.shape)


# -------------------------------------------------------------------------------------------------
# Rounding of exact, or nearly exact, results to an element type, once.
#
# Directed rounding corrects the rounding to nearest by the sign of its error, which is known
# exactly, by fractions where no float represents it.

LARGEST: dict[ScalarType, float] = {F8E4M3FN: 448.0, F8E5M2: 57344.0, F4E2M1FN: 6.0}
"""The largest numbers of the types that numbers too large become, instead of infinity."""
Exact = Callable[..., Fraction]


def narrow(wide: Array, kind: ScalarType) -> Array:
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
    """Round f64 to f32 toward zero, and set the last bit of an inexact result (round to odd)."""
    nearest = wide.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32)
    toward_zero = bits - (np.abs(back) > np.abs(wide))
    inexact = (back != wide) & ~np.isnan(wide)
    return np.where(inexact, toward_zero | 1, bits).astype(np.int32).view(np.float32)


def _tf32(single: Array) -> Array:
    """Round f32 to tf32, ties to even; infinity and NaN stay."""
    bits = single.view(np.uint32)
    half = np.uint32((1 << TF32_DROPPED - 1) - 1) + (bits >> TF32_DROPPED & 1)
    rounded = (bits + half) >> TF32_DROPPED << TF32_DROPPED
    kept = np.where(np.isfinite(single), rounded, bits >> TF32_DROPPED << TF32_DROPPED)
    return kept.astype(np.uint32).view(np.float32)


def odd_sum(a: Array, b: Array) -> Array:
    """Return the sum of two f64, rounded to odd (TwoSum): the last bit is set if inexact."""
    total = np.asarray(a + b)
    part = total - a
    rest = (a - (total - part)) + (b - part)
    bits = total.view(np.int64)
    # What is left out points away from zero, or back to it.
    away = (rest > 0) == (total > 0)
    fix = np.isfinite(total) & np.isfinite(rest) & (rest != 0) & (bits % 2 == 0)
    return np.where(fix, bits + np.where(away, 1, -1), bits).astype(np.int64).view(np.float64)


def fma(a: Array, b: Array, c: Array, kind: ScalarType) -> Array:
    """Compute a * b + c, rounded once to nearest."""
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
    """Evaluate a function of numbers where all of these are finite."""
    shaped = np.broadcast_arrays(*given)
    result = np.array(made, np.float64)
    finite = np.logical_and.reduce([np.isfinite(x) for x in shaped])
    rows = zip(*(x[finite].tolist() for x in shaped), strict=True)
    result[finite] = [function(*row) for row in rows]
    return result


# --- directed rounding ---------------------------------------------------------------------------

DIRECTED = (RoundingCode.ZERO, RoundingCode.NEGATIVE_INF, RoundingCode.POSITIVE_INF)


def directed(
    nearest: Array, sign: Callable[..., int], given: list[Array], mode: RoundingCode
) -> Array:
    """Move nearest results to those of a directed rounding.

    `sign` tells by the numbers of one element, the nearest result last, whether the exact result is
    above (1), below (-1) or the same. Where it is the same zero, it is -0 toward -infinity.
    """
    result = np.array(nearest)
    shaped = np.broadcast_arrays(*given, result)
    for at in np.ndindex(result.shape):
        row = [float(x[at]) for x in shaped]
        if not all(map(math.isfinite, row[:-1])) or math.isnan(row[-1]):
            continue  # exact, or without a value: the square root of a negative number
        target = _target(row[-1], sign(*row), mode)
        if target is not None:
            result[at] = np.nextafter(result[at], np.asarray(target, result.dtype))
    return result


def _target(nearest: float, sign: int, mode: RoundingCode) -> float | None:
    """Return the direction in which to move a nearest result by one step; None if it stays."""
    if mode is RoundingCode.POSITIVE_INF and sign > 0:
        return math.inf
    if mode is RoundingCode.NEGATIVE_INF and sign < 0:
        return -math.inf
    away = nearest * sign < 0  # the exact result is nearer to zero
    return 0.0 if mode is RoundingCode.ZERO and away else None


def sign_of(exact: Exact) -> Callable[..., int]:
    """Return whether an exact result lies above, below or on what it was rounded to."""

    def sign(*row: float) -> int:
        *given, nearest = row
        if math.isinf(nearest):
            return -1 if nearest > 0 else 1
        rest = exact(*map(Fraction, given)) - Fraction(nearest)
        return (rest > 0) - (rest < 0)

    return sign


def sign_of_root(x: float, nearest: float) -> int:
    """Return whether a square root lies above (1), below (-1) or on what it was rounded to."""
    rest = Fraction(x) - Fraction(nearest) ** 2
    return (rest > 0) - (rest < 0)


def sign_of_quotient(a: float, b: float, nearest: float) -> int:
    """Return whether a quotient lies above, below or on its rounded value; 0 for divisor 0."""
    return sign_of(_quotient)(a, b, nearest) if b else 0


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    return a / b


def flushed(array: Array) -> Array:
    """Replace subnormal f32 by zeros of their sign."""
    small = np.abs(array) < np.finfo(np.float32).tiny
    return np.where(small, np.copysign(np.float32(0), array), array).astype(array.dtype)
