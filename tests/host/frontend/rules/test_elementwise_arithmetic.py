from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from rule_kit import Kit
from support.numbers import fresh_rng
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u32,
)  # fmt: skip
from tilewright.base.errors import Code
from tilewright.ir.attrs import Overflow, Rounding
from tilewright.ir.types import TileType

PLAIN = {"operator.add": "add", "operator.sub": "sub", "operator.mul": "mul"}


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize("name", PLAIN)
def test_operators_follow_the_elements(name, dtype):
    kit = Kit()
    result = kit(name, kit.tile(dtype, 4), kit.tile(dtype, 4))
    assert result.type == TileType(dtype, (4,))
    assert [op.name for op in kit.ops] == [PLAIN[name] + ("f" if dtype.is_float else "i")]


@pytest.mark.parametrize("name", [*PLAIN, "operator.truediv", "operator.floordiv", "maximum"])
@pytest.mark.parametrize(("number", "first"), [(2, True), (2, False), (0.5, True)])
def test_python_numbers_take_the_type_of_the_tile(name, number, first):
    kit = Kit()
    x = kit.tile(f16, 4)
    result = kit(name, number, x) if first else kit(name, x, number)
    assert result.type == TileType(f16, (4,))
    assert kit.ops[0].attrs["value"] == number


def test_shapes_broadcast_and_types_widen():
    kit = Kit()
    kit("operator.add", kit.tile(f16, 2, 1), kit.tile(f32, 4))
    assert kit.text == (
        "%2 = ftof %x {to=f32} : tile<2x1xf32>\n"
        "%3 = broadcast %2 {shape=(2, 4)} : tile<2x4xf32>\n"
        "%4 = reshape %y {shape=(1, 4)} : tile<1x4xf32>\n"
        "%5 = broadcast %4 {shape=(2, 4)} : tile<2x4xf32>\n"
        "%6 = addf %3, %5 : tile<2x4xf32>"
    )


BINARY = [
    *PLAIN, "operator.truediv", "operator.floordiv", "operator.mod", "operator.pow",
    "builtins.divmod", "maximum", "minimum", "max_tile", "min_tile", "true_div", "floor_div",
    "ceil_div", "addi", "divi", "mulhii", "addf", "divf", "remf", "maxf", "pow", "atan2",
]  # fmt: skip
UNARY = ["operator.neg", "operator.pos", "abs", "negi", "absi", "negf", "absf", "exp", "sqrt"]


@pytest.mark.parametrize("dtype", [bool_, f8e4m3fn, tf32, f4e2m1fn, f4e2m1fnx2])
@pytest.mark.parametrize("name", BINARY)
def test_no_arithmetic_of_two(name, dtype):
    for other in (1, None):
        kit = Kit()
        x = kit.tile(dtype, 4)
        error = kit.refused(Code.DTYPE, name, x, x if other is None else other)
        assert dtype.name in error.message
        assert "x.astype(" in error.hint or "unpack()" in error.hint


@pytest.mark.parametrize("dtype", [bool_, f8e4m3fn, tf32, f4e2m1fn, f4e2m1fnx2])
@pytest.mark.parametrize("name", UNARY)
def test_no_arithmetic_of_one(name, dtype):
    kit = Kit()
    kit.refused(Code.DTYPE, name, kit.tile(dtype, 4))


@pytest.mark.parametrize("name", ["operator.mul", "operator.mod", "maximum", "addi"])
def test_pointers_are_moved_and_nothing_else(name):
    kit = Kit()
    assert "offset" in kit.refused(Code.TYPE, name, kit.pointers(f32, 4), 1).hint


@pytest.mark.parametrize(
    ("a", "b"), [(f32, i32), (i32, u32), (f16, bf16), (i64, f64), (bool_, i32)]
)
def test_kinds_do_not_mix(a, b):
    kit = Kit()
    code = Code.DTYPE if bool_ in (a, b) else Code.PROMOTION
    kit.refused(code, "operator.add", kit.tile(a, 4), kit.tile(b, 4))


def test_integers_do_not_take_floats():
    kit = Kit()
    kit.refused(Code.PROMOTION, "operator.add", kit.tile(i32, 4), 0.5)


