"""Conversions from every element type to every other, beside exact fractions and ml_dtypes."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, isnan

import numpy as np
import pytest

from support.expressions import BOUNDARY, assert_all, bits_of, run
from support.numbers import float_values, int_values, wide
from support.rounding import rounded
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
    i16,
    i32,
    i64,
    int_range,
    tf32,
    u8,
    u16,
    u32,
    u64,
)

IN_MEMORY = [t for t in ALL if t not in (f4e2m1fn, f4e2m1fnx2)]


def as_float(numbers, dtype):
    if dtype is f8e8m0fnu:
        return np.array([odd(v) for v in numbers], np.float32).astype(dtype.np)
    exact = np.array([rounded(v, dtype) for v in numbers], np.float64)
    with np.errstate(over="ignore"):
        return exact.astype(dtype.np)


def odd(number):
    """A number as f32; an inexact one keeps an odd last bit, so that it may be rounded again."""
    if not isfinite(number):
        return np.float32(number)
    with np.errstate(over="ignore"):
        near = np.float32(float(number))
    if not np.isfinite(near) or Fraction(float(near)) == Fraction(number):
        return near
    toward = np.float32(inf if Fraction(number) > Fraction(float(near)) else -inf)
    other = np.nextafter(near, toward)
    return near if int(near.view(np.uint32)) & 1 else other


def as_int(numbers, dtype):
    """Integers keep their low bits; floats go toward zero and saturate, NaN gives 0."""
    low, high = int_range(dtype)
    size = high - low + 1
    found = []
    for v in numbers:
        if isinstance(v, float):
            inside = 0 if isnan(v) else int(v) if isfinite(v) else high if v > 0 else low
            found.append(min(max(inside, low), high))
        else:
            found.append((v - low) % size + low)
    return np.array(found, dtype.np)


def converted(numbers, to):
    if to is bool_:
        return np.array([v != 0 for v in numbers], bool)
    return as_float(numbers, to) if to.is_float else as_int(numbers, to)


def source_values(dtype, rng):
    """An even number of values: all there are of small types, edges and random ones of others."""
    if dtype.bits <= 8 and not dtype.is_bool:
        values = np.arange(256, dtype=np.uint8).view(dtype.np)
        return rng.permutation(bits_of(values)).view(dtype.np)
    if dtype.is_float:
        values = float_values(f32 if dtype is tf32 else dtype, rng, 40)
        # Where rounding to small types is decided.
        ties = [x * y for x in (1.0, 1.25, 2.5, 17.0, 464.0, 61440.0) for y in (1, -1, 1.0001)]
        values = np.concatenate([values, np.array(ties).astype(values.dtype)])
        if dtype is tf32:
            values = as_float(wide(values).tolist(), tf32)
    else:
        values = int_values(dtype, rng, 41)
    return values[: len(values) // 2 * 2]


TARGETS = [t for t in ALL if t is not f4e2m1fnx2]


def check(device, source, given, numbers, load="tl.load_tile_like({}, z0)"):
    """Convert to every type; f4 is stored in pairs."""
    halves = [2 if t is f4e2m1fn else 1 for t in TARGETS]
    texts = [f"a.astype({t.__name__})" + (".pack()" if t is f4e2m1fn else "") for t in TARGETS]
    results = [f4e2m1fnx2 if t is f4e2m1fn else t for t in TARGETS]
    got = run(
        texts, device, {"a": given}, results, load=load,
        tile=[(16 // h,) for h in halves], shape=[(len(numbers) // h,) for h in halves],
    )  # fmt: skip
    for to, result in zip(TARGETS, got, strict=True):
        expected = converted(numbers, to)
        if to is f4e2m1fn:
            result, expected = opened(result), without_nan(expected, numbers)
        assert_all([f"{source} to {to}"], [result], [expected], np.array(numbers))
    return got


def opened(bytes_):
    """Bytes as pairs of f4, the first in the low half."""
    return np.stack([bytes_ & 0xF, bytes_ >> 4], -1).reshape(-1).astype(np.uint8).view(f4e2m1fn.np)


def without_nan(small, numbers):
    """f4 has no NaN: one becomes +0; ml_dtypes makes a zero of either sign of it."""
    lost = np.isnan(np.array(numbers, np.float64))
    return np.where(lost, np.zeros_like(small), small)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("source", IN_MEMORY, ids=str)
def test_to_every_type(device, source, rng):
    values = source_values(source, rng)
    check(device, source, (values, source), (wide(values) if source.is_float else values).tolist())


def test_f4_to_every_type(device, rng):
    """All pairs of f4 there are."""
    bytes_ = rng.permutation(np.arange(256)).astype(np.uint8)[:250]
    got = check(
        device, f4e2m1fn, (bytes_, f4e2m1fnx2), wide(opened(bytes_)).tolist(),
        "{}.load_tile((8,), [tl.block_id(0)]).unpack()",
    )  # fmt: skip
    assert (got[TARGETS.index(f4e2m1fn)] == bytes_).all()


@pytest.mark.parametrize("to", [t for t in IN_MEMORY if t is not f64], ids=str)
def test_boundary_shapes(device, to, rng):
    for count in BOUNDARY:
        values = rng.choice(float_values(f64, rng), count)
        got = run([f"a.astype({to.__name__})"], device, {"a": values}, to, tile=(16,))
        assert_all([str(to)], got, [converted(values.tolist(), to)], values)


WIDTHS = {
    8: [i8, u8, f8e4m3fn, f8e5m2, f8e8m0fnu], 16: [i16, u16, f16, bf16],
    32: [i32, u32, f32], 64: [i64, u64, f64],
}  # fmt: skip


@pytest.mark.parametrize("bits", WIDTHS)
def test_bitcast_keeps_all_bits(device, bits, rng):
    types = WIDTHS[bits]
    raw = rng.integers(0, 256, (97, bits // 8), dtype=np.uint8)
    for source in types:
        values = raw.view(source.np).reshape(-1)
        texts = [f"tl.bitcast(a, {t.__name__})" for t in types]
        got = run(texts, device, {"a": values}, types, tile=(16,))
        for text, result in zip(texts, got, strict=True):
            assert (bits_of(result) == bits_of(values)).all(), f"{source}: {text}"


def test_bitcast_to_packed_pairs(device, rng):
    raw = rng.integers(0, 256, 33, dtype=np.uint8)
    texts = ["tl.bitcast(tl.bitcast(a, f4e2m1fnx2), u8)", "tl.unpack(tl.bitcast(a, f4e2m1fnx2))"]
    texts[1] = f"tl.bitcast(tl.pack({texts[1]}), u8)"
    for result in run(texts, device, {"a": raw}, u8, tile=(16,)):
        assert (result == raw).all()


NAMED = {
    f16: {"tl.ftof(a, f32)": f32, "tl.ftoi(a, i8)": i8, "tl.ftof(a, f8e5m2)": f8e5m2},
    f32: {"tl.ftof(a, bf16)": bf16, "tl.ftoi(a, u64)": u64, "tl.convert_tile(a, f16)": f16,
          "tl.astype(a, i32)": i32, "a.astype('float64')": f64, "a.astype('bfloat16')": bf16},
    i32: {"tl.itof(a, f16)": f16, "tl.exti(a, i64)": i64, "tl.trunci(a, i8)": i8,
          "tl.trunci(a, u16)": u16, "tl.exti(a, u64)": u64, "tl.itof(a, f8e4m3fn)": f8e4m3fn,
          "tl.astype(a, bool_)": bool_},
    u8: {"tl.itof(a, f64)": f64, "tl.exti(a, i16)": i16, "tl.exti(a, u32)": u32},
    bool_: {"tl.itof(a, f32)": f32, "tl.exti(a, i8)": i8, "tl.exti(a, u64)": u64,
            "tl.convert_tile(a, i32)": i32},
}  # fmt: skip


@pytest.mark.parametrize("source", NAMED, ids=str)
def test_conversions_by_name(device, source, rng):
    values = source_values(source, rng)
    table = NAMED[source]
    got = run([*table], device, {"a": values}, [*table.values()], tile=(16,))
    numbers = (wide(values) if source.is_float else values).tolist()
    assert_all([*table], got, [converted(numbers, t) for t in table.values()], values)


def test_conversions_of_scalars(device):
    texts = [
        "tl.full((4,), float(n), f32)", "tl.full((4,), float(int(x)), f32)",
        "tl.full((4,), tl.convert_scalar(x, f16).astype(f32), f32)",
        "tl.full((4,), bool(n)).astype(f32)", "tl.full((4,), tl.astype(3, f32), f32)",
        "tl.full((4,), tl.convert_scalar(2.75, f8e4m3fn).astype(f32), f32)",
    ]  # fmt: skip
    lines = ["n = tl.block_id(0) + 7", "x = n.astype(f32) * 1.3"]
    got = run(texts, device, {}, f32, tile=(4,), shape=(4,), lines=lines)
    x = np.float32(7) * np.float32(1.3)
    numbers = [7, int(x), np.float16(x), 1, 3, 2.75]
    assert_all(texts, got, [np.full(4, v, np.float32) for v in numbers])


def test_the_judge_agrees_with_ml_dtypes(rng):
    """Where NumPy and ml_dtypes convert in one step, they give the same as the fractions here."""
    for source in (f32, f16, bf16):
        values = source_values(source, rng)
        for to in (*FLOATS[:3], f8e4m3fn, f8e5m2, f4e2m1fn):
            numbers = wide(values).tolist()
            with np.errstate(all="ignore"):
                direct, ours = values.astype(np.float32).astype(to.np), as_float(numbers, to)
            if to is f4e2m1fn:
                direct, ours = without_nan(direct, numbers), without_nan(ours, numbers)
            assert_all([f"{source} to {to}"], [direct], [ours], values)
    for dtype in INTS:
        values = int_values(dtype, rng)
        assert_all([str(dtype)], [as_float(values.tolist(), f64)], [values.astype(np.float64)])
