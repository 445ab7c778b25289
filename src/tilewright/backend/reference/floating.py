"""Rounding on whole arrays: wide results come down to each element type, rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...base.dtypes import AnyDType, bf16, f16, f32, f64, round_tf32, tf32
from ...ir.attrs import Rounding
from . import exact
from .exact import Array


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
    """The rounded sum and the exact rest that rounding left out."""
    total = np.add(a, b)
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Array) -> tuple[Array, Array]:
    """An f64 as two halves of at most 26 bits."""
    scaled = a * np.float64(2**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and the exact rest that rounding left out."""
    product = np.multiply(a, b)
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def odd_sum(a: Array, b: Array) -> Array:
    """The sum of two f64, rounded so that an inexact result has an odd last bit."""
    total, rest = two_sum(a, b)
    bits = np.asarray(total).view(np.int64)
    away = (rest > 0) == (total > 0)
    change = np.isfinite(total) & (rest != 0) & (bits % 2 == 0)
    return np.where(change, bits + np.where(away, 1, -1), bits).astype(np.int64).view(np.float64)


def fma(dtype: AnyDType, mode: Rounding, arrays: Sequence[Array]) -> Array:
    """a * b + c, rounded once."""
    a, b, c = (x.astype(np.float64) for x in arrays)
    if mode in exact.DIRECTED:
        native = narrow(np.asarray(_plain_fma(a, b, c)), dtype)
        return exact.compute("fma", dtype, mode, arrays, native)
    if dtype is f64:
        return _fma_f64(a, b, c)
    if dtype is f32:
        return odd_sum(a * b, c).astype(np.float32)
    return narrow(np.asarray(a * b + c), dtype)


def _plain_fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c where an operand is not finite, or a product is exact."""
    infinite = np.isinf(c) & np.isfinite(a) & np.isfinite(b)
    return np.where(infinite, c, a * b + c)


def _ordinary(a: Array) -> Array:
    """Whether products and rests of such numbers stay clear of overflow and underflow."""
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
        result[hard] = exact.compute(
            "fma", f64, Rounding.NEAREST_EVEN, operands, np.zeros_like(operands[0])
        )
    return result
