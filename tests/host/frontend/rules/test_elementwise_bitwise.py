from __future__ import annotations

import operator

import numpy as np
import pytest

from rule_kit import Kit
from support.numbers import fresh_rng
from tilewright.base.dtypes import INTS, bool_, f4e2m1fnx2, f32, i8, i16, i32, u8, u32
from tilewright.base.errors import Code
from tilewright.ir.attrs import Overflow
from tilewright.ir.types import TileType

LOGIC = {"and_": "andi", "or_": "ori", "xor": "xori"}


@pytest.mark.parametrize("dtype", [*INTS, bool_])
@pytest.mark.parametrize("name", LOGIC)
def test_logic(name, dtype):
    rng = fresh_rng()
    a, b = (rng.integers(0, 2 if dtype.is_bool else 100, 16).astype(dtype.np) for _ in range(2))
    for rule in (f"operator.{name}", LOGIC[name]):
        kit = Kit()
        result = kit(rule, kit.tile(dtype, 16), kit.tile(dtype, 16))
        assert result.type == TileType(dtype, (16,))
        assert np.array_equal(kit.compute(result, a, b), getattr(operator, name)(a, b))


@pytest.mark.parametrize("name", ["operator.invert", "noti"])
def test_invert(name):
    kit = Kit()
    x, y = kit.tile(i8, 2), kit.tile(bool_, 2)
    inverted, negated = kit(name, x), kit(name, y)
    assert kit.compute(inverted, [0, 5], [True, False]).tolist() == [-1, -6]
    assert kit.compute(negated, [0, 5], [True, False]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [i8, u8, i32])
def test_shifts_by_any_amount(dtype):
    a = np.array([1, 3, 100, 127], dtype.np)
    if dtype.is_signed:
        a = -a
    for amount in (0, 1, 5, dtype.bits - 1, dtype.bits, dtype.bits + 1):
        kit = Kit()
        x = kit.tile(dtype, 4)
        left, right = kit("operator.lshift", x, amount), kit("operator.rshift", x, amount)
        wrapped = [(int(n) << amount) % (1 << dtype.bits) for n in a]
        assert [int(n) % (1 << dtype.bits) for n in kit.compute(left, a)] == wrapped
        assert kit.compute(right, a).tolist() == [int(n) >> amount for n in a]


def test_numbers_on_the_left_and_wider_types():
    kit = Kit()
    assert kit("operator.lshift", 1, kit.tile(u8, 4)).type == TileType(u8, (4,))
    assert kit("operator.or_", kit.tile(i8, 4), kit.tile(i16, 4)).type == TileType(i16, (4,))


def test_shli_carries_its_promise():
    kit = Kit()
    kit("shli", kit.tile(i32, 4), 3, overflow=Overflow.NO_UNSIGNED_WRAP)
    assert kit.ops[-1].attrs["overflow"] is Overflow.NO_UNSIGNED_WRAP


@pytest.mark.parametrize("name", ["operator.lshift", "operator.rshift", "shli", "shri"])
def test_refused_shifts(name):
    kit = Kit()
    x = kit.tile(i32, 4)
    kit.refused(Code.LITERAL, name, x, -1)
    kit.refused(Code.PROMOTION, name, x, 1.0)
    kit.refused(Code.PROMOTION, name, x, kit.tile(u32, 4))
    kit.refused(Code.DTYPE, name, kit.tile(bool_, 4), 1)


@pytest.mark.parametrize("name", ["operator.and_", "ori", "operator.invert"])
@pytest.mark.parametrize("dtype", [f32, f4e2m1fnx2])
def test_refused_logic(name, dtype):
    kit = Kit()
    x = kit.tile(dtype, 4)
    args = (x,) if name == "operator.invert" else (x, x)
    error = kit.refused(Code.DTYPE, name, *args)
    assert error.expected == "integers or bool"
    assert "tl.bitcast(x, " in error.hint


def test_booleans_and_integers_do_not_mix():
    kit = Kit()
    kit.refused(Code.PROMOTION, "operator.and_", kit.tile(bool_, 4), kit.tile(i32, 4))
    kit.refused(Code.LITERAL, "operator.and_", kit.tile(bool_, 4), 1)
