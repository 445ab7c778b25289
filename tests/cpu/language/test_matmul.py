"""Matrix products of every pair of element and accumulator types, beside exact sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, held, run
from support.numbers import wide
from tilewright.base.dtypes import (
    bf16,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i32,
    tf32,
    u8,
)

FLOAT_PAIRS = [
    (f16, f32), (f16, f16), (bf16, f32), (tf32, f32), (f32, f32), (f64, f64), (f8e4m3fn, f32),
    (f8e4m3fn, f16), (f8e5m2, f32), (f8e5m2, f16),
]  # fmt: skip
BYTE_PAIRS = list(itertools.product((i8, u8), repeat=2))
SIZES = [(1, 1, 1), (15, 31, 17), (16, 32, 16), (17, 33, 31), (16, 7, 5), (3, 64, 2)]
"""M, K, N around tiles of 16, 32 and 16."""


@tw.entry
def product(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 32) -> None:
    """z + x @ y, in the type of z."""
    bm, bn = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((bm, BK)), y.partition((BK, bn))
    acc = z.load()
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


def small(dtype, shape, rng):
    """Whole numbers and halves so small that every sum of their products is exact."""
    values = rng.integers(-4, 5, shape) if dtype is not u8 else rng.integers(0, 5, shape)
    return values.astype(dtype.np)


def matmul(x, y, start):
    return wide(x) @ wide(y) + wide(start)


def multiply(device, x, y, start, dtypes, tile=(16, 16), **constants):
    """Run `product` on top of `start`."""
    with tw.device(device):
        z = Output(start.shape, dtypes[2])
        z.array[...] = start
        product(z.cut(*tile), held(x, dtypes[0]), held(y, dtypes[1]), **constants).sync()
        return z.result()


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("element", "sums"), FLOAT_PAIRS, ids=str)
def test_every_pair_of_floats(device, element, sums, rng):
    for m, k, n in SIZES:
        x, y = small(element, (m, k), rng), small(element, (k, n), rng)
        start = small(sums, (m, n), rng)
        got = multiply(device, x, y, start, (element, element, sums))
        assert_all([f"{m}, {k}, {n}"], [got], [matmul(x, y, start).astype(sums.np)])


@pytest.mark.parametrize(("left", "right"), BYTE_PAIRS, ids=str)
def test_every_pair_of_bytes(device, left, right, rng):
    for m, k, n in SIZES:
        x, y = (rng.integers(0, 256, s, dtype=np.uint8) for s in ((m, k), (k, n)))
        x, y = x.view(left.np), y.view(right.np)
        start = rng.integers(-(2**31), 2**31, (m, n)).astype(np.int32)
        got = multiply(device, x, y, start, (left, right, i32))
        with np.errstate(over="ignore"):
            exact = x.astype(np.int32) @ y.astype(np.int32) + start
        assert_all([f"{m}, {k}, {n}"], [got], [exact])


def test_half_sums_round_once(device):
    """Added up one by one in f16, the small products would all be lost."""
    x = np.full((16, 32), 0.5, np.float16)
    x[:, 0] = 2048
    y = np.ones((32, 16), np.float16)
    got = multiply(device, x, y, np.zeros((16, 16), np.float16), (f16, f16, f16))
    assert (got == np.float16(2048 + 31 * 0.5)).all()


@pytest.mark.parametrize(("element", "sums"), FLOAT_PAIRS, ids=str)
def test_random_numbers_stay_within_the_bound(device, element, sums, rng):
    m, k, n = 20, 75, 18
    x, y = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    if element is tf32:
        x, y = (tw.from_numpy(a, tf32).sync().to_numpy() for a in (x, y))
    else:
        x, y = x.astype(element.np), y.astype(element.np)
    got = multiply(device, x, y, np.zeros((m, n), sums.np), (element, element, sums))
    exact = wide(x) @ wide(y)
    scale = np.abs(wide(x)) @ np.abs(wide(y))
    step = {f16: 2.0**-10, f32: 2.0**-23, f64: 2.0**-52}[sums]
    # f16 is rounded after each of three steps along the inner axis, and its sums are in f32.
    terms = 3 if sums is f16 else k
    assert (np.abs(wide(got) - exact) <= terms * step * scale).all()


MATMUL = {f16: f32, bf16: f32, tf32: f32, f32: f32, f64: f64, f8e4m3fn: f32, f8e5m2: f32,
          i8: i32, u8: i32}  # fmt: skip


@pytest.mark.thinned(5)
@pytest.mark.parametrize("element", MATMUL, ids=str)
def test_operators_and_batches(device, element, rng):
    """`a @ b`, mma by its other names, and products of rank 3."""
    sums = MATMUL[element]
    a, b = small(element, (2, 8, 4), rng), small(element, (2, 4, 16), rng)
    start = small(sums, (2, 8, 16), rng)
    other = "tl.mmai" if element in (i8, u8) else "tl.mmaf"
    texts = [
        "a @ b", "tl.mma(a, b, c)", f"{other}(a, b, c)",
        "tl.mma(b.permute(0, 2, 1), a.permute(0, 2, 1), c.permute(0, 2, 1)).permute(0, 2, 1)",
    ]  # fmt: skip
    inputs = {"a": (a, element), "b": (b, element), "c": (start, sums)}
    lines = [
        "a = in_a.load_tile((2, 8, 4), [0, 0, 0])", "b = in_b.load_tile((2, 4, 16), [0, 0, 0])",
        "c = in_c.load_tile((2, 8, 16), [0, 0, 0])",
    ]  # fmt: skip
    got = run(texts, device, inputs, sums, tile=(2, 8, 16), shape=(2, 8, 16), load="{}",
              lines=lines)  # fmt: skip
    plain = wide(a) @ wide(b)
    expected = [plain, *[plain + wide(start)] * 3]
    assert_all(texts, got, [e.astype(sums.np) for e in expected])


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 64, 1), (64, 1, 32), (2, 2, 128), (128, 4, 2)])
def test_thin_tiles(device, shape, rng):
    m, k, n = shape
    x, y, start = small(f32, (m, k), rng), small(f32, (k, n), rng), small(f32, (m, n), rng)
    got = multiply(device, x, y, start, (f32, f32, f32), tile=(m, n), BK=k)
    assert_all([str(shape)], [got], [matmul(x, y, start).astype(np.float32)])


def test_mixed_signs_by_name(device, rng):
    a, b = (
        rng.integers(-128, 128, (8, 8)).astype(np.int8),
        rng.integers(0, 256, (8, 8)).astype(np.uint8),
    )
    texts = ["tl.mmai(a, b, tl.zeros((8, 8), i32))", "a @ b", "b @ a", "a.T @ b.T"]
    got = run(texts, device, {"a": a, "b": b}, i32, tile=(8, 8))
    x, y = a.astype(np.int32), b.astype(np.int32)
    assert_all(texts, got, [x @ y, x @ y, y @ x, x.T @ y.T])


def test_fast_accumulation_is_still_a_product(device, rng):
    a, b = small(f8e4m3fn, (16, 32), rng), small(f8e4m3fn, (32, 16), rng)
    texts = ["tl.mmaf(a, b, tl.zeros((16, 16), f32), fast_acc=True)"]
    lines = ["a = in_a.load_tile((16, 32), [0, 0])", "b = in_b.load_tile((32, 16), [0, 0])"]
    got = run(texts, device, {"a": a, "b": b}, f32, tile=(16, 16), shape=(16, 16), load="{}",
              lines=lines)  # fmt: skip
    assert_all(texts, got, [(wide(a) @ wide(b)).astype(np.float32)])


# --- block-scaled products ---------------------------------------------------------------------

SCALED = [
    (f8e4m3fn, f8e8m0fnu, 32), (f8e5m2, f8e8m0fnu, 32), (f4e2m1fn, f8e8m0fnu, 16),
    (f4e2m1fn, f8e8m0fnu, 32), (f4e2m1fn, f8e4m3fn, 16),
]  # fmt: skip


@pytest.mark.thinned(5)
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize(("element", "scale", "run_length"), SCALED, ids=str)
def test_scaled_products(device, element, scale, run_length, batch, rng):
    m, k, n = 8, 64, 16
    a, b = (rng.integers(-4, 5, (*batch, *s)) / 2 for s in ((m, k), (k, n)))
    a, b = a.astype(element.np), b.astype(element.np)
    runs = k // run_length
    sa, sb = (2.0 ** rng.integers(-3, 4, (*batch, *s)) for s in ((m, runs), (runs, n)))
    start = rng.integers(-9, 9, (*batch, m, n)).astype(np.float32)
    given = {"a": operand(a, element, 0), "b": operand(b, element, 1),
             "s": (sa.astype(scale.np), scale), "t": (sb.astype(scale.np), scale),
             "c": (start, f32)}  # fmt: skip
    lines = [f"{name} = in_{name}.load_tile({given[name][0].shape}, {[0] * (2 + len(batch))})"
             for name in given]  # fmt: skip
    if element is f4e2m1fn:
        back = "(0, 2, 1)" if batch else "(1, 0)"
        lines += ["a = a.unpack()", f"b = b.unpack().permute({back})"]
    text = "tl.mmaf_scaled(a, b, c, s, t)"
    got = run([text], device, given, f32, tile=start.shape, shape=start.shape, load="{}",
              lines=lines)  # fmt: skip
    left = wide(a) * np.repeat(sa, run_length, -1)
    right = wide(b) * np.repeat(sb, run_length, -2)
    assert_all([text], got, [(left @ right + start).astype(np.float32)])


def operand(values, dtype, axis):
    """What is stored: the values, or pairs of f4 along K (b is stored with K last)."""
    if dtype is not f4e2m1fn:
        return values, dtype
    codes = values if axis == 0 else values.swapaxes(-1, -2)
    codes = np.ascontiguousarray(codes).view(np.uint8) & 0xF
    return np.ascontiguousarray(codes[..., 0::2] | codes[..., 1::2] << 4), f4e2m1fnx2


def test_scales_that_overflow_or_are_nan(device):
    """A scale of NaN reaches its run's products only; large ones give infinities."""
    a, b = np.ones((2, 32), f8e4m3fn.np), np.ones((32, 2), f8e4m3fn.np)
    sa = np.array([[1.0], [np.nan]]).astype(f8e8m0fnu.np)
    sb = np.array([[2.0**127, 1.0]]).astype(f8e8m0fnu.np)
    inputs = {"a": a, "b": b, "s": sa, "t": sb}
    lines = [f"{n} = in_{n}.load_tile({v.shape}, [0, 0])" for n, v in inputs.items()]
    text = "tl.mmaf_scaled(a, b, tl.zeros((2, 2), f32), s, t)"
    (got,) = run([text], device, inputs, f32, tile=(2, 2), shape=(2, 2), load="{}", lines=lines)
    assert got[0, 0] == np.inf and got[0, 1] == 32
    assert np.isnan(got[1]).all()


