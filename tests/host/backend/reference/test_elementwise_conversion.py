"""Conversions against Python's integers and exact rationals."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, isnan, nan

import ml_dtypes
import numpy as np
import pytest

from support.ir import apply
from support.numbers import (
    assert_same,
    finite_values,
    float_values,
    fresh_rng,
    int_values,
    nearest,
    wide,
)  # fmt: skip
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i64,
    int_range,
    tf32,
    u8,
    u32,
    u64,
)  # fmt: skip

SMALL = (f8e4m3fn, f8e5m2)
ALL_FLOATS = (*FLOATS, *SMALL, tf32, f4e2m1fn, f8e8m0fnu)


def every_value(dtype):
    bits = np.arange(1 << max(dtype.bits, 4), dtype=np.uint16 if dtype.bits == 16 else np.uint8)
    return bits.view(dtype.np)


def values(dtype):
    """All values of small types, edges and random ones of large types."""
    if dtype.bits <= 16:
        return every_value(dtype)
    a = float_values(f32 if dtype is tf32 else dtype, fresh_rng(), 300)
    return (a.view(np.uint32) & 0xFFFFE000).view(np.float32) if dtype is tf32 else a


def tricky(dtype):
    """f64 values around the midpoints of a small type: where double rounding goes wrong."""
    rng = fresh_rng()
    grid = finite_values(dtype)
    i = rng.integers(0, len(grid) - 1, 400)
    middle = np.array([float((grid[k] + grid[k + 1]) / 2) for k in i])
    return np.concatenate([middle, np.nextafter(middle, inf), np.nextafter(middle, -inf)])


@pytest.mark.parametrize("target", [f16, bf16, f8e4m3fn, f8e5m2])
def test_wide_floats_are_rounded_once(target):
    a = np.concatenate([tricky(target), values(f64)])
    got = wide(apply("ftof", (f64, a), to=target))
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        if not isfinite(x):
            continue
        expected = nearest(Fraction(x), target)
        if target is f8e4m3fn and not isfinite(expected):
            assert isnan(result), x
        else:
            assert result == expected, x


@pytest.mark.thinned(12)
@pytest.mark.parametrize("source", ALL_FLOATS)
@pytest.mark.parametrize("target", [f32, f64, f16, bf16])
def test_between_floats(source, target):
    a = values(source)
    got = wide(apply("ftof", (source, a), to=target))
    for x, result in zip(wide(a).tolist(), got.tolist(), strict=True):
        expected = nearest(Fraction(x), target) if isfinite(x) else x
        assert result == expected or (isnan(expected) and isnan(result)), x


def round_f32(a):
    with np.errstate(all="ignore"):
        return a.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", [*SMALL, f4e2m1fn, f8e8m0fnu])
def test_to_the_smallest_floats_as_ml_dtypes_does(source, target):
    a = values(source)
    a = a[np.isfinite(wide(a))]
    if source is f64:
        a = round_f32(a)
    with np.errstate(all="ignore"):
        expected = a.astype(np.float32).astype(target.np)
    assert_same(apply("ftof", (source, a), to=target), expected)


def test_limits_of_the_smallest_floats():
    beyond = [1e9, -1e9, inf, nan]
    to8 = wide(apply("ftof", (f32, beyond), to=f8e4m3fn))
    assert np.isnan(to8).all()
    assert wide(apply("ftof", (f32, [464.0]), to=f8e4m3fn)).tolist() == [448]
    to5 = wide(apply("ftof", (f32, beyond), to=f8e5m2))
    np.testing.assert_array_equal(to5, [inf, -inf, inf, nan])
    to4 = wide(apply("ftof", (f32, beyond[:3]), to=f4e2m1fn))
    assert to4.tolist() == [6, -6, 6]


def test_tf32_keeps_ten_bits():
    a = values(f32)
    got = apply("ftof", (f32, a), to=tf32)
    finite = np.isfinite(got)
    assert not (got[finite].view(np.uint32) & 0x1FFF).any()
    for x, result in zip(a.tolist(), got.tolist(), strict=True):
        if isfinite(x) and x != 0 and abs(x) >= 2.0**-126 and isfinite(result):
            exponent = np.frexp(x)[1] - 11
            assert abs(Fraction(result) - Fraction(x)) <= Fraction(2) ** int(exponent) / 2
        elif not isfinite(x):
            assert_same(np.array(result), np.array(x))
    ties = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-40])
    got = apply("ftof", (f64, ties), to=tf32)
    assert got.tolist() == [1, 1 + 2 * 2.0**-10, 1 + 2.0**-10]


@pytest.mark.thinned(24)
@pytest.mark.parametrize("source", ALL_FLOATS)
@pytest.mark.parametrize("target", INTS)
def test_float_to_integer_saturates(source, target):
    a = values(source)
    low, high = int_range(target)
    edges = [float(low), float(high), high + 1.0, low - 1.0, 0.999, -0.999, 2.0**64, -(2.0**63)]
    if source in (f32, f64):
        a = np.concatenate([a, np.array(edges, source.np)])
    got = apply("ftoi", (source, a), to=target)
    assert got.dtype == target.np
    for x, result in zip(wide(a).tolist(), got.tolist(), strict=True):
        if isnan(x):
            expected = 0
        else:
            expected = min(max(int(x), low), high) if isfinite(x) else low if x < 0 else high
        assert result == expected, x


@pytest.mark.parametrize("source", [bool_, *INTS])
@pytest.mark.parametrize("target", [*FLOATS, *SMALL, tf32])
def test_integer_to_float_is_rounded_once(source, target):
    a = int_values(source, fresh_rng(), 200)
    near = 2**60 + 2**52 + 1
    if source in (i64, u64):
        extra = [near, near - 1, near - 2, near << 1, 2**53 + 1, 2**62 + 2**38 + 1]
        a = np.concatenate([a, np.array(extra, source.np)])
    got = wide(apply("itof", (source, a), to=target))
    for n, result in zip(a.tolist(), got.tolist(), strict=True):
        expected = tf32_of(n) if target is tf32 else nearest(Fraction(int(n)), target)
        if target is f8e4m3fn and not isfinite(expected):
            assert isnan(result), n
        else:
            assert result == expected, n


def tf32_of(n):
    shift = max(abs(n).bit_length() - 11, 0)
    whole, rest = divmod(abs(n), 1 << shift)
    half = (1 << shift) // 2
    up = shift > 0 and (rest > half or (rest == half and whole % 2 == 1))
    return float((whole + up << shift) * (1 if n >= 0 else -1))


@pytest.mark.parametrize("source", [bool_, *INTS])
@pytest.mark.parametrize("target", INTS)
def test_wider_integers(source, target):
    if target.bits <= source.bits:
        return
    a = int_values(source, fresh_rng())
    low, _ = int_range(target)
    expected = [(int(n) - low) % (1 << target.bits) + low for n in a.tolist()]
    assert apply("exti", (source, a), to=target).tolist() == expected


@pytest.mark.parametrize("source", INTS)
@pytest.mark.parametrize("target", INTS)
def test_narrower_integers(source, target):
    if target.bits >= source.bits:
        return
    a = int_values(source, fresh_rng())
    low, _ = int_range(target)
    expected = [(n - low) % (1 << target.bits) + low for n in a.tolist()]
    assert apply("trunci", (source, a), to=target).tolist() == expected


@pytest.mark.thinned(90)
@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("target", ALL)
def test_bitcast_keeps_the_bits(source, target):
    if source.bits != target.bits:
        return
    top = 2 if source is bool_ else 16 if source is f4e2m1fn else 256
    raw = fresh_rng().integers(0, top, (5, 3, source.itemsize), dtype=np.uint8)
    a = raw.view(source.np)[..., 0]
    got = apply("bitcast", (source, a), to=target)
    assert got.dtype == target.np
    assert np.array_equal(got.reshape(5, 3, 1).view(np.uint8), raw)


def test_unpack_takes_the_low_half_first():
    packed = np.array([[0x21, 0xF0], [0x9A, 0x0F]], np.uint8)
    got = apply("unpack", (f4e2m1fnx2, packed))
    expected = [[0.5, 1.0, 0.0, -6.0], [-1.0, -0.5, -6.0, 0.0]]
    assert got.dtype == ml_dtypes.float4_e2m1fn
    assert got.astype(np.float64).tolist() == expected


def test_pack_undoes_unpack():
    packed = np.arange(256, dtype=np.uint8).reshape(4, 2, 32)
    unpacked = apply("unpack", (f4e2m1fnx2, packed))
    assert unpacked.shape == (4, 2, 64)
    assert np.array_equal(apply("pack", (f4e2m1fn, unpacked)), packed)


def test_conversions_of_scalars():
    assert apply("ftoi", (f32, 3.9), to=i8) == 3
    assert apply("itof", (u32, 7), to=bf16) == 7
    assert apply("bitcast", (f32, 1.0), to=u32) == 0x3F800000
    assert apply("exti", (bool_, True), to=u8) == 1