# --- division --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("precise", [False, True])
def test_only_f32_divides_faster(dtype, precise):
    kit = Kit()
    kit("true_div", kit.tile(dtype, 4), kit.tile(dtype, 4), precise=precise)
    fast = dtype is f32 and not precise
    assert kit.ops[-1].attrs["rounding"] is (Rounding.FULL if fast else Rounding.NEAREST_EVEN)


def test_the_operator_divides_as_true_div():
    one, other = Kit(), Kit()
    one("operator.truediv", one.tile(f32, 4), 3)
    other("true_div", other.tile(f32, 4), 3)
    assert one.text == other.text


@pytest.mark.parametrize(
    ("b", "way"),
    [(2, "a.astype(tw.f32) / 2"),
     (None, "a.astype(tw.f32) / b.astype(tw.f32)")],
)  # fmt: skip
def test_integers_do_not_divide(b, way):
    kit = Kit()
    x = kit.tile(i32, 4)
    error = kit.refused(Code.DTYPE, "operator.truediv", x, x if b is None else b)
    assert error.message == "`/` divides floats, not i32"
    assert error.hint == f"use // to round down, or convert: {way}"


def test_true_div_of_python_ints_is_a_float():
    kit = Kit()
    assert kit.compute(kit("true_div", 1, 4)) == 0.25


