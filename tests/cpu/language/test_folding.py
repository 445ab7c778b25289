"""Constants are computed while compiling: what comes out is what a kernel would have computed."""

from __future__ import annotations

import numpy as np
import pytest

from support import floats, integers
from support.expressions import assert_all, once, run, wrapped
from support.functions import erf
from support.rounding import rounded
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bool_,
    f8e4m3fn,
    f8e5m2,
    f32,
    f64,
    i8,
    i32,
    i64,
    int_range,
    u32,
)

SHAPE = (4,)


def constant(value, dtype):
    """A tile of one number, as a kernel writes it."""
    text = f"float('{value}')" if dtype.is_float else repr(value)
    return f"tl.full({SHAPE}, {text}, {dtype.__name__})"


def folded(device, table, x, y, dtype, results):
    lines = [f"a = {constant(x, dtype)}", f"b = {constant(y, dtype)}"]
    return run([*table], device, {}, results, tile=SHAPE, shape=SHAPE, lines=lines)


def tried(pairs, device, rng):
    """All pairs in the reference; the same folding runs for the CPU, so one is enough there."""
    return pairs if device == "reference" else [pairs[rng.integers(len(pairs))]]


def int_pairs(dtype):
    low, high = int_range(dtype)
    small = -7 if dtype.is_signed else 7
    least = -1 if dtype.is_signed else high
    return [(low, least), (small, 2), (high, 0), (1, dtype.bits)]


@pytest.mark.parametrize("dtype", [i8, u32, i64], ids=str)
def test_integers(device, dtype, rng):
    table, compared = once(integers.table_of(dtype)), once(integers.COMPARED)
    texts = [*table, *compared]
    results = [dtype] * len(table) + [bool_] * len(compared)
    for x, y in tried(int_pairs(dtype), device, rng):
        got = folded(device, texts, x, y, dtype, results)
        exact = [f(x, y, dtype) for f in (*table.values(), *compared.values())]
        expected = [np.repeat(wrapped([e], to), 4) for e, to in zip(exact, results, strict=True)]
        assert_all([f"{t} of {x}, {y}" for t in texts], got, expected)


FLOAT_PAIRS = [
    (0.1, 3.0), ("nan", 1.0), ("inf", -0.0), (-0.0, 0.0), (65504.0, -65504.0), (1e-7, 6e-8),
]  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats(device, dtype, rng):
    table, compared = once(floats.EXACT), once(floats.COMPARED)
    texts = [*table, *compared]
    results = [dtype] * len(table) + [bool_] * len(compared)
    r = floats.rounder(dtype)
    for x, y in tried(FLOAT_PAIRS, device, rng):
        got = folded(device, texts, x, y, dtype, results)
        a, b = (np.array([rounded(float(v), dtype)] * 4).astype(dtype.np) for v in (x, y))
        expected = [
            floats.computed(lambda p, q, f=f: f(p, q, r), dtype, a, b) for f in table.values()
        ]
        wide = a.astype(np.float64), b.astype(np.float64)
        expected += [np.asarray(f(*wide), bool) for f in compared.values()]
        assert_all([f"{t} of {x}, {y}" for t in texts], got, expected)


TARGETS = [*INTS, *FLOATS, f8e4m3fn, f8e5m2, bool_]


def converted(value, to):
    if to.is_bool:
        return np.full(SHAPE, value != 0)
    if to.is_float:
        with np.errstate(over="ignore"):
            return np.full(SHAPE, rounded(value, to), np.float64).astype(to.np)
    low, high = int_range(to)
    if isinstance(value, float):
        inside = 0 if value != value else min(max(value, low), high)
        return np.full(SHAPE, int(inside), to.np)
    return np.repeat(wrapped([value], to), 4)


@pytest.mark.parametrize(
    ("value", "source"),
    [(0.1, f64), (1e300, f64), (-2.5, f32), (float("nan"), f32), (float("-inf"), f32), (449.0, f32),
     (3.0000001, f64), (-1, i64), (2**63 - 1, i64), (2**53 + 1, i64), (200, u32), (16777217, i32)],
    ids=str,
)  # fmt: skip
def test_conversions(device, value, source):
    exact = rounded(value, source) if source.is_float else value
    texts = [f"a.astype({t.__name__})" for t in TARGETS]
    lines = [f"a = {constant(value, source)}"]
    got = run(texts, device, {}, TARGETS, tile=SHAPE, shape=SHAPE, lines=lines)
    assert_all([f"{value} to {t}" for t in TARGETS], got, [converted(exact, t) for t in TARGETS])


FUNCTIONS = {
    "tl.exp(a)": np.exp, "tl.log(a)": np.log, "tl.sin(a)": np.sin, "tl.tanh(a)": np.tanh,
    "tl.exp2(a)": np.exp2, "tl.rsqrt(a)": lambda x: 1 / np.sqrt(x), "tl.pow(a, 2.5)":
    lambda x: np.power(x, 2.5), "tl.atan2(a, 3.0)": lambda x: np.arctan2(x, 3),
    "tl.expm1(a)": np.expm1, "tl.log1p(a)": np.log1p, "tl.erf(a)": erf, "tl.cbrt(a)": np.cbrt,
}  # fmt: skip


@pytest.mark.parametrize("value", [0.7, 3.25, -1.5, 0.0, float("inf"), float("nan")])
def test_functions(device, value):
    lines = [f"a = {constant(value, f64)}"]
    got = run([*FUNCTIONS], device, {}, f64, tile=SHAPE, shape=SHAPE, lines=lines)
    for (text, function), result in zip(FUNCTIONS.items(), got, strict=True):
        with np.errstate(all="ignore"):
            exact = function(np.longdouble(value)).astype(np.float64)
        np.testing.assert_allclose(result, np.full(SHAPE, exact), rtol=5e-16, err_msg=text)


def test_layout_and_reductions_of_constants(device):
    """Counting, arranging and adding up numbers that are all known."""
    texts = {
        "tl.reduce_sum(tl.arange(16).reshape(4, 4), 1)": np.arange(16).reshape(4, 4).sum(1),
        "tl.arange(8).reshape(2, 4).T.reshape(8)": np.arange(8).reshape(2, 4).T.reshape(8),
        "tl.cumsum(tl.full((4,), 3))": [3, 6, 9, 12],
        "tl.cat(tl.arange(4), tl.full((4,), 9), 0)": [0, 1, 2, 3, 9, 9, 9, 9],
        "tl.extract(tl.arange(8) * 2, 1, 4)": [8, 10, 12, 14],
        "tl.where(tl.arange(4) < 2, 5, tl.arange(4))": [5, 5, 2, 3],
        "tl.full((4,), tl.reduce_max(tl.arange(4) ^ 2))": [3, 3, 3, 3],
        "tl.zeros((4, 4), i32).sum(0)": [0, 0, 0, 0],
        "tl.ones((4, 8), i32).prod(1) + tl.ones((4, 8), i32).sum(1)": [9, 9, 9, 9],
        "tl.full((4,), 7) // tl.full((4,), 0)": [0, 0, 0, 0],
    }
    expected = [np.array(v, np.int32) for v in texts.values()]
    shapes = [e.shape for e in expected]
    got = run([*texts], device, {}, i32, tile=shapes, shape=shapes)
    assert_all([*texts], got, expected)
