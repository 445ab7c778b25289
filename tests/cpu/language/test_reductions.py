"""Reductions and scans of every element type, along every axis, padded and not."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import assert_all, run
from support.numbers import float_values, int_values
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bf16,
    bool_,
    f8e4m3fn,
    f16,
    f32,
    f64,
    i32,
    int_range,
)

NUMBERS = [*INTS, *FLOATS]
SHAPES = [(1, 1), (3, 15), (4, 16), (3, 13), (2, 1), (1, 16)]
"""Parts of a tile of (4, 16): one element, all but the last, all, primes."""


def reduced(name, dtype):
    """The forms of one reduction, with what NumPy gives for each; few for most element types."""
    function = getattr(np, name.removeprefix("reduce_"))
    method = name.removeprefix("reduce_")

    def of(axis, keepdims=False):
        return lambda a: np.asarray(function(a, axis=axis, keepdims=keepdims))

    few = {f"tl.{name}(a, 1)": of(1), f"a.{method}(0, keepdims=True)": of(0, True)}
    if dtype not in (f32, i32):
        return few
    several = {
        f"tl.full((1,), a.{method}((0, 1)))": lambda a: of(None)(a).reshape(1),
        f"tl.{name}(a, (1,))": of(1),
    }
    return few | ({} if "arg" in name else several) | {
        f"tl.{name}(a, axis=0)": of(0), f"a.{method}(-1)": of(1),
        f"tl.{name}(a, 1, keepdims=True)": of(1, True),
        f"tl.full((1,), tl.{name}(a))": lambda a: of(None)(a).reshape(1),
        f"a.{method}(keepdims=True)": of(None, True),
    }  # fmt: skip


def limits(dtype):
    if dtype.is_bool:
        return False, True
    return ("float('-inf')", "float('inf')") if dtype.is_float else int_range(dtype)


def check(device, table, a, dtype, result, padding, cast=None):
    """Run a table of reductions on one edge tile; what is padded must not be seen."""
    with np.errstate(all="ignore"):
        expected = [f(a if cast is None else a.astype(cast)) for f in table.values()]
        expected = [e.astype(result.np) for e in expected]
    lines = [f"a = in_a.load_tile((4, 16), [0, 0], padding={padding})"]
    tiles = [tile_of(text, e.ndim) for text, e in zip(table, expected, strict=True)]
    got = run([*table], device, {"a": a}, result, tile=tiles,
              shape=[e.shape for e in expected], load="{}", lines=lines)  # fmt: skip
    assert_all([*table], got, expected)


def tile_of(text, rank):
    """The shape of the result's tile, from how the reduction is written."""
    kept = "keepdims" in text
    if rank == 2 and kept:
        return (4, 1) if "(a, 1" in text else (1, 16) if "(0" in text else (1, 1)
    if "tl.full" in text:
        return (1,)
    return (16,) if "axis=0" in text else (4,)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_sums(device, dtype, rng):
    """Whole numbers: exact in every order; f16 and bf16 are rounded once, at the end."""
    low, high = (0, 9) if dtype.kind == "u" else (-9, 9)
    for shape in SHAPES:
        a = rng.integers(low, high, shape).astype(dtype.np)
        wide = np.float64 if dtype.is_float else dtype.np
        check(device, reduced("reduce_sum", dtype), a, dtype, dtype, 0, wide)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_sums_and_products_wrap(device, dtype, rng):
    a = rng.choice(int_values(dtype, rng), (4, 16))
    with np.errstate(over="ignore"):
        check(device, reduced("reduce_sum", dtype), a, dtype, dtype, 0, dtype.np)
        check(device, reduced("reduce_prod", dtype), a, dtype, dtype, 1, dtype.np)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_products(device, dtype, rng):
    """Powers of two: exact in every order."""
    choices = [1, 2] if dtype.is_int else [1, -1, 2, -2, 0.5]
    for shape in SHAPES:
        a = rng.choice(choices, shape, p=None).astype(dtype.np)
        with np.errstate(over="ignore"):
            wide = np.float64 if dtype.is_float else dtype.np
            check(device, reduced("reduce_prod", dtype), a, dtype, dtype, 1, wide)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_extrema(device, dtype, rng):
    low, high = limits(dtype)
    values = int_values(dtype, rng) if dtype.is_int else float_values(dtype, rng)
    for shape in SHAPES:
        a = rng.choice(values, shape)
        if dtype.is_float and rng.random() < 0.7:
            a = np.where(np.isnan(a) | (a == 0), dtype.np.type(3), a)
        # Zeros of both signs are left to the test of `maximum`: NumPy takes either one.
        a = np.where(a == 0, dtype.np.type(0), a)
        check(device, reduced("reduce_max", dtype), a, dtype, dtype, low)
        check(device, reduced("reduce_min", dtype), a, dtype, dtype, high)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", [*NUMBERS, bool_], ids=str)
