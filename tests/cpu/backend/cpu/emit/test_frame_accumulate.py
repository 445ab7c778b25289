"""The greatest and the least of floats, exact to the sign of zeros, with NaN wherever it stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.ir import checked, poisoned
from support.native import Dense, Native
from support.numbers import LIMITS, assert_same, float_values, fresh_rng
from tilewright.backend.llvm.object import host_target
from tilewright.base.dtypes import FLOATS, f32
from tilewright.ir.types import TileType

LENGTHS = [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 96, 256, 1000]
START = {"maxf": -np.inf, "minf": np.inf}
PLACES = 12
"""So many places of a row longer than any vector get their turn."""


def reduction(dtype, shape, axis, swapped=False, nan=True):
    """A kernel of the greatest and the least along an axis."""
    k = Dense()
    tile = k.load(k.tensor("x", dtype, 2), shape)
    for name, identity in START.items():
        with k.region(TileType(dtype), TileType(dtype)) as block:
            args = block.args[::-1] if swapped else block.args
            k.op("yield", [k.emit(name, *args, nan=nan)])
        reduced = k.emit("reduce", [tile], regions=[block], axis=axis, identities=(identity,))
        k.store(reduced, k.output(f"{name}_out", dtype, 1))
    return k.finish()


def without_avx512():
    """The same processor, had it only shorter vectors."""
    host = host_target()
    kept = [f for f in host.features.split(",") if "avx512" not in f and "avx10" not in f]
    return replace(host, name="x86-64", features=",".join(kept))


def at_each_place(background, value, rng):
    """Copies of a row, the value standing at another place in each."""
    n = len(background)
    places = np.arange(n) if n <= 64 else np.unique([0, n - 1, *rng.integers(0, n, PLACES)])
    rows = np.tile(background, (len(places), 1))
    rows[np.arange(len(places)), places] = value
    return rows


def hard_rows(dtype, n, rng):
    """Rows of everything that can go wrong."""
    kind = dtype.np
    normal, tiny, huge = LIMITS[dtype]
    some = rng.standard_normal(n).astype(kind)
    grounds = [some, abs(some), -abs(some), *(np.full(n, v, kind) for v in (0.0, -0.0))]
    grounds += [np.full(n, v, kind) for v in (np.inf, -np.inf, tiny, -tiny, huge, -huge)]
    signs = np.array([[1.0], [-1.0]])
    values = np.copysign([np.nan, 0.0, tiny, normal, np.inf], signs).reshape(-1).astype(kind)
    assert np.signbit(values).sum() == 5, "NaN of either sign too"
    singles = [at_each_place(ground, value, rng) for ground in grounds for value in values]
    zeros = rng.choice(np.array([0.0, -0.0], kind), (8, n))
    alike = np.stack([np.full(n, value, kind) for value in values])
    anything = rng.choice(float_values(dtype, rng), (32, n))
    numbers = np.where(np.isnan(anything), kind.type(-0.0), anything)
    return np.concatenate([*singles, zeros, alike, anything, numbers])


def expected(name, x, axis):
    """What NumPy gives, +0 being above -0."""
    function = np.maximum if name == "maxf" else np.minimum
    result = function.reduce(x.astype(np.float64), axis=axis)
    minus = np.signbit(x.astype(np.float64))
    zero_is_minus = minus.all(axis) if name == "maxf" else minus.any(axis)
    zeros = np.where(zero_is_minus, -0.0, 0.0)
    return np.where(result == 0, zeros, result).astype(x.dtype)


def check(dtype, x, axis, cpu=None):
    func = reduction(dtype, x.shape, axis)
    outputs = [poisoned(dtype, (x.shape[1 - axis],)) for _ in START]
    assert Native(func, cpu)([x, *outputs]).failure is None
    by_reference = [poisoned(dtype, out.shape) for out in outputs]
    checked(func, [x, *by_reference])
    for name, got, reference in zip(START, outputs, by_reference, strict=True):
        assert_same(got, expected(name, x, axis))
        assert_same(got, reference)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_extremes(dtype, n):
    x = hard_rows(dtype, n, fresh_rng())
    check(dtype, x, 1)
    check(dtype, np.ascontiguousarray(x.T), 0)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("n", [1, 24, 64])
def test_extremes_with_shorter_vectors(dtype, n):
    cpu = without_avx512()
    if not cpu.triple.startswith("x86_64"):
        pytest.skip("another kind of processor")
    check(dtype, hard_rows(dtype, n, fresh_rng()), 1, cpu)


@pytest.mark.parametrize("nan", [True, False])
@pytest.mark.parametrize("swapped", [True, False])
def test_bodies(swapped, nan):
    """The order of operands does not matter; a body that ignores NaN does so."""
    x = hard_rows(f32, 32, fresh_rng())
    x = x[~np.isnan(x).all(axis=1)]
    func = reduction(f32, x.shape, 1, swapped, nan)
    outputs, by_reference = ([poisoned(f32, (len(x),)) for _ in START] for _ in range(2))
    assert Native(func)([x, *outputs]).failure is None
    checked(func, [x, *by_reference])
    for got, reference in zip(outputs, by_reference, strict=True):
        assert_same(got, reference)
