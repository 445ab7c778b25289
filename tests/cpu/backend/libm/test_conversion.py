"""Conversions of small floats, all codes both ways, against ml_dtypes and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu.backend.libm.harness import Array, convert
from support.numbers import fresh_rng
from tilewright.backend.libm import Library
from tilewright.base import dtypes

SMALL = ("f16", "bf16", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "f4e2m1fn")
CODES = {"f16": 1 << 16, "bf16": 1 << 16, "f4e2m1fn": 16}
LANES = (1, 2, 4, 8, 16, 32)


def codes(name: str) -> Array:
    count = CODES.get(name, 256)
    return np.arange(count).astype(np.uint16 if count > 256 else np.uint8)


def values(name: str) -> Array:
    """The value of every code, as f64."""
    with np.errstate(invalid="ignore"):
        return codes(name).view(dtypes.as_dtype(name).np).astype(np.float64)


def carrier(x: Array) -> Array:
    """The integers that carry the codes in compiled functions."""
    return x.view(np.int16 if x.itemsize == 2 else np.int8)


def same(got: Array, expected: Array) -> None:
    """Equal bits, or both NaN of the same sign."""
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(np.signbit(got), np.signbit(expected))
    assert np.array_equal(got[~nan], expected[~nan])


@pytest.mark.parametrize("target", ["f32", "f64", "tf32"])
@pytest.mark.parametrize("name", SMALL)
def test_every_code_is_read_right(name: str, target: str) -> None:
    carried = np.float64 if target == "f64" else np.float32
    with np.errstate(invalid="ignore"):
        expected = codes(name).view(dtypes.as_dtype(name).np).astype(carried)
    same(convert(name, target, carrier(codes(name))), expected)


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("name", SMALL)
def test_every_value_goes_back_to_its_code(name: str, source: str) -> None:
    carried = np.float64 if source == "f64" else np.float32
    keep = ~np.isnan(values(name))
    got = convert(source, name, values(name)[keep].astype(carried))
    assert np.array_equal(got, carrier(codes(name)[keep]))


def near(name: str, dtype: Any) -> Array:
    """Values, midpoints and their neighbours in `dtype`; limits, specials, random bits."""
    v = np.unique(values(name)[np.isfinite(values(name))])
    middle = (v[1:] + v[:-1]) / 2
    beyond = np.abs(v[-1]) * np.array([1, 1.01, 1.03, 1.0625, 1.2, 1.25, 1.5, 2, 4])
    with np.errstate(over="ignore", under="ignore"):
        exact = np.concatenate([v, middle, beyond, -beyond, v[v > 0][:1] / 4]).astype(dtype)
    sides = [exact, *(np.nextafter(exact, dtype(end)) for end in (np.inf, -np.inf))]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], dtype)
    return np.concatenate([*sides, special, random_bits(dtype)])


def random_bits(dtype: Any) -> Array:
    rng = fresh_rng()
    wide = np.dtype(dtype).itemsize * 8
    bits = rng.integers(0, 2**wide, 20_000, dtype=f"u{wide // 8}").view(dtype)
    usual = (rng.standard_normal(20_000) * 10.0 ** rng.integers(-3, 4, 20_000)).astype(dtype)
    return np.concatenate([bits, usual])


def to_odd(x: Array) -> Array:
    """f32 with an odd last bit wherever x is not exact: rounding it again is right."""
    with np.errstate(all="ignore"):
        nearest = x.astype(np.float32)
        toward_zero = np.where(
            np.abs(nearest.astype(x.dtype)) > np.abs(x),
            np.nextafter(nearest, np.float32(0)),
            nearest,
        ).astype(np.float32)
    inexact = (nearest.astype(x.dtype) != x) & ~np.isnan(x)
    odd = (toward_zero.view(np.uint32) | 1).view(np.float32)
    return np.where(inexact, odd, nearest).astype(np.float32)


def expected_codes(name: str, x: Array) -> Array:
    with np.errstate(all="ignore"):
        if name == "f16":
            return x.astype(np.float16).view(np.int16)
        single = x if x.dtype == np.float32 else to_odd(x)
        if name == "f4e2m1fn":  # it has no NaN, for which ml_dtypes has a zero of either sign
            single = np.where(np.isnan(single), np.float32(0), single)
        return carrier(single.astype(dtypes.as_dtype(name).np).view(f"u{codes(name).itemsize}"))


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("name", SMALL)
def test_rounding(name: str, source: str) -> None:
    x = near(name, np.float64 if source == "f64" else np.float32)
    got, expected = convert(source, name, x, lanes=16), expected_codes(name, x)
    if name == "f16":  # NaN keeps its payload or not; both are right
        same(got.view(np.float16), expected.view(np.float16))
    else:
        wrong = np.flatnonzero(got != expected)
        assert not wrong.size, [
            (float(x[i]).hex(), hex(got[i]), hex(expected[i])) for i in wrong[:5]
        ]


@pytest.mark.parametrize("name", SMALL)
def test_f64_rounds_once(name: str) -> None:
    """A tie is broken by a bit that f32 cannot hold."""
    v = values(name)
    v = np.unique(v[(v > 1e-30) & (v < 1e30)])
    middle = (v[1:] + v[:-1]) / 2
    above, below = np.nextafter(middle, np.inf), np.nextafter(middle, 0)
    unsigned = f"u{codes(name).itemsize}"
    assert np.array_equal(values(name)[convert("f64", name, above).view(unsigned)], v[1:])
    assert np.array_equal(values(name)[convert("f64", name, below).view(unsigned)], v[:-1])


def test_tf32() -> None:
    x = random_bits(np.float32)
    same(convert("f32", "tf32", x), dtypes.round_tf32(x))
    wide = np.concatenate(
        [random_bits(np.float64), 1 + 2.0**-11 + np.array([2.0**-50, -(2.0**-50), 0])]
    )
    same(convert("f64", "tf32", wide), dtypes.round_tf32(to_odd(wide)))
    short = dtypes.round_tf32(x)
    with np.errstate(invalid="ignore"):
        same(convert("tf32", "f64", short), short.astype(np.float64))


@pytest.mark.thinned(18)
@pytest.mark.parametrize("target", SMALL)
@pytest.mark.parametrize("source", SMALL)
def test_small_to_small(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        single = codes(source).view(dtypes.as_dtype(source).np).astype(np.float32)
    got = convert(source, target, carrier(codes(source)))
    if source == target:
        assert np.array_equal(got, carrier(codes(source)))
        return
    expected = expected_codes(target, single)
    if target == "f16":
        same(got.view(np.float16), expected.view(np.float16))
    else:
        assert np.array_equal(got, expected)


INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@pytest.mark.thinned(24)
@pytest.mark.parametrize("target", ["f32", "f64", "tf32", *SMALL])
@pytest.mark.parametrize("source", INTS)
def test_integers_round_once(source: str, target: str) -> None:
    dtype = dtypes.as_dtype(source)
    low, high = dtypes.int_range(dtype)
    powers = [1 << k for k in range(dtype.bits)]
    near_ties = [
        p + p // 2**k + d for p in powers for k in (3, 4, 8, 9, 11, 12, 24, 53) for d in (-1, 0, 1)
    ]
    numbers = [low, high, 0, 1, *near_ties, *(-n for n in near_ties)]
    x = np.array([n for n in numbers if low <= n <= high], dtype.np)
    x = np.concatenate([x, random_bits(np.float64).view(np.int64).astype(dtype.np)])
    got = convert(source, target, x.view(f"i{x.itemsize}"))
    exact = x.astype(np.longdouble)  # 64 bits of fraction hold every integer
    if target in ("f32", "f64"):
        assert np.array_equal(got, exact.astype(got.dtype))
    elif target == "tf32":
        assert np.array_equal(got, dtypes.round_tf32(to_odd(exact)))
    else:
        assert np.array_equal(got, expected_codes(target, to_odd(exact)))


def test_bool() -> None:
    """In compiled code a bool is one bit; the harness has bytes, so compare the text only."""
    library = Library()
    symbol = library.convert("bool", "bf16", 4)
    assert "uitofp <4 x i1>" in library.text()
    assert symbol == "@tw_convert_bool_bf16_x4"


@pytest.mark.thinned(12)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", ["f16", "bf16", "f8e4m3fn", "f4e2m1fn"])
def test_lanes_agree(name: str, lanes: int) -> None:
    x = near(name, np.float64)[-999:]
    assert np.array_equal(convert("f64", name, x, lanes), convert("f64", name, x, 1))
    bits = carrier(codes(name))[-300:]
    same(convert(name, "f32", bits, lanes), convert(name, "f32", bits, 1))