def test_places_of_extrema(device, dtype, rng):
    """The first of equals and the first NaN, as NumPy has it."""
    low, high = limits(dtype)
    few = [0, 1, 2] if dtype.is_int or dtype.is_bool else [0.0, -0.0, 1.5, -2.5, np.nan]
    for shape in SHAPES:
        a = rng.choice(few, shape).astype(dtype.np)
        for name, padding in (("argmax", low), ("argmin", high)):
            table = reduced(name, dtype)
            if shape != (4, 16):  # flattened, a tile counts its padding too
                table = {t: f for t, f in table.items() if "(a))" not in t and f"{name}(k" not in t}
            check(device, table, a, dtype, i32, padding)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", [*NUMBERS, bool_], ids=str)
def test_any_and_all(device, dtype, rng):
    for shape in SHAPES:
        for share in (0.0, 0.1, 0.9, 1.0):
            a = (rng.random(shape) < share).astype(dtype.np)
            check(device, reduced("any", dtype), a, dtype, bool_, 0)
            check(device, reduced("all", dtype), a, dtype, bool_, 1)


def test_booleans_are_counted(device, rng):
    for shape in SHAPES:
        a = rng.random(shape) < 0.5
        check(device, reduced("reduce_sum", bool_), a, bool_, i32, 0, np.int32)
        check(device, reduced("reduce_max", bool_), a, bool_, bool_, 0)
        check(device, reduced("reduce_min", bool_), a, bool_, bool_, 1)


@pytest.mark.parametrize("dtype", [f8e4m3fn], ids=str)
def test_truth_of_small_floats(device, dtype, rng):
    a = rng.choice([0.0, -0.0, 0.5, np.nan], (4, 16)).astype(dtype.np)
    texts = ["tl.any(a, 1)", "tl.all(a, 0)"]
    got = run(texts, device, {"a": a}, bool_, tile=[(4,), (16,)], shape=[(4,), (16,)], load="{}",
              lines=["a = in_a.load_tile((4, 16), [0, 0], padding=None)"])  # fmt: skip
    truth = a.astype(np.float32) != 0
    assert_all(texts, got, [truth.any(1), truth.all(0)])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_any_floats_stay_within_their_bound(device, dtype, rng):
    a = rng.standard_normal((8, 1024)).astype(dtype.np)
    texts = ["tl.reduce_sum(a, 1)", "tl.reduce_sum(a, 0)"]
    rows, columns = run(texts, device, {"a": a}, dtype, tile=[(8,), (1024,)],
                        shape=[(8,), (1024,)], load="{}.load_tile((8, 1024), [0, 0])")  # fmt: skip
    wide = a.astype(np.float64)
    step = {f16: 2.0**-10, bf16: 2.0**-7, f32: 2.0**-23, f64: 2.0**-52}[dtype]
    for result, axis, count in ((rows, 1, 1024), (columns, 0, 8)):
        terms = 1 if dtype in (f16, bf16) else count
        bound = terms * step * np.abs(wide).sum(axis)
        assert (np.abs(result.astype(np.float64) - wide.sum(axis)) <= bound).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_negative_zeros_keep_their_sign(device, dtype):
    """As adding them up one by one does."""
    a = np.full((4, 16), -0.0, dtype.np)
    texts = ["tl.reduce_sum(a, 1)", "tl.cumsum(a, 1).sum(1)", "a.sum(0).reshape(4, 4).sum(0)"]
    lines = ["a = in_a.load_tile((4, 16), [0, 0], padding=tl.neg_zero)"]
    got = run(texts, device, {"a": a}, dtype, tile=(4,), shape=(4,), load="{}", lines=lines)
    assert_all(texts, got, [np.full(4, -0.0, dtype.np)] * 3)


