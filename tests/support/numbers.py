"""Values for tests of arithmetic, and rounding done the slow and obvious way."""

from __future__ import annotations

import random
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from math import inf, isfinite
from typing import Any

import numpy as np

from tilewright.base.dtypes import AnyDType, bf16, f16, f32, f64, int_range

Array = np.ndarray[Any, np.dtype[Any]]


LIMITS: dict[AnyDType, tuple[float, float, float]] = {
    f16: (2.0**-14, 2.0**-24, 65504.0),
    bf16: (2.0**-126, 2.0**-133, (2 - 2.0**-7) * 2.0**127),
    f32: (2.0**-126, 2.0**-149, (2 - 2.0**-23) * 2.0**127),
    f64: (2.0**-1022, 2.0**-1074, (2 - 2.0**-52) * 2.0**1023),
}
"""The least normal, the least and the greatest positive number of each type."""


def fresh_seed() -> int:
    """Another one for each test, the same in each run with the same `--seed`."""
    return random.getrandbits(32)


def fresh_rng() -> np.random.Generator:
    """Random numbers of NumPy for a test."""
    return np.random.default_rng(fresh_seed())


def fresh_random() -> random.Random:
    """Random numbers of Python for a test."""
    return random.Random(fresh_seed())


def int_values(dtype: AnyDType, rng: np.random.Generator, count: int = 24) -> Array:
    """Edge values of an integer or bool type, then random ones."""
    low, high = int_range(dtype)
    edges = {low, low + 1, -1, 0, 1, 2, 3, 7, high // 2, high - 1, high}
    inside = sorted(n for n in edges if low <= n <= high)
    bits = rng.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8)
    random = (bits % 2 == 1).reshape(-1) if dtype.is_bool else bits.view(dtype.np).reshape(-1)
    return np.concatenate([np.array(inside, dtype.np), random])


def float_values(dtype: AnyDType, rng: np.random.Generator, count: int = 24) -> Array:
    """Edge values of a float type (zeros, subnormals, limits, inf, NaN), then random ones."""
    edges = [0.0, 1.0, 1.5, 3.0, 0.1, *LIMITS[dtype]]
    signed = np.array([s * x for x in edges for s in (1, -1)])
    special = np.array([np.inf, -np.inf, np.nan])
    random = np.concatenate([rng.standard_normal(count), _random_bits(dtype, rng, count)])
    with np.errstate(all="ignore"):
        return np.concatenate([signed, special, random]).astype(dtype.np)


def _random_bits(dtype: AnyDType, rng: np.random.Generator, count: int) -> Array:
    bits = rng.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8)
    return wide(bits.view(dtype.np)).reshape(-1)


def wide(a: Array) -> Array:
    """As f64, without NumPy's warnings for overflow, every NaN quiet.

    For a signalling NaN `np.fmax` gives a number or NaN, by its place in the array.
    """
    with np.errstate(all="ignore"):
        values = a.astype(np.float64)
    return np.where(np.isnan(values), np.nan, values)


def pairs(a: Array) -> tuple[Array, Array]:
    """All pairs of elements."""
    left, right = np.meshgrid(a, a, indexing="ij")
    return left.copy(), right.copy()


@cache
def finite_values(dtype: AnyDType) -> list[Fraction]:
    """All finite values of a type of at most 16 bits, in order."""
    bits = np.arange(1 << max(dtype.bits, 4), dtype=np.uint16 if dtype.bits == 16 else np.uint8)
    values = wide(bits.view(dtype.np))
    return sorted({Fraction(float(v)) for v in values if np.isfinite(v)})


def neighbours(x: Fraction, dtype: AnyDType) -> tuple[float, float]:
    """The greatest value not above x and the least not below; infinite past the limits."""
    if dtype.bits <= 16:
        values = finite_values(dtype)
        i = bisect_left(values, x)
        above = float(values[i]) if i < len(values) else inf
        below = above if i < len(values) and values[i] == x else float(values[i - 1])
        return (below if i or below == above else -inf), above
    near = _near(x, dtype)
    if isfinite(near) and Fraction(near) == x:
        return near, near
    up = _step(near, inf, dtype) if near == -inf or (isfinite(near) and near < x) else near
    down = _step(near, -inf, dtype) if near == inf or (isfinite(near) and near > x) else near
    return down, up


def _near(x: Fraction, dtype: AnyDType) -> float:
    try:
        near = float(x)
    except OverflowError:
        return inf if x > 0 else -inf
    with np.errstate(all="ignore"):
        return float(np.float32(near)) if dtype is f32 else near


def _step(x: float, toward: float, dtype: AnyDType) -> float:
    assert dtype in (f32, f64)
    with np.errstate(all="ignore"):
        return float(np.nextafter(dtype.np.type(x), dtype.np.type(toward)))


def nearest(x: Fraction, dtype: AnyDType) -> float:
    """x rounded to nearest, ties to the even last bit; past the limits to infinity."""
    below, above = neighbours(x, dtype)
    if below == above:
        return below
    if not (isfinite(below) and isfinite(above)):
        return _nearest_limit(x, below, above, dtype)
    low, high = x - Fraction(below), Fraction(above) - x
    if low != high:
        return below if low < high else above
    return below if _even(below, dtype) else above


def _nearest_limit(x: Fraction, below: float, above: float, dtype: AnyDType) -> float:
    limit = Fraction(below if isfinite(below) else above)
    last = neighbours(limit - (limit > 0) + (limit < 0), dtype)
    step = abs(limit) - abs(Fraction(last[0] if limit > 0 else last[1]))
    overflows = abs(x) >= abs(limit) + step / 2
    if not overflows:
        return float(limit)
    return inf if x > 0 else -inf


def _even(x: float, dtype: AnyDType) -> bool:
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return int(np.array(x, np.float64).astype(dtype.np).view(unsigned)) % 2 == 0


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays agree in type, shape and bits; NaNs of any bits are alike."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    wide_a, wide_b = wide(a), wide(b)
    nan = np.isnan(wide_a) & np.isnan(wide_b)
    equal = (wide_a == wide_b) & (np.signbit(wide_a) == np.signbit(wide_b))
    return bool(np.all(nan | equal))


def assert_same(a: Array, b: Array) -> None:
    """Fail, showing the first difference, unless `same_bits`."""
    assert a.dtype == b.dtype and a.shape == b.shape, f"{a.dtype}{a.shape}, {b.dtype}{b.shape}"
    if not same_bits(a, b):
        at = next(i for i in np.ndindex(a.shape) if not same_bits(np.array(a[i]), np.array(b[i])))
        raise AssertionError(f"at {at}: {a[at]}, expected {b[at]}")