@pytest.mark.parametrize("dtype", [i8, u8, i32, i64])
def test_integers_floor(dtype):
    rng = fresh_rng()
    info = np.iinfo(dtype.np)
    a = rng.integers(info.min, info.max, 64, dtype.np, endpoint=True)
    b = rng.integers(info.min, info.max, 64, dtype.np, endpoint=True)
    a[:4], b[:4] = (info.min, info.max, 7, 1), (2, 3, 3, 5)
    b[b == 0] = 1
    b[b == -1] = 3  # MIN // -1 is not Python's answer
    kit = Kit()
    quotient, rest = kit("builtins.divmod", kit.tile(dtype, 64), kit.tile(dtype, 64))
    pairs = [divmod(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert kit.compute(quotient, a, b).tolist() == [q for q, _ in pairs]
    assert kit.compute(rest, a, b).tolist() == [r for _, r in pairs]


def test_integers_divide_by_zero():
    kit = Kit()
    x = kit.tile(i32, 4)
    results = [kit(f"operator.{op}", x, 0) for op in ("floordiv", "mod")]
    results.append(kit("ceil_div", x, 0))
    a = [1, -1, 0, 7]
    assert [kit.compute(r, a).tolist() for r in results] == [[0] * 4, a, [0] * 4]


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, -3.0, 1e-20, -1e-20, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", [f32, f64])
def test_float_remainder_is_pythons(dtype):
    rng = fresh_rng()
    fresh = rng.standard_normal(51) * 10.0 ** rng.integers(-3, 4, 51)
    values = np.array([*SPECIAL, *fresh], dtype.np)
    a, b = (g.ravel() for g in np.meshgrid(values, values))
    kit = Kit()
    result = kit("operator.mod", kit.tile(dtype, 64, 64), kit.tile(dtype, 64, 64))
    got = kit.compute(result, a.reshape(64, 64), b.reshape(64, 64)).ravel()
    with np.errstate(all="ignore"):
        expected = np.mod(a, b)
    same = (got == expected) & (np.signbit(got) == np.signbit(expected))
    assert np.all(same | (np.isnan(got) & np.isnan(expected)))


def test_float_floor_division_keeps_whole_quotients():
    rng = fresh_rng()
    b = rng.integers(1, 1000, 256).astype(np.float32)
    n = rng.integers(-1000, 1000, 256).astype(np.float32)
    kit = Kit()
    result = kit("operator.floordiv", kit.tile(f32, 256), kit.tile(f32, 256))
    assert np.array_equal(kit.compute(result, n * b, b), n)
    assert kit.ops[0].attrs["rounding"] is Rounding.NEAREST_EVEN


def test_unsigned_numbers_floor_toward_zero():
    kit = Kit()
    x = kit.tile(u32, 4)
    kit("operator.floordiv", x, x)
    kit("operator.mod", x, x)
    kit("divi", x, x, rounding=Rounding.NEG_INF)
    assert {op.attrs["rounding"] for op in kit.ops} == {Rounding.ZERO}


@pytest.mark.parametrize(("a", "b", "expected"), [(7, 2, 4), (-7, 2, -3), (8, 2, 4), (0, 5, 0)])
def test_ceil_div_of_constants_is_a_constant(a, b, expected):
    kit = Kit()
    assert kit("ceil_div", a, b) == expected
    result = kit("ceil_div", kit.tile(i32), b)
    assert kit.compute(result, a) == expected


@pytest.mark.parametrize("name", ["ceil_div", "floor_div"])
def test_constants_do_not_divide_by_zero(name):
    assert Kit().refused(Code.LITERAL, name, 3, 0).got == "3 by 0"


# --- min, max, abs ---------------------------------------------------------------------------


def test_constants_stay_constants():
    kit = Kit()
    assert kit("min", 3, 4) == 3
    assert kit("max", 3, 4, 2) == 4
    assert kit("max", (3, 9)) == 9
    assert kit("maximum", 3, 4) == 4
    assert kit("minimum", 0.5, 4) == 0.5
    assert kit("abs", -3) == 3
    assert kit("clamp", 7, 0, 5) == 5
    assert kit("floor_div", -7, 2) == -4
    assert kit.ops == []


@pytest.mark.parametrize("name", ["max", "min", "builtins.max", "builtins.min"])
def test_min_and_max_are_for_scalars(name):
    kit = Kit()
    x = kit.tile(i32)
    result = kit(name, x, 3)
    choose = max if "max" in name else min
    assert [int(kit.compute(result, n)) for n in (2, 3, 4)] == [choose(n, 3) for n in (2, 3, 4)]
    error = kit.refused(Code.TYPE, name, kit.tile(f32, 4), 1)
    assert f"tl.{name[-3:]}imum(a, b)" in error.hint
    assert f"tl.reduce_{name[-3:]}(x, axis)" in error.hint


def test_min_of_several_and_of_none():
    kit = Kit()
    result = kit("min", 9, kit.tile(i32), 4)
    assert [int(kit.compute(result, n)) for n in (3, 5)] == [3, 4]
    kit.refused(Code.CALL, "min", ())


@pytest.mark.parametrize(("name", "ufunc"), [("maximum", np.maximum), ("min_tile", np.minimum)])
def test_nan_wins(name, ufunc):
    kit = Kit()
    result = kit(name, kit.tile(f32, 4), 1.0)
    a = np.array([math.nan, 0, 2, -math.inf], np.float32)
    assert np.array_equal(kit.compute(result, a), ufunc(a, np.float32(1)), equal_nan=True)


def test_clamp():
    kit = Kit()
    result = kit("clamp", kit.tile(f32, 4), -1, 1.5)
    assert kit.compute(result, [-2, 0.25, 1.5, 9]).tolist() == [-1, 0.25, 1.5, 1.5]


@pytest.mark.parametrize("name", ["abs", "builtins.abs"])
def test_abs(name):
    kit = Kit()
    x, u = kit.tile(i8, 2), kit.tile(u8, 2)
    assert kit.compute(kit(name, x), [-128, -3], [0, 0]).tolist() == [-128, 3]
    assert kit(name, u) is u


def test_signs():
    kit = Kit()
    x, y = kit.tile(f32, 2), kit.tile(u8, 2)
    assert kit("operator.pos", x) is x
    kit("operator.neg", x)
    assert kit.compute(kit("operator.neg", y), [0, 0], [1, 0]).tolist() == [255, 0]
    assert [op.name for op in kit.ops] == ["negf", "negi"]


# --- low-level ops ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["addi", "subi", "muli"])
def test_integer_ops_carry_their_promise(name):
    kit = Kit()
    x = kit.tile(i32, 4)
    kit(name, x, x)
    kit(name, x, 3, overflow=Overflow.NO_SIGNED_WRAP)
    kit(name, x, x, overflow="no_wrap")
    given = [op.attrs["overflow"] for op in kit.ops if op.name == name]
    assert given == [Overflow.NONE, Overflow.NO_SIGNED_WRAP, Overflow.NO_WRAP]
    error = kit.refused(Code.TYPE, name, x, x, overflow="never")
    assert error.expected.startswith("tl.Overflow.NONE, ")


@pytest.mark.parametrize("name", ["addi", "divi", "remi", "mulhii", "maxi", "mini", "ceil_div"])
def test_integer_ops_refuse_floats(name):
    kit = Kit()
    x = kit.tile(f32, 4)
    error = kit.refused(Code.DTYPE, name, x, x)
    assert error.message == f"`{name}` takes integers"


@pytest.mark.parametrize("name", ["addf", "divf", "remf", "maxf", "minf", "cmpf"])
def test_float_ops_refuse_integers(name):
    kit = Kit()
    x = kit.tile(i32, 4)
    extra = ("eq",) if name == "cmpf" else ()
    assert kit.refused(Code.DTYPE, name, x, x, *extra).message == f"`{name}` takes floats"


@pytest.mark.parametrize("name", ["remi", "maxi", "mini", "mulhii"])
def test_integer_pairs(name):
    kit = Kit()
    assert kit(name, kit.tile(i16, 4), kit.tile(i32, 4)).type == TileType(i32, (4,))
    assert kit.ops[-1].name == {"mulhii": "mulhi"}.get(name, name)


def test_divi_truncates_unless_told():
    kit = Kit()
    x = kit.tile(i32, 2)
    results = [kit("divi", x, 2), kit("divi", x, 2, rounding="neg_inf"),
               kit("divi", x, 2, rounding=Rounding.POS_INF)]  # fmt: skip
    assert [kit.compute(r, [-7, 7]).tolist() for r in results] == [[-3, 3], [-4, 3], [-3, 4]]
    kit.refused(Code.TYPE, "divi", x, 2, rounding=Rounding.NEAREST_EVEN)


@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", list(Rounding))
def test_roundings(name, dtype, mode):
    kit = Kit()
    x = kit.tile(dtype, 4)
    directed = mode in (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)
    fast = mode in (Rounding.APPROX, Rounding.FULL)
    if fast and name != "divf":
        kit.refused(Code.TYPE, name, x, x, rounding=mode)
    elif (directed and dtype not in (f32, f64)) or (fast and dtype is not f32):
        assert mode.value in kit.refused(Code.DTYPE, name, x, x, rounding=mode).got
    else:
        kit(name, x, x, rounding=mode)
        assert kit.ops[-1].attrs["rounding"] is mode


def test_flushing_is_for_f32():
    kit = Kit()
    kit("addf", kit.tile(f32, 4), 1.0, ftz=True)
    assert kit.ops[-1].attrs["ftz"] is True
    kit.refused(Code.DTYPE, "addf", kit.tile(f64, 4), 1.0, ftz=True)
    kit.refused(Code.NOT_STATIC, "addf", kit.tile(f32, 4), 1.0, ftz=1)


def test_fma_brings_three_together():
    kit = Kit()
    result = kit("fma", 2, kit.tile(f16, 4), kit.tile(f32, 2, 1))
    assert result.type == TileType(f32, (2, 4))
    got = kit.compute(result, [1, 2, 3, 4], [[10], [20]])
    assert got.tolist() == [[12, 14, 16, 18], [22, 24, 26, 28]]


def test_fma_numbers_follow_the_tile():
    kit = Kit()
    assert kit("fma", 2.0, 3.0, kit.tile(f16, 4)).type == TileType(f16, (4,))
    assert kit("fma", 2, 3, 4).type == TileType(f32)
    kit.refused(Code.DTYPE, "fma", kit.tile(i32, 4), 1, 1)
    kit.refused(Code.TYPE, "fma", 1.0, 1.0, 1.0, rounding=Rounding.ZERO)


@pytest.mark.parametrize("nan", [True, False])
def test_float_choice_takes_the_marker(nan):
    kit = Kit()
    result = kit("maxf", kit.tile(f32, 2), 1.0, nan=nan)
    got = kit.compute(result, [math.nan, 3])
    assert math.isnan(got[0]) == nan
    assert got[1] == 3


def test_rules_work_on_scalars():
    kit = Kit()
    x = kit.tile(f32)
    for name in (*PLAIN, "operator.truediv", "operator.mod", "maximum", "addf", "remf"):
        assert kit(name, x, 2.0).type == TileType(f32), name


@pytest.mark.parametrize("name", PLAIN)
def test_scalar_results_are_right(name):
    function = getattr(operator, name.removeprefix("operator."))
    kit = Kit()
    result = kit(name, kit.tile(i32), 5)
    assert kit.compute(result, 7) == function(7, 5)
