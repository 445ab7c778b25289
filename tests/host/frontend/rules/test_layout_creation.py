from __future__ import annotations

import math

import pytest

from rule_kit import Kit
from tilewright.base.dtypes import (
    bf16,
    bool_,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
    u32,
)  # fmt: skip
from tilewright.base.errors import Code
from tilewright.ir.types import TileType


@pytest.mark.parametrize(
    ("name", "args", "dtype", "shape", "value"),
    [
        ("zeros", ((4, 8),), f32, (4, 8), 0.0),
        ("zeros", ((4, 8), i8), i8, (4, 8), 0),
        ("zeros", (16, bool_), bool_, (16,), False),
        ("zeros", ((), f64), f64, (), 0.0),
        ("ones", ((2,), "float16"), f16, (2,), 1.0),
        ("ones", ((2,), bool_), bool_, (2,), True),
        ("full", ((2, 2), 1.5), f32, (2, 2), 1.5),
        ("full", ((2, 2), 7), i32, (2, 2), 7),
        ("full", ((2, 2), True), bool_, (2, 2), True),
        ("full", ((2,), 7, f16), f16, (2,), 7.0),
        ("full", ((2,), 0.1, bf16), bf16, (2,), 0.10009765625),
        ("full", ((2,), u32(7)), u32, (2,), 7),
        ("full", ((2,), -math.inf, f16), f16, (2,), -math.inf),
        ("full", ((2,), 448.0, f8e4m3fn), f8e4m3fn, (2,), 448.0),
        ("constant", (2.5, (4,)), f32, (4,), 2.5),
        ("constant", (3, 4, i64), i64, (4,), 3),
        ("broadcast_scalar", (2, (4, 4)), i32, (4, 4), 2),
    ],
)
def test_one_value_everywhere(name, args, dtype, shape, value):
    kit = Kit()
    result = kit(name, *args)
    assert result.type == TileType(dtype, shape)
    (op,) = kit.ops
    assert (op.name, op.attrs["value"], type(op.attrs["value"])) == ("constant", value, type(value))


def test_a_scalar_everywhere():
    kit = Kit()
    kit("full", (2, 4), kit.tile(i32), f32)
    assert kit.text == (
        "%1 = itof %x {to=f32} : tile<f32>\n"
        "%2 = reshape %1 {shape=(1, 1)} : tile<1x1xf32>\n"
        "%3 = broadcast %2 {shape=(2, 4)} : tile<2x4xf32>"
    )


@pytest.mark.parametrize("name", ["full", "broadcast_scalar"])
def test_only_a_scalar_fills_a_tile(name):
    kit = Kit()
    args = ((4,), kit.tile(f32, 2)) if name == "full" else (kit.tile(f32, 2), (4,))
    assert "2 elements, a scalar is one" in kit.refused(Code.SHAPE, name, *args).message


@pytest.mark.parametrize(
    ("code", "name", "args"),
    [
        (Code.POWER_OF_TWO, "zeros", ((3,),)),
        (Code.POWER_OF_TWO, "zeros", ((4, 0),)),
        (Code.RESOURCES, "zeros", ((1 << 20, 32),)),
        (Code.NOT_STATIC, "zeros", ((2.0,),)),
        (Code.DTYPE, "zeros", ((2,), "no type")),
        (Code.LITERAL, "zeros", ((2,), f8e8m0fnu)),
        (Code.DTYPE, "ones", ((2,), f4e2m1fnx2)),
        (Code.LITERAL, "full", ((2,), 300, u8)),
        (Code.LITERAL, "full", ((2,), 1e6, f16)),
        (Code.LITERAL, "full", ((2,), 1000.0, f8e4m3fn)),
        (Code.LITERAL, "full", ((2,), math.inf, f8e4m3fn)),
        (Code.PROMOTION, "full", ((2,), 1.5, i32)),
        (Code.LITERAL, "full", ((2,), 2, bool_)),
        (Code.TYPE, "full", ((2,), "1")),
        (Code.POWER_OF_TWO, "arange", (3,)),
        (Code.POWER_OF_TWO, "arange", (4, 4)),
        (Code.POWER_OF_TWO, "arange", (4, 0)),
        (Code.LITERAL, "arange", (256,)),
        (Code.NOT_STATIC, "arange", (True,)),
        (Code.RANK, "iota", ((2, 2),)),
        (Code.DTYPE, "iota", (4, f32)),
        (Code.LITERAL, "iota", (256, i8)),
    ],
)
def test_refused(code, name, args):
    keywords = {"dtype": i8} if args == (256,) else {}
    kit = Kit()
    kit.refused(code, name, *args, **keywords)
    assert kit.ops == []


def test_a_constant_is_known_while_compiling():
    kit = Kit()
    assert "tl.full" in kit.refused(Code.NOT_STATIC, "constant", kit.tile(f32), (4,)).hint


@pytest.mark.parametrize("dtype", [i32, u8, i64, f16, f32, f64])
@pytest.mark.parametrize(
    ("args", "expected"), [((4,), [0, 1, 2, 3]), ((3, 5), [3, 4]), ((1,), [0])]
)
def test_numbers_in_order(args, expected, dtype):
    kit = Kit()
    result = kit("arange", *args, dtype=dtype)
    assert result.type == TileType(dtype, (len(expected),))
    assert kit.compute(result).tolist() == expected


def test_arange_may_start_below_zero_but_not_in_unsigned():
    kit = Kit()
    assert kit.compute(kit("arange", -2, 2)).tolist() == [-2, -1, 0, 1]
    kit.refused(Code.LITERAL, "arange", -2, 2, dtype=u8)


def test_arange_of_a_scalar_says_to_add():
    kit = Kit()
    error = kit.refused(Code.NOT_STATIC, "arange", kit.tile(i32))
    assert "tl.arange(n) + start" in error.hint


def test_iota():
    kit = Kit()
    kit("iota", 8)
    kit("iota", (4,), u8)
    assert kit.text == (
        "%0 = iota {size=8, dtype=i32} : tile<8xi32>\n%1 = iota {size=4, dtype=u8} : tile<4xu8>"
    )


@pytest.mark.parametrize("name", ["tile_to_scalar", "scalar_to_tile", "Tile.item"])
def test_the_only_element(name):
    kit = Kit()
    x, y = kit.tile(f32, 1, 1), kit.tile(f32)
    assert kit(name, x).type == TileType(f32)
    assert kit(name, y) is y
    kit.refused(Code.SHAPE, name, kit.tile(f32, 2))


def test_a_number_as_a_tile():
    assert Kit()("scalar_to_tile", 2).type == TileType(i32)
