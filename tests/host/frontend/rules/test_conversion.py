from __future__ import annotations

import math

import numpy as np
import pytest

from rule_kit import Kit
from support.numbers import fresh_rng
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
)  # fmt: skip
from tilewright.base.errors import Code
from tilewright.ir.attrs import Overflow, Rounding
from tilewright.ir.types import TileType

NUMBERS = [d for d in ALL if d is not f4e2m1fnx2]


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("name", ["Tile.astype", "astype", "convert_tile"])
def test_any_two_types_convert(name, source, target):
    kit = Kit()
    x = kit.tile(source, 4)
    result = kit(name, x, target)
    assert result.type == TileType(target, (4,))
    assert kit.func  # well formed
    assert (result is x) == (source is target)


def test_values_survive():
    kit = Kit()
    x = kit.tile(f32, 4)
    a = [math.nan, 1e20, -1.75, -300]
    results = {d: kit("astype", x, d) for d in (i8, u8, bool_, f16)}
    got = {d: kit.compute(r, a).tolist() for d, r in results.items()}
    assert got[i8] == [0, 127, -1, -128]
    assert got[u8] == [0, 255, 0, 0]
    assert got[bool_] == [True] * 4
    assert got[f16][1:] == [math.inf, -1.75, -300]


def test_dtypes_by_other_names():
    kit = Kit()
    x = kit.tile(f32, 4)
    for name in (np.float16, "float16", np.dtype("f2"), f16):
        assert kit("astype", x, name).type == TileType(f16, (4,))
    error = kit.refused(Code.DTYPE, "astype", x, x)
    assert error.expected == "an element type such as tw.f32"


@pytest.mark.parametrize("other", [f32, u8, bool_])
def test_packed_pairs_do_not_convert(other):
    kit = Kit()
    kit.refused(Code.DTYPE, "astype", kit.tile(f4e2m1fnx2, 4), other)
    kit.refused(Code.DTYPE, "astype", kit.tile(other, 4), f4e2m1fnx2)


def test_python_numbers():
    kit = Kit()
    assert kit("astype", 3, f16).type == TileType(f16)
    assert kit("convert_scalar", 2, bool_).type == TileType(bool_)
    kit.refused(Code.LITERAL, "astype", 300, i8)


def test_convert_scalar_refuses_tiles():
    kit = Kit()
    assert kit("convert_scalar", kit.tile(i64), i32).type == TileType(i32)
    kit.refused(Code.TYPE, "convert_scalar", kit.tile(i64, 1), i32)


@pytest.mark.parametrize(
    ("name", "dtype", "got"), [("float", f32, -2.75), ("int", i32, -2), ("bool", bool_, True)]
)
def test_casts_of_python(name, dtype, got):
    kit = Kit()
    result = kit(f"builtins.{name}", kit.tile(f64))
    assert result.type == TileType(dtype)
    assert kit.compute(result, -2.75) == got
    code = Code.TRUTH if name == "bool" else Code.TYPE
    kit.refused(code, f"builtins.{name}", kit.tile(f64, 4))


# --- one op each -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("ftof", f32, f16), ("ftof", f16, f64), ("ftof", f32, tf32), ("ftof", f8e4m3fn, f32),
        ("ftoi", f32, i8), ("ftoi", f8e5m2, u32), ("itof", i64, f32), ("itof", bool_, f16),
        ("itof", u8, f8e4m3fn), ("exti", i8, i32), ("exti", u8, i16), ("exti", bool_, u8),
        ("trunci", i64, i32), ("trunci", u16, i8), ("bitcast", f32, u32), ("bitcast", u32, i32),
        ("bitcast", f8e4m3fn, u8), ("bitcast", u8, f4e2m1fnx2), ("bitcast", f16, i16),
    ],
)  # fmt: skip
def test_one_op(name, source, target):
    kit = Kit()
    assert kit(name, kit.tile(source, 4), target).type == TileType(target, (4,))
    assert [op.name for op in kit.ops] == [name]


