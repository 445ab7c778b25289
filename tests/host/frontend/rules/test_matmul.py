from __future__ import annotations

import numpy as np
import pytest

from rule_kit import Kit
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
    i16,
    i32,
    tf32,
    u8,
)  # fmt: skip
from tilewright.base.errors import Code
from tilewright.ir.types import TileType

PRODUCTS = {
    f16: f32, bf16: f32, tf32: f32, f32: f32, f64: f64, f8e4m3fn: f32, f8e5m2: f32,
    i8: i32, u8: i32,
}  # fmt: skip


def small(dtype, *shape):
    low = 0 if dtype is u8 else -3
    return fresh_rng().integers(low, 4, shape).astype(dtype.np)


@pytest.mark.parametrize("dtype", PRODUCTS)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_operator_gives_the_accumulator(dtype, batch):
    kit = Kit()
    x, y = kit.tile(dtype, *batch, 4, 8), kit.tile(dtype, *batch, 8, 2)
    result = kit("operator.matmul", x, y)
    assert result.type == TileType(PRODUCTS[dtype], (*batch, 4, 2))
    a, b = small(dtype, *batch, 4, 8), small(dtype, *batch, 8, 2)
    assert np.array_equal(kit.compute(result, a, b), a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("dtype", [f16, f8e4m3fn, f8e5m2])
def test_an_accumulator_of_f16(dtype):
    kit = Kit()
    x, y, acc = kit.tile(dtype, 2, 2), kit.tile(dtype, 2, 2), kit.tile(f16, 2, 2)
    assert kit("mma", x, y, acc).type == TileType(f16, (2, 2))
    assert kit("mmaf", x, y, acc, fast_acc=True).type == TileType(f16, (2, 2))
    assert [op.attrs["fast_acc"] for op in kit.ops] == [False, True]


def test_bytes_of_two_signs():
    kit = Kit()
    result = kit("mma", kit.tile(i8, 2, 4), kit.tile(u8, 4, 2), kit.tile(i32, 2, 2))
    a, b, c = small(i8, 2, 4), small(u8, 4, 2), small(i32, 2, 2)
    expected = c + a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(kit.compute(result, a, b, c), expected)


@pytest.mark.parametrize(
    ("a", "b", "code", "hint"),
    [
        ((8,), (8,), Code.RANK, "for a dot product write tl.reduce_sum(a * b, 0)"),
        ((4, 8), (8,), Code.RANK, "give a vector an axis: x[None, :] or x[:, None]"),
        ((2, 4, 8), (8, 2), Code.RANK,
         "give both a batch axis: x[None, :, :], then tl.broadcast"),
        ((4, 8), (2, 8), Code.SHAPE, "transpose one side: b.T"),
        ((4, 8), (4, 2), Code.SHAPE, None),
        ((2, 4, 8), (1, 8, 2), Code.SHAPE, "repeat one side: tl.broadcast(b, shape)"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_multiply(a, b, code, hint):
    kit = Kit()
    error = kit.refused(code, "operator.matmul", kit.tile(f32, *a), kit.tile(f32, *b))
    assert error.hint == hint


def test_an_accumulator_of_the_wrong_shape_or_type():
    kit = Kit()
    a, b = kit.tile(bf16, 4, 8), kit.tile(bf16, 8, 2)
    error = kit.refused(Code.SHAPE, "mma", a, b, kit.em.constant(0.0, f32, (2, 4)))
    assert error.expected == "shape (4, 2)"
    error = kit.refused(Code.DTYPE, "mma", a, b, kit.em.constant(0.0, f16, (4, 2)))
    assert error.message == "products of bf16 do not accumulate in f16"
    assert error.expected == "f32"


def test_elements_without_a_product():
    kit = Kit()
    x = kit.tile(i16, 2, 2)
    error = kit.refused(Code.DTYPE, "operator.matmul", x, x)
    assert error.message == "there is no matrix product of i16"
    y = kit.tile(f16, 2, 2)
    error = kit.refused(Code.PROMOTION, "operator.matmul", y, kit.tile(bf16, 2, 2))
    assert error.hint == "convert one side: b.astype(tw.f16)"
    kit.refused(Code.DTYPE, "mmai", kit.tile(i8, 2, 2), y, kit.em.constant(0, i32, (2, 2)))
    error = kit.refused(Code.TYPE, "operator.matmul", y, 2.0)
    assert error.hint == "use * to scale"


@pytest.mark.parametrize(
    ("dtype", "scale", "run"),
    [(f8e4m3fn, f8e8m0fnu, 32), (f8e5m2, f8e8m0fnu, 32), (f4e2m1fn, f8e8m0fnu, 16),
     (f4e2m1fn, f8e8m0fnu, 32), (f4e2m1fn, f8e4m3fn, 16)],
)  # fmt: skip
def test_scaled_products(dtype, scale, run):
    kit = Kit()
    acc = kit.em.constant(0.0, f32, (2, 4))
    a, b = kit.tile(dtype, 2, 64), kit.tile(dtype, 64, 4)
    sa, sb = kit.tile(scale, 2, 64 // run), kit.tile(scale, 64 // run, 4)
    assert kit("mmaf_scaled", a, b, acc, sa, sb).type == TileType(f32, (2, 4))
    error = kit.refused(
        Code.SHAPE, "mmaf_scaled", a, b, acc, sa, kit.em.constant(1.0, scale, (1, 4))
    )
    assert "and" in error.expected


def test_scales_of_another_type():
    kit = Kit()
    acc, a = kit.em.constant(0.0, f32, (2, 2)), kit.tile(f8e4m3fn, 2, 32)
    b, s = kit.tile(f8e4m3fn, 32, 2), kit.tile(f32, 2, 1)
    kit.refused(Code.DTYPE, "mmaf_scaled", a, b, acc, s, s)
