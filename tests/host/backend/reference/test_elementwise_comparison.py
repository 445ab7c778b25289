"""Comparisons and selection against Python's own."""

from __future__ import annotations

import operator
from math import isnan

import numpy as np
import pytest

from support.ir import Kernel, apply, checked
from support.numbers import assert_same, float_values, fresh_rng, int_values, pairs
from tilewright.base.dtypes import ALL, FLOATS, INTS, bool_, f4e2m1fn, i64
from tilewright.ir.attrs import Predicate
from tilewright.ir.types import PtrType, TileType

PYTHON = {
    Predicate.EQ: operator.eq, Predicate.NE: operator.ne, Predicate.LT: operator.lt,
    Predicate.LE: operator.le, Predicate.GT: operator.gt, Predicate.GE: operator.ge,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [bool_, *INTS])
@pytest.mark.parametrize("predicate", Predicate)
def test_integers(predicate, dtype):
    a, b = pairs(int_values(dtype, fresh_rng()))
    got = apply("cmpi", (dtype, a), (dtype, b), predicate=predicate)
    flat = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    expected = [PYTHON[predicate](x, y) for x, y in flat]
    assert_same(got, np.array(expected).reshape(a.shape))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("unordered", [False, True])
@pytest.mark.parametrize("predicate", Predicate)
def test_floats(predicate, unordered, dtype):
    a, b = pairs(float_values(dtype, fresh_rng()))
    got = apply("cmpf", (dtype, a), (dtype, b), predicate=predicate, unordered=unordered)
    assert got.dtype == np.bool_
    for i in np.ndindex(a.shape):
        x, y = float(a[i]), float(b[i])
        expected = unordered if isnan(x) or isnan(y) else PYTHON[predicate](x, y)
        assert got[i] == expected, f"{x} {predicate} {y}"


@pytest.mark.parametrize("dtype", ALL)
def test_select_keeps_every_bit(dtype):
    rng = fresh_rng()
    top = 2 if dtype is bool_ else 16 if dtype is f4e2m1fn else 256
    raw = rng.integers(0, top, (2, 37, dtype.itemsize), dtype=np.uint8)
    a, b = raw.view(dtype.np)[..., 0]
    cond = rng.integers(0, 2, 37).astype(np.bool_)
    got = apply("select", (bool_, cond), (dtype, a), (dtype, b))
    expected = np.where(cond[:, None], raw[0], raw[1])
    assert np.array_equal(got.reshape(-1, 1).view(np.uint8), expected)


def test_select_of_scalars_and_of_pointers():
    k = Kernel()
    p, q, cond = k.pointer("p", i64), k.pointer("q", i64), k.scalar("cond", bool_)
    out = k.output("out", i64, 0)
    chosen = k.emit("select", cond, p, q)
    assert chosen.type == TileType(PtrType(i64))
    k.store(k.emit("ptr_to_int", chosen), out)
    result = np.zeros((), np.int64)
    checked(k.finish(), [10, 20, False, result])
    assert result == 20
