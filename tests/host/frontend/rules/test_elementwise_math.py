from __future__ import annotations

import math

import numpy as np
import pytest

from rule_kit import Kit
from support.numbers import fresh_rng
from tilewright.base.dtypes import FLOATS, f16, f32, f64, i8, i32, u8
from tilewright.base.errors import Code
from tilewright.ir.attrs import Rounding
from tilewright.ir.types import TileType

FUNCTIONS = [
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log1p", "log2",
    "rsqrt", "cbrt", "erf",
]  # fmt: skip


@pytest.mark.parametrize("name", [*FUNCTIONS, "ceil", "floor", "round", "sqrt"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_keep_the_type(name, dtype):
    for shape in ((), (4,), (2, 8)):
        kit = Kit()
        assert kit(name, kit.tile(dtype, *shape)).type == TileType(dtype, shape)
        assert [op.name for op in kit.ops] == [name]


@pytest.mark.parametrize("name", [*FUNCTIONS, "pow", "atan2"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_precise_f32_is_computed_in_f64(name, dtype):
    kit = Kit()
    x = kit.tile(dtype, 4)
    operands = (x, x) if name in ("pow", "atan2") else (x,)
    assert kit(name, *operands, precise=True).type == TileType(dtype, (4,))
    (op,) = (op for op in kit.ops if op.name == name)
    wide = f64 if dtype is f32 else dtype
    assert [v.tile.dtype for v in (*op.operands, *op.results)] == [wide] * (len(operands) + 1)


@pytest.mark.parametrize("name", ["exp", "ceil", "sqrt", "rsqrt"])
def test_python_numbers_make_f32(name):
    for number in (2, 2.0):
        kit = Kit()
        result = kit(name, number)
        assert result.type == TileType(f32)
        assert kit.compute(result).dtype == np.float32


def test_typed_scalars_keep_their_type():
    assert Kit()("exp", f64(2.0)).type == TileType(f64)
    assert Kit()("exp", f16(2.0)).type == TileType(f16)


@pytest.mark.parametrize("name", [*FUNCTIONS, "ceil", "floor", "round", "sqrt"])
def test_functions_refuse_integers(name):
    kit = Kit()
    error = kit.refused(Code.DTYPE, name, kit.tile(i32, 4))
    assert error.message == f"`{name}` takes floats"
    assert error.hint == "convert it: x.astype(tw.f32)"


def test_precise_is_a_constant():
    kit = Kit()
    kit.refused(Code.NOT_STATIC, "exp", kit.tile(f32, 4), precise=kit.tile(i32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("precise", [False, True])
def test_sqrt_is_faster_for_f32_only(dtype, precise):
    kit = Kit()
    kit("sqrt", kit.tile(dtype, 4), precise=precise)
    fast = dtype is f32 and not precise
    assert kit.ops[-1].attrs["rounding"] is (Rounding.APPROX if fast else Rounding.NEAREST_EVEN)


def test_sqrt_takes_a_direction():
    kit = Kit()
    kit("sqrt", kit.tile(f64, 4), rounding=Rounding.ZERO)
    assert kit.ops[-1].attrs["rounding"] is Rounding.ZERO
    kit.refused(Code.DTYPE, "sqrt", kit.tile(f16, 4), rounding="zero")
    kit.refused(Code.TYPE, "sqrt", kit.tile(f32, 4), rounding=Rounding.FULL)


@pytest.mark.parametrize("other", [{"rounding": Rounding.ZERO}, {"ftz": True}])
def test_precise_says_all_there_is_to_say(other):
    kit = Kit()
    name = "sqrt" if "rounding" in other else "exp2"
    (word,) = other
    error = kit.refused(Code.CALL, name, kit.tile(f32, 4), precise=True, **other)
    assert error.message == f"`{name}` takes precise or {word}, not both"


@pytest.mark.parametrize("name", ["exp2", "rsqrt", "sqrt"])
def test_flushing(name):
    kit = Kit()
    kit(name, kit.tile(f32, 4), ftz=True)
    assert kit.ops[-1].attrs["ftz"] is True
    kit.refused(Code.DTYPE, name, kit.tile(f16, 4), ftz=True)


def test_atan2_takes_the_numerator_first():
    kit = Kit()
    result = kit("atan2", kit.tile(f32, 2), 1.0)
    assert np.allclose(kit.compute(result, [1, -1]), [math.pi / 4, -math.pi / 4])


# --- powers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", range(-2, 5))
def test_small_powers_of_floats_are_products(exponent):
    kit = Kit()
    result = kit("operator.pow", kit.tile(f64, 8), exponent)
    assert "pow" not in {op.name for op in kit.ops}
    a = fresh_rng().uniform(-3, 3, 8)
    assert np.allclose(kit.compute(result, a), a**exponent, rtol=1e-15)


def test_a_reciprocal_square_does_not_overflow_on_the_way():
    kit = Kit()
    result = kit("operator.pow", kit.tile(f32, 1), -2)
    x = np.array([1e-19], np.float32)
    expected = np.float64(x[0]) ** -2
    assert abs(kit.compute(result, x)[0] - expected) <= 2 * np.spacing(np.float32(expected))


@pytest.mark.parametrize("exponent", [5, -3, 0.5, 2.0])
def test_other_powers_are_pow(exponent):
    kit = Kit()
    kit("operator.pow", kit.tile(f32, 4), exponent)
    assert kit.ops[-1].name == "pow"


@pytest.mark.parametrize("dtype", [i8, u8, i32])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 10, 31])
def test_integer_powers_are_products_that_wrap(dtype, exponent):
    kit = Kit()
    result = kit("operator.pow", kit.tile(dtype, 8), exponent)
    a = fresh_rng().integers(0, 127, 8).astype(dtype.np)
    expected = [(int(n) ** exponent) % (1 << dtype.bits) for n in a]
    got = [int(n) % (1 << dtype.bits) for n in kit.compute(result, a)]
    assert got == expected


def test_powers_of_two_tiles():
    kit = Kit()
    result = kit("operator.pow", 2.0, kit.tile(f32, 4))
    assert kit.compute(result, [0, 1, -1, 10]).tolist() == [1, 2, 0.5, 1024]


@pytest.mark.parametrize("name", ["operator.pow", "pow"])
def test_integer_powers_need_a_constant(name):
    kit = Kit()
    x = kit.tile(i32, 4)
    kit.refused(Code.DTYPE, name, x, x)
    kit.refused(Code.DTYPE, name, 2, x)


def test_integers_have_no_reciprocals():
    kit = Kit()
    kit.refused(Code.LITERAL, "operator.pow", kit.tile(i32, 4), -1)


def test_builtin_pow_is_the_operator():
    one, other = Kit(), Kit()
    one("builtins.pow", one.tile(f32, 4), 3)
    other("operator.pow", other.tile(f32, 4), 3)
    assert (
        one.text == other.text == "%1 = mulf %x, %x : tile<4xf32>\n%2 = mulf %x, %1 : tile<4xf32>"
    )