@tw.entry
def reshaped(
    z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, TILE: tl.Const[tuple[int, int]],
    A: tl.Const[tuple[int, int]], B: tl.Const[tuple[int, int]],
) -> None:  # fmt: skip
    acc = z.load()
    for k in range(tl.num_tiles(x.partition(TILE), 1)):
        a, b = x.load_tile(TILE, (0, k)), y.load_tile(TILE, (0, k))
        acc = tl.mma(a.reshape(A), b.reshape(B), acc)
    z.store(acc)


RESHAPED = [
    ((2, 8), (4, 4)), ((4, 8), (2, 16)), ((4, 8), (16, 2)), ((2, 4), (4, 2)), ((8, 2), (4, 4)),
    ((1, 64), (8, 8)), ((8, 16), (32, 4)),
]  # fmt: skip
"""Tiles, and what the second factor becomes."""


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", [i8, u8, f16, bf16, f32, f64, f8e4m3fn], ids=str)
@pytest.mark.parametrize(("tile", "shape"), RESHAPED, ids=str)
def test_reshaped_factors(device, rng, dtype, tile, shape):
    """Rows too short for bulk copies, elements of a thread that lie apart in memory."""
    to = i32 if dtype in (i8, u8) else f64 if dtype is f64 else f32
    other = shape[::-1]
    x, y = (small(dtype, (tile[0], 3 * tile[1]), rng) for _ in range(2))
    parts = [slice(k * tile[1], (k + 1) * tile[1]) for k in range(3)]
    exact = sum(wide(x[:, p]).reshape(other) @ wide(y[:, p]).reshape(shape) for p in parts)
    with tw.device(device):
        z = tw.ones((other[0], shape[1]), to).sync()
        constants = {"TILE": tile, "A": other, "B": shape}
        reshaped(z.partition_mut(z.shape), x, y, **constants).sync()
        np.testing.assert_array_equal(z.to_numpy(), exact + 1)
