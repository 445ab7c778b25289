"""Every operation on every float type, at every edge, beside NumPy and exact fractions."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import copysign, inf, isfinite

import numpy as np
import pytest

from support.expressions import BOUNDARY, assert_all, once, run
from support.floats import COMPARED, EXACT, computed, ordered, rounder
from support.numbers import float_values, nearest, neighbours, wide
from support.rounding import rounded
from tilewright.base.dtypes import FLOATS, bf16, bool_, f16, f32, f64

ONLY_F32 = ("tl.divf(a, b, rounding='full')", "tl.divf(a, b, rounding=tl.Rounding.APPROX)")
FLUSHING = {
    "tl.addf(a, b, ftz=True)": lambda a, b, r: a + b,
    "tl.mulf(a, b, ftz=True)": lambda a, b, r: a * b,
    "tl.maxf(a, b, ftz=True)": ordered(np.maximum),
}


def float_pairs(dtype, rng, count=8):
    values = float_values(dtype, rng, count)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def check(device, dtype, a, b):
    table, truths = once(EXACT), once(COMPARED)
    if dtype is f32:  # under all their names
        table, truths = EXACT | dict.fromkeys(ONLY_F32, EXACT["a / b"]), COMPARED
    texts = [*table, *truths]
    results = [dtype] * len(table) + [bool_] * len(truths)
    got = run(texts, device, {"a": a, "b": b}, results, tile=(16,))
    r = rounder(dtype)
    expected = [computed(lambda x, y, f=f: f(x, y, r), dtype, a, b) for f in table.values()]
    expected += [np.asarray(f(wide(a), wide(b)), bool) for f in truths.values()]
    bounded = [t for t in table if ("/" in t or "div" in t or "sqrt" in t) and "precise" not in t]
    rough = dict.fromkeys(bounded, 2) if (device, dtype) == ("cuda", f32) else None
    assert_all(texts, got, expected, a, b, ulps=rough)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_operation(device, dtype, rng):
    check(device, dtype, *float_pairs(dtype, rng, 5))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_boundary_shapes(device, dtype, rng):
    a, b = float_pairs(dtype, rng)
    for count in BOUNDARY:
        chosen = rng.integers(0, len(a), count)
        check(device, dtype, a[chosen], b[chosen])


def test_flushing_is_allowed_not_needed(device, rng):
    """The CPU and the reference keep subnormal numbers also where they may flush them.

    GPUs flush what they read, too.
    """
    a, b = float_pairs(f32, rng)
    got = run([*FLUSHING], device, {"a": a, "b": b}, f32, tile=(16,))
    expected = [computed(lambda x, y, f=f: f(x, y, None), f32, a, b) for f in FLUSHING.values()]
    if device == "cuda":
        tiny = np.finfo(np.float32).tiny
        flushed = (np.where(np.abs(x) < tiny, np.copysign(np.float32(0), x), x) for x in (a, b))
        a, b = flushed
        got = [np.where(np.abs(x) < tiny, np.float32(0), x) for x in got]
        kept = [computed(lambda x, y, f=f: f(x, y, None), f32, a, b) for f in FLUSHING.values()]
        expected = [np.where(np.abs(x) < tiny, np.float32(0), x) for x in kept]
    assert_all([*FLUSHING], got, expected, a, b)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_multiply_and_add(device, dtype, rng):
    """What is written as an expression is fused for f32 and f64, the same on every device."""
    a, b, c = triples(dtype, rng)
    inputs = {"a": a, "b": b, "c": c}
    texts = ["tl.fma(a, b, c)", "tl.fma(a, b, 1.5)", "tl.fma(a, 3, c)"]
    half, three = (np.full(a.shape, x, dtype.np) for x in (1.5, 3))
    expected = [fma(dtype, a, b, c), fma(dtype, a, b, half), fma(dtype, a, three, c)]
    assert_all(texts, run(texts, device, inputs, dtype, tile=(16,)), expected, a, b, c)
    # One kernel each: a product that is used twice is computed once, and not fused.
    for text, x, y, z in (
        ("a * b + c", a, b, c), ("c + a * b", a, b, c), ("a * b - c", a, b, -c),
        ("c - a * b", -a, b, c),
    ):  # fmt: skip
        got = run([text], device, inputs, dtype, tile=(16,))
        assert_all([text], got, [fma(dtype, x, y, z, fused=dtype.bits >= 32)], a, b, c)


def triples(dtype, rng):
    values = float_values(dtype, rng, 30)
    values = values[np.isfinite(wide(values)) & (wide(values) != 0)]
    return [rng.permutation(np.tile(values, 2)) for _ in range(3)]


def fma(dtype, *arrays, fused=True):
    """a * b + c: exact and rounded once; f16 and bf16 by way of f64."""
    if not fused:
        r = rounder(dtype)
        return computed(lambda a, b, c: r(a * b) + c, dtype, *arrays)
    results = []
    for a, b, c in zip(*(wide(x).tolist() for x in arrays), strict=True):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if dtype in (f16, bf16):
            results.append(rounded(a * b + c, dtype))
        else:
            results.append(copysign(nearest(exact, dtype), 1 if exact >= 0 else -1))
    with np.errstate(all="ignore"):
        return np.array(results, np.float64).astype(dtype.np)


DIRECTIONS = ("zero", "neg_inf", "pos_inf")
DIRECTED = {"addf": operator.add, "subf": operator.sub, "mulf": operator.mul, "divf": None}


def directed(name, mode, a, b, dtype):
    """The exact result, rounded in one direction."""
    if name == "divf" and b == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    x, y = Fraction(a), Fraction(b)
    exact = x / y if name == "divf" else DIRECTED[name](x, y)
    if exact == 0:
        return exact_zero(name, mode, a, b)
    below, above = neighbours(exact, dtype)
    toward = {"neg_inf": below, "pos_inf": above, "zero": below if exact > 0 else above}[mode]
    return copysign(toward, 1 if exact > 0 else -1)


def exact_zero(name, mode, a, b):
    """The sign of a zero: of its factors, or of both terms; else minus when rounding down."""
    second = copysign(1, b) * (-1 if name == "subf" else 1)
    if name in ("mulf", "divf"):
        return copysign(0.0, copysign(1, a) * second)
    if a == 0 and b == 0 and copysign(1, a) == second:
        return copysign(0.0, a)
    return -0.0 if mode == "neg_inf" else 0.0


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_directed_rounding(device, dtype, rng):
    values = float_values(dtype, rng, 6)
    values = values[np.isfinite(values)]
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    texts = {
        f"tl.{name}(a, b, rounding=tl.Rounding.{mode.upper()})": (name, mode)
        for name in DIRECTED for mode in DIRECTIONS
    }  # fmt: skip
    got = run([*texts], device, {"a": a, "b": b}, dtype, tile=(16,))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    expected = [
        np.array([directed(name, mode, x, y, dtype) for x, y in pairs], dtype.np)
        for name, mode in texts.values()
    ]
    assert_all([*texts], got, expected, a, b)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_directed_square_roots(device, dtype, rng):
    """A root rounded down squares to no more; its upper neighbour to more."""
    values = abs(float_values(dtype, rng, 60))
    values = values[np.isfinite(values)]
    texts = [f"tl.sqrt(a, rounding='{mode}')" for mode in DIRECTIONS]
    zero, down, up = run(texts, device, {"a": values}, dtype, tile=(16,))
    assert_all(["toward zero"], [zero], [down])
    for x, low, high in zip(values.tolist(), down.tolist(), up.tolist(), strict=True):
        exact = Fraction(x)
        assert Fraction(low) ** 2 <= exact <= Fraction(high) ** 2, x
        if Fraction(low) ** 2 == exact:
            assert low == high
        else:
            assert float(np.nextafter(dtype.np.type(low), dtype.np.type(inf))) == high


WIDENING = [(f16, f32), (f16, f64), (bf16, f32), (bf16, f64), (f32, f64)]


@pytest.mark.parametrize(("narrow", "broad"), WIDENING, ids=str)
def test_two_widths_meet_in_the_wider(device, narrow, broad, rng):
    a, b = float_values(narrow, rng), float_values(broad, rng)
    a = np.resize(a, b.shape)
    texts = ["a + b", "b - a", "a * b", "tl.maximum(a, b)", "tl.where(a < b, a, b)"]
    got = run(texts, device, {"a": a, "b": b}, broad, tile=(16,))
    functions = [
        lambda x, y, _: x + y, lambda x, y, _: y - x, lambda x, y, _: x * y, ordered(np.maximum),
        lambda x, y, _: np.where(x < y, x, y),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        x, y = a.astype(broad.np), b
        assert_all(texts, got, [f(x, y, None).astype(broad.np) for f in functions], a, b)


def test_nothing_here_is_trivial(rng):
    """The values reach both infinities, NaN, subnormals and both zeros."""
    for dtype in FLOATS:
        a = wide(float_values(dtype, rng))
        assert np.isnan(a).any() and (a == inf).any() and (a == -inf).any()
        assert (np.signbit(a) & (a == 0)).any() and isfinite(a[0])