OWN_SUMS = [
    "tl.reduce(a, 1, 0.0, lambda p, q: p + q, keepdims=True).broadcast(4, 16)",
    "tl.reduce(a, 0, 0.0, lambda p, q: q + p, keepdims=True).broadcast(4, 16)",
    *(f"tl.scan(a, {axis}, 0.0, lambda p, q: p + q, reverse={back})"
      for axis in (0, 1) for back in (False, True)),
    "tl.scan((a, a), 1, (0.0, 0.0), lambda p, q, r, s: (p + r, q + s))[1]",
    "tl.reduce((a, a), 0, (0.0, 0.0), lambda p, q, r, s: (p + r, q + s))[0].broadcast(4, 16)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_ones_own_keep_the_sign_of_zeros(device, dtype):
    """0.0, which everybody names for a sum, is not neutral for -0.0: no element meets it."""
    a = np.full((4, 16), -0.0, dtype.np)
    got = run(OWN_SUMS, device, {"a": a}, dtype, tile=(4, 16))
    assert_all(OWN_SUMS, got, [a] * len(OWN_SUMS))


# --- scans -------------------------------------------------------------------------------------


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_scans(device, dtype, rng):
    low, high = (0, 9) if dtype.kind == "u" else (-9, 9)
    texts = {
        "tl.cumsum(a)": lambda a: a.cumsum(0), "tl.cumsum(a, 1)": lambda a: a.cumsum(1),
        "tl.scan_sum(a, axis=-1)": lambda a: a.cumsum(1),
        "tl.cumsum(a, 1, reverse=True)": lambda a: a[:, ::-1].cumsum(1)[:, ::-1],
        "tl.scan_sum(a, 0, True)": lambda a: a[::-1].cumsum(0)[::-1],
        "tl.scan(a, 1, 1, lambda p, x: p * x)": lambda a: a.cumprod(1),
    }  # fmt: skip
    for shape in SHAPES:
        a = rng.integers(low, high, shape).astype(dtype.np)
        if dtype.is_float:
            a = rng.choice([1, -1, 2, 0.5], shape).astype(dtype.np)
        wide = a.astype(np.float64 if dtype.is_float else dtype.np)
        got = run([*texts], device, {"a": a}, dtype, tile=(4, 16))
        with np.errstate(over="ignore"):
            expected = [np.asarray(f(wide), wide.dtype).astype(dtype.np) for f in texts.values()]
        assert_all([*texts], got, expected, a)


def add(a, b):
    return a + b


def keep_greater(a, i, b, j):
    """The greater of two values with its place; the first of equals."""
    first = (a > b) | ((a == b) & (i < j))
    return chosen(first, a, b), chosen(first, i, j)


def chosen(cond, a, b):
    """A helper of a helper."""
    return tl.where(cond, a, b)


@tw.entry
def own_combiners(
    sums: tl.TensorMut[i32],
    best: tl.TensorMut[f32],
    place: tl.TensorMut[i32],
    longest: tl.TensorMut[i32],
    running: tl.TensorMut[f32],
    x: tl.Tensor[f32],
    n: tl.Tensor[i32],
) -> None:
    a = x.load_tile((4, 16), [0, 0], padding=tl.neg_inf)
    k = n.load_tile((4, 16), [0, 0])
    sums.store(tl.reduce(k, 1, 0, add))
    places = tl.arange(16)[None, :].broadcast(4, 16)
    value, where = tl.reduce((a, places), 1, (tl.neg_inf, 99), keep_greater)
    best.store(value)
    place.store(where)
    k = n.load_tile((4, 16), [0, 0], padding=-1)
    bits = tl.reduce(k, 0, -1, lambda p, q: p & q, keepdims=True)
    longest.store(bits)
    top, _ = tl.scan((a, places), 1, (tl.neg_inf, 99), keep_greater)
    running.store(top)


def test_combiners_of_ones_own(device, rng):
    """Functions, lambdas, tuples of tiles, helpers of helpers."""
    x = rng.choice([1.5, 2.5, -3.0, 7.25], (4, 16)).astype(np.float32)
    n = rng.integers(-100, 100, (4, 16)).astype(np.int32)
    with tw.device(device):
        outs = [
            tw.full(s, 99, d).sync()
            for s, d in (((4,), i32), ((4,), f32), ((4,), i32), ((1, 16), i32), ((4, 16), f32))
        ]
        cuts = [o.partition_mut(o.shape) for o in outs]
        own_combiners(*cuts, x, n).sync()
        got = [o.to_numpy() for o in outs]
    expected = [
        n.sum(1, dtype=np.int32), x.max(1), x.argmax(1).astype(np.int32),
        np.bitwise_and.reduce(n, axis=0, keepdims=True), np.maximum.accumulate(x, 1),
    ]  # fmt: skip
    assert_all(["sum", "best", "place", "bits", "running"], got, expected)


def test_mean_and_variance_in_one_pass(device, rng):
    """Three tiles reduced together: counts, means and squared distances."""

    @tw.entry
    def welford(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = x.load_tile((4, 64), [0, 0])
        ones = tl.ones((4, 64), f32)

        def combine(n, mean, m2, k, other, l2):
            total = n + k
            delta = other - mean
            share = tl.where(total > 0.0, k / tl.maximum(total, 1.0), 0.0)
            return total, mean + delta * share, m2 + l2 + delta * delta * n * share

        _, mean, m2 = tl.reduce((ones, tile, tile * 0.0), 1, (0, 0, 0), combine)
        out.store(tl.cat(mean[:, None], m2[:, None] / 64.0, 1))

    x = rng.standard_normal((4, 64)).astype(np.float32) + 3
    with tw.device(device):
        out = tw.full((4, 2), 99.0).sync()
        welford(out.partition_mut((4, 2)), x).sync()
        wide = x.astype(np.float64)
        expected = np.stack([wide.mean(1), wide.var(1)], 1)
        np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5)


def test_padding_that_would_be_seen_is_warned_of(device):
    @tw.entry
    def greatest(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.reduce_max(x.load_tile((4, 16), [0, 0]), 1))

    x = -np.ones((4, 13), np.float32)
    with tw.device(device):
        out = tw.empty((4,)).sync()
        with pytest.warns(tw.PaddingWarning, match="reduce_max"):
            greatest(out.partition_mut((4,)), x).sync()
        assert (out.to_numpy() == 0).all()  # the padding won, as the warning says
