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
