"""Loops on CUDA: their bounds are compared as signed or unsigned, as their type is."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output
from tilewright.base.dtypes import i32, i64, u32


@tw.entry
def summed(out: tl.TensorMut[i64], low: i32, high: i32, step: i32) -> None:
    total = i64(0)
    for i in range(low, high, step):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def summed_unsigned(out: tl.TensorMut[i64], low: u32, high: u32, step: u32) -> None:
    total = i64(0)
    for i in range(low, high, step):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def counted(out: tl.TensorMut[i64], low: i32, high: i32) -> None:
    total = i64(0)
    for i in range(low, high):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def counted_unsigned(out: tl.TensorMut[i64], low: u32, high: u32) -> None:
    total = i64(0)
    for i in range(low, high):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


HALF = 1 << 31


@pytest.mark.parametrize(
    ("kernel", "bounds"),
    [
        (summed, (-3, 4, 2)), (summed, (-HALF, -HALF + 3, 1)), (summed, (3, -3, 1)),
        (summed_unsigned, (HALF - 2, HALF + 2, 1)), (summed_unsigned, (1, 2 * HALF - 1, HALF)),
        (summed_unsigned, (HALF + 1, 5, 1)), (counted, (-3, 4)), (counted, (3, -3)),
        (counted_unsigned, (HALF - 2, HALF + 2)), (counted_unsigned, (HALF + 2, 5)),
    ],
)  # fmt: skip
def test_bounds_on_both_sides_of_zero_or_of_the_sign(kernel, bounds, simulated_gpu):
    z = Output((1,), i64)
    kernel(z.cut(1), *bounds).sync()
    assert z.result().tolist() == [sum(i + 1000 for i in range(*bounds))]
