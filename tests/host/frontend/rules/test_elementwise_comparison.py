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
    bool_,
    f4e2m1fn,
    f8e4m3fn,
    f16,
    f32,
    f64,
    i8,
    i32,
    tf32,
    u8,
)  # fmt: skip
from tilewright.base.errors import Code
from tilewright.ir.attrs import Predicate
from tilewright.ir.types import TileType

NAMES = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
@pytest.mark.parametrize("form", ["operator.{}", "{}_tile"])
@pytest.mark.parametrize("name", NAMES)
def test_operators(name, form, dtype):
    rng = fresh_rng()
    a = rng.integers(0, 4, 32).astype(dtype.np)
    b = rng.integers(0, 4, 32).astype(dtype.np)
    if dtype.is_signed:
        a -= a.dtype.type(2)
    kit = Kit()
    result = kit(form.format(name), kit.tile(dtype, 32), kit.tile(dtype, 32))
    assert result.type == TileType(bool_, (32,))
    assert np.array_equal(kit.compute(result, a, b), getattr(operator, name)(a, b))


@pytest.mark.parametrize("name", NAMES)
def test_nan_is_unequal_to_everything(name):
    kit = Kit()
    x = kit.tile(f32, 2)
    result = kit(f"operator.{name}", x, x)
    assert kit.compute(result, [math.nan, 1])[0] == (name == "ne")


def test_python_numbers_on_either_side():
    kit = Kit()
    x = kit.tile(f16, 2)
    one, other = kit("operator.lt", x, 1), kit("operator.gt", 1, x)
    assert kit.compute(one, [0, 2]).tolist() == kit.compute(other, [0, 2]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("code", "dtype", "number"),
    [(Code.PROMOTION, i32, 0.5), (Code.LITERAL, u8, 256), (Code.LITERAL, u8, -1)],
)
def test_numbers_must_be_representable(code, dtype, number):
    kit = Kit()
    kit.refused(code, "operator.lt", kit.tile(dtype, 4), number)


@pytest.mark.parametrize("name", NAMES)
def test_booleans_are_equal_or_not(name):
    kit = Kit()
    x = kit.tile(bool_, 4)
    if name in ("eq", "ne"):
        assert kit(f"operator.{name}", x, True).type == TileType(bool_, (4,))
        return
    error = kit.refused(Code.DTYPE, f"operator.{name}", x, x)
    assert "does not compare bool" in error.message


@pytest.mark.parametrize("dtype", [f8e4m3fn, tf32, f4e2m1fn])
def test_small_floats_do_not_compare(dtype):
    kit = Kit()
    error = kit.refused(Code.DTYPE, "operator.eq", kit.tile(dtype, 4), 1.0)
    assert error.hint == "convert it: x.astype(tw.f32)"


def test_something_that_is_no_number():
    kit = Kit()
    kit.refused(Code.TYPE, "operator.eq", kit.tile(f32, 4), None)


def test_cmpi():
    kit = Kit()
    x = kit.tile(i8, 4)
    kit("cmpi", x, 1, Predicate.LE)
    kit("cmpi", x, x, "gt")
    kit("cmpi", kit.tile(bool_, 4), True, "eq")
    assert [op.attrs["predicate"] for op in kit.ops if op.name == "cmpi"] == ["le", "gt", "eq"]
    kit.refused(Code.TYPE, "cmpi", x, x, "less")
    kit.refused(Code.DTYPE, "cmpi", kit.tile(f32, 4), 1.0, "eq")


@pytest.mark.parametrize("unordered", [False, True])
@pytest.mark.parametrize("predicate", list(Predicate))
def test_cmpf_answers_nan_as_told(predicate, unordered):
    kit = Kit()
    x = kit.tile(f64, 2)
    result = kit("cmpf", x, 1.0, predicate, unordered=unordered)
    assert kit.compute(result, [math.nan, 1]).tolist() == [
        unordered, predicate in ("eq", "le", "ge"),
    ]  # fmt: skip


# --- choosing --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["where", "select"])
def test_where_broadcasts_all_three(name):
    kit = Kit()
    cond, a = kit.tile(bool_, 2, 1), kit.tile(f32, 4)
    result = kit(name, cond, a, 0.5)
    assert result.type == TileType(f32, (2, 4))
    got = kit.compute(result, [[True], [False]], [1, 2, 3, 4])
    assert got.tolist() == [[1, 2, 3, 4], [0.5] * 4]


@pytest.mark.parametrize(
    ("a", "b", "dtype"), [(1.0, 0.0, f32), (1, 0, i32), (1, 0.5, f32), (True, False, bool_)]
)
def test_where_between_numbers(a, b, dtype):
    kit = Kit()
    assert kit("where", kit.tile(bool_, 4), a, b).type == TileType(dtype, (4,))


@pytest.mark.parametrize("dtype", [f8e4m3fn, f4e2m1fn, tf32, bool_, u8])
def test_any_elements_can_be_chosen(dtype):
    kit = Kit()
    x = kit.tile(dtype, 4)
    assert kit("where", True, x, x).type == TileType(dtype, (4,))


def test_a_scalar_condition():
    kit = Kit()
    result = kit("where", kit.tile(bool_), kit.tile(f16, 4), kit.tile(f32, 4))
    assert result.type == TileType(f32, (4,))


def test_where_refuses():
    kit = Kit()
    assert kit.refused(Code.TYPE, "where", kit.tile(i32, 4), 1, 2).hint == "compare: x != 0"
    x = kit.tile(bool_, 4)
    kit.refused(Code.BROADCAST, "where", x, kit.tile(f32, 2), 0.0)
    kit.refused(Code.PROMOTION, "where", x, kit.tile(i32, 4), 0.5)
