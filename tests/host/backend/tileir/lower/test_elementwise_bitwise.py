"""Shifts on CUDA by any amount at all: those that Tile IR leaves undefined have results, too."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output
from tilewright.base.dtypes import i8, i32, i64, u8, u32, u64


@tw.entry
def shifted(left: tl.TensorMut, right: tl.TensorMut, x: tl.Tensor, by: tl.Tensor) -> None:
    a, n = tl.load_tile_like(x, left), tl.load_tile_like(by, left)
    left.store(a << n)
    right.store(a >> n)


@pytest.mark.parametrize("dtype", [i8, i32, i64, u8, u32, u64], ids=str)
def test_amounts_around_the_width(dtype, simulated_gpu):
    width = dtype.bits
    amounts = [0, 1, width - 2, width - 1, width, width + 1, 2 * width - 1, -1]
    numbers = [1, 3, -1 % (1 << width), 1 << (width - 1), 5, 1, 3, 7]
    pairs = [(a, n) for a in numbers for n in amounts]
    word = np.dtype(f"u{width // 8}")
    x = np.array([a for a, _ in pairs], word).view(dtype.np)
    by = np.array([n % (1 << width) for _, n in pairs], word).view(dtype.np)
    left, right = (Output(x.shape, dtype) for _ in range(2))
    shifted(left.cut(16), right.cut(16), x, by).sync()
    results = (left.result().tolist(), right.result().tolist())
    for a, n, up, down in zip(x.tolist(), by.tolist(), *results, strict=True):
        many = min(n % (1 << width), width)
        assert up % (1 << width) == (a << many) % (1 << width), (a, n)
        assert down == a >> many, (a, n)


@tw.entry
def shifted_by_few(left: tl.TensorMut[u32], right: tl.TensorMut[u32], by: tl.Tensor[u32]) -> None:
    n = tl.minimum(tl.load_tile_like(by, left), 32)  # known to be the width at most
    left.store(tl.full(left.shape, 1, u32) << n)
    right.store(tl.full(left.shape, 0xFFFFFFFF, u32) >> n)


def test_an_amount_that_may_just_be_the_width(simulated_gpu):
    by = np.array([0, 1, 30, 31, 32, 33, 100, 32], np.uint32)
    left, right = (Output(by.shape, u32) for _ in range(2))
    shifted_by_few(left.cut(8), right.cut(8), by).sync()
    amounts = np.minimum(by, 32).tolist()
    assert left.result().tolist() == [(1 << n) % (1 << 32) for n in amounts]
    assert right.result().tolist() == [0xFFFFFFFF >> n for n in amounts]
