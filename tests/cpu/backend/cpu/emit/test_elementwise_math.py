"""Elementary functions: wired to the right function, with its error bound, on every dtype."""

from __future__ import annotations

import numpy as np
import pytest

from support.native import assert_ops, both, case, kernel_of
from support.numbers import float_values, fresh_rng, wide
from tilewright.backend.libm import BOUNDS
from tilewright.base.dtypes import FLOATS, f32, f64

ONE = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log1p", "log2",
    "rsqrt", "cbrt", "erf",
)  # fmt: skip
TWO = ("pow", "atan2")


@pytest.mark.parametrize("dtype", FLOATS)
def test_instructions_are_exact(dtype):
    x = float_values(dtype, fresh_rng())
    assert_ops([case("ceil"), case("floor"), case("sqrt")], (dtype, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_are_within_their_bounds(dtype):
    rng = fresh_rng()
    a = np.concatenate([rng.uniform(0.01, 9, 40), rng.uniform(-3, 3, 24)]).astype(dtype.np)
    b = rng.uniform(-2, 2, a.size).astype(dtype.np)
    cases = [case(name) for name in (*ONE, *TWO)]
    native, expected = both(*kernel_of(cases, [(dtype, a), (dtype, b)]))
    computed = "f64" if dtype is f64 else "f32"
    for given, got, wanted in zip(cases, native, expected, strict=True):
        # The reference rounds an f64 result once, so in f64 it may be wrong by as much as we are.
        bound = BOUNDS[given.name][computed] + 1 if dtype in (f32, f64) else 1
        assert worst_ulp(got, wanted) <= bound, given.name


def worst_ulp(got, wanted) -> float:
    """The greatest difference in units of the last place; NaN must meet NaN."""
    a, b = wide(got), wide(wanted)
    assert np.array_equal(np.isnan(a), np.isnan(b))
    ok = np.isfinite(b)
    assert np.array_equal(a[~ok], b[~ok], equal_nan=True)
    spacing = wide(np.spacing(np.abs(wanted[ok]))) if wanted.dtype.kind == "f" else None
    if spacing is None:  # bfloat16 has no spacing in NumPy
        spacing = np.exp2(np.floor(np.log2(np.maximum(np.abs(b[ok]), 2.0**-126))) - 7)
    return float(np.max(np.abs(a[ok] - b[ok]) / spacing, initial=0.0))


@pytest.mark.thinned(16)
@pytest.mark.parametrize("name", [*ONE, *TWO])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_single_element_needs_no_library(dtype, name):
    """On scalars LLVM may turn a rounding into a call, which the loader does not find."""
    a, b = np.full(1, -0.5, dtype.np), np.full(1, 0.75, dtype.np)
    native, expected = both(*kernel_of([case(name)], [(dtype, a), (dtype, b)]))
    assert worst_ulp(native[0], expected[0]) <= 3
