"""Matrix multiply-accumulate against exact integers and f64."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from support.ir import apply
from support.numbers import fresh_rng
from tilewright.base.dtypes import (
    bf16,
    f4e2m1fn,
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
)  # fmt: skip
from tilewright.ir.ops.matmul import FLOAT_ACCUMULATORS

PAIRS = [(a, acc) for a, accs in FLOAT_ACCUMULATORS.items() for acc in accs]
SHAPES = [((1, 1), (1, 1)), ((16, 32), (32, 8)), ((3, 5), (5, 7)), ((2, 4, 8), (2, 8, 4))]


def small(dtype, shape):
    """Integers so small that every sum of products is exact in every type."""
    return fresh_rng().integers(-3, 4, shape).astype(dtype.np)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize(("dtype", "acc"), PAIRS)
def test_exact_sums(dtype, acc, a, b):
    lhs, rhs = small(dtype, a), small(dtype, b)
    start = small(acc, (*a[:-1], b[-1]))
    got = apply("mmaf", (dtype, lhs), (dtype, rhs), (acc, start))
    assert got.dtype == acc.np
    wide = [x.astype(np.int64) for x in (lhs, rhs, start)]
    assert np.array_equal(got.astype(np.int64), wide[2] + wide[0] @ wide[1])


@pytest.mark.parametrize(("dtype", "acc"), PAIRS)
def test_rounded_sums(dtype, acc):
    rng = fresh_rng()
    lhs = rng.standard_normal((16, 64)).astype(dtype.np)
    rhs = rng.standard_normal((64, 16)).astype(dtype.np)
    start = rng.standard_normal((16, 16)).astype(acc.np)
    got = apply("mmaf", (dtype, lhs), (dtype, rhs), (acc, start)).astype(np.float64)
    wide = [x.astype(np.float64) for x in (lhs, rhs, start)]
    expected = wide[2] + np.einsum("mk,kn->mn", wide[0], wide[1])
    bound = {f16: 2.0**-10, f32: 2.0**-22, f64: 2.0**-43}[acc]
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound)


def test_f16_accumulators_round_once_at_the_end():
    """Rounding after each product would never leave 2048."""
    lhs = np.ones((1, 64), np.float16)
    rhs = np.ones((64, 1), np.float16)
    start = np.full((1, 1), 2048, np.float16)
    assert apply("mmaf", (f16, lhs), (f16, rhs), (f16, start)).tolist() == [[2112]]


def test_special_values_spread():
    lhs, rhs = [[inf, 1.0], [nan, 0.0]], [[1.0, 0.0], [1.0, 1.0]]
    got = apply("mmaf", (f32, lhs), (f32, rhs), (f32, np.zeros((2, 2))))
    np.testing.assert_array_equal(got, [[inf, nan], [nan, nan]])


@pytest.mark.parametrize("left", [i8, u8])
@pytest.mark.parametrize("right", [i8, u8])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_integers_by_their_own_sign(left, right, a, b):
    rng = fresh_rng()
    lhs = rng.integers(0, 256, a, dtype=np.uint8).view(left.np)
    rhs = rng.integers(0, 256, b, dtype=np.uint8).view(right.np)
    start = rng.integers(-(2**31), 2**31, (*a[:-1], b[-1])).astype(np.int32)
    got = apply("mmai", (left, lhs), (right, rhs), (i32, start))
    total = start.astype(np.int64) + lhs.astype(np.int64) @ rhs.astype(np.int64)
    assert np.array_equal(got, total.astype(np.int32))


def test_integers_wrap_in_i32():
    lhs, rhs = np.full((1, 2), 255, np.uint8), np.full((2, 1), 255, np.uint8)
    start = np.full((1, 1), 2**31 - 1, np.int32)
    got = apply("mmai", (u8, lhs), (u8, rhs), (i32, start))
    assert int(got[0, 0]) == 2**31 - 1 + 2 * 255 * 255 - 2**32


SCALED = [
    (f8e4m3fn, f8e8m0fnu, 32), (f8e5m2, f8e8m0fnu, 32), (f4e2m1fn, f8e8m0fnu, 16),
    (f4e2m1fn, f8e8m0fnu, 32), (f4e2m1fn, f8e4m3fn, 16),
]  # fmt: skip


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(("dtype", "scale", "run"), SCALED)
def test_scaled(dtype, scale, run, batch):
    rng = fresh_rng()
    m, k, n = 8, 64, 4
    lhs, rhs = small(dtype, (*batch, m, k)), small(dtype, (*batch, k, n))
    lhs_scale = 2.0 ** rng.integers(-2, 3, (*batch, m, k // run))
    rhs_scale = 2.0 ** rng.integers(-2, 3, (*batch, k // run, n))
    start = small(f32, (*batch, m, n))
    got = apply(
        "mmaf_scaled", (dtype, lhs), (dtype, rhs), (f32, start),
        (scale, lhs_scale.astype(scale.np)), (scale, rhs_scale.astype(scale.np)),
    )  # fmt: skip
    expected = start.astype(np.float64)
    for i in np.ndindex(*batch, m, n, k):
        *at, r, c, j = i
        left = float(lhs[*at, r, j]) * lhs_scale[*at, r, j // run]
        expected[*at, r, c] += left * float(rhs[*at, j, c]) * rhs_scale[*at, j // run, c]
    assert np.array_equal(got.astype(np.float64), expected)


def test_tf32_and_bf16_operands_are_exact():
    lhs, rhs = np.full((1, 1), 1 + 2.0**-10, np.float32), np.full((1, 1), 1.0, np.float32)
    zero = np.zeros((1, 1))
    assert apply("mmaf", (tf32, lhs), (tf32, rhs), (f32, zero)).tolist() == [[1 + 2.0**-10]]
    half = np.full((1, 1), 1 + 2.0**-7)
    got = apply("mmaf", (bf16, half), (bf16, half), (f32, zero))
    assert got.tolist() == [[(1 + 2.0**-7) ** 2]]