@pytest.mark.parametrize(
    ("name", "source", "target", "expected"),
    [
        ("ftof", i32, f32, "floats"), ("ftof", f32, i32, "floats"),
        ("ftof", f4e2m1fnx2, f32, "floats"), ("ftoi", i32, i8, "floats"),
        ("ftoi", f32, f16, "integers"), ("ftoi", f32, bool_, "integers"),
        ("itof", f32, f16, "integers or bool"), ("itof", i32, i8, "floats"),
        ("exti", f32, i64, "integers or bool"), ("exti", i32, i16, "more than 32 bits"),
        ("exti", i32, u32, "more than 32 bits"), ("trunci", i32, i32, "fewer than 32 bits"),
        ("trunci", i8, i32, "fewer than 8 bits"), ("trunci", bool_, i8, "integers"),
        ("bitcast", f32, f64, "a type of 32 bits"), ("bitcast", bool_, u8, "a type of 1 bits"),
    ],
)  # fmt: skip
def test_types_that_do_not_fit(name, source, target, expected):
    kit = Kit()
    error = kit.refused(Code.DTYPE, name, kit.tile(source, 4), target)
    assert error.expected == expected
    assert "x.astype(dtype)" in error.hint
    assert kit.ops == []


def test_pointers_do_not_convert():
    kit = Kit()
    kit.refused(Code.TYPE, "bitcast", kit.pointers(f32, 4), i64)


def test_conversions_that_change_nothing():
    kit = Kit()
    x = kit.tile(f32, 4)
    assert kit("ftof", x, f32) is x
    assert kit("bitcast", x, f32) is x


@pytest.mark.parametrize(
    ("name", "source", "target", "mode"),
    [("ftof", f32, f16, Rounding.NEAREST_EVEN), ("ftoi", f32, i32, Rounding.ZERO),
     ("itof", i32, f32, Rounding.NEAREST_EVEN)],
)  # fmt: skip
def test_conversions_round_one_way(name, source, target, mode):
    kit = Kit()
    x = kit.tile(source, 4)
    kit(name, x, target, rounding=mode)
    error = kit.refused(Code.TYPE, name, x, target, rounding=Rounding.POS_INF)
    assert error.expected == f"tl.Rounding.{mode.name}"
    assert error.got == "tl.Rounding.POS_INF"


def test_trunci_carries_its_promise():
    kit = Kit()
    kit("trunci", kit.tile(i32, 4), i8, overflow=Overflow.NO_SIGNED_WRAP)
    assert kit.ops[-1].attrs["overflow"] is Overflow.NO_SIGNED_WRAP


# --- packed f4 -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "Tile.{}"])
def test_pack_and_unpack(form):
    kit = Kit()
    packed = kit.tile(f4e2m1fnx2, 2, 4)
    opened = kit(form.format("unpack"), packed)
    assert opened.type == TileType(f4e2m1fn, (2, 8))
    again = kit(form.format("pack"), opened)
    assert again.type == packed.type
    data = fresh_rng().integers(0, 256, (2, 4), np.uint8)
    assert np.array_equal(kit.compute(again, data), data)


def test_pack_refuses():
    kit = Kit()
    assert "astype" in kit.refused(Code.DTYPE, "pack", kit.tile(f32, 4)).hint
    kit.refused(Code.SHAPE, "pack", kit.tile(f4e2m1fn, 4, 1))
    kit.refused(Code.SHAPE, "pack", kit.tile(f4e2m1fn))
    assert "bitcast" in kit.refused(Code.DTYPE, "unpack", kit.tile(u8, 4)).hint


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_anything_but_zero_is_true(dtype):
    kit = Kit()
    result = kit("astype", kit.tile(dtype, 2), bool_)
    assert kit.compute(result, [0, 3]).tolist() == [False, True]
