"""Coefficients and constants of functions are what their declarations say."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpmath", reason="mpmath is not installed")

from mpmath import mp, mpf

from support import tiers
from tilewright.backend.libm import power, trigonometric
from tilewright.base import polynomials
from tools.polynomials import declared, error_of, make

POLYNOMIALS = {polynomial.label: polynomial for polynomial in declared()}
MADE = ("EXP2_F32",)
"""Those whose coefficients the script has written."""
SMALL = 1 / 7
"""Half ulps that the error of a polynomial may add to that of rounding."""


@pytest.mark.parametrize("label", POLYNOMIALS)
def test_the_error_is_small(label):
    assert error_of(POLYNOMIALS[label]) <= SMALL * POLYNOMIALS[label].unit


@pytest.mark.parametrize("label", MADE)
def test_they_are_what_the_script_makes(label):
    made = make(POLYNOMIALS[label])
    assert made.coefficients == POLYNOMIALS[label].committed()
    assert made.best <= made.error < 2 * made.best


@pytest.mark.skipif(tiers.tier() != tiers.FULL, reason="some take half a minute")
@pytest.mark.parametrize("label", POLYNOMIALS)
def test_the_script_makes_none_that_is_worse(label):
    made = make(POLYNOMIALS[label])
    assert made.best <= made.error <= made.committed * 1.001


def parts(exact, dtypes):
    """A number as a sum of floats, each the nearest to what is left."""
    for dtype in dtypes:
        nearest = float(np.dtype(dtype).type(float(exact)))
        yield nearest
        exact -= mpf(nearest)


F32, F64 = "float32", "float64"


@pytest.mark.parametrize(
    ("found", "dtypes", "exact"),
    [
        (polynomials.LN2["f32"], (F32, F32), lambda: mp.log(2)),
        (polynomials.LN2["f64"], (F64, F64), lambda: mp.log(2)),
        ((polynomials.LOG2E,), (F64,), lambda: 1 / mp.log(2)),
        ((polynomials.ERFC_1,), (F64,), lambda: mp.erfc(1)),
        (power.LOG2E_PARTS["float"], (F32, F32), lambda: 1 / mp.log(2)),
        (power.LOG2E_PARTS["double"], (F64, F64), lambda: 1 / mp.log(2)),
        ((power.SQRT_HALF,), (F64,), lambda: mp.sqrt(mpf(1) / 2)),
        (power.THIRD, (F64, F64), lambda: mpf(1) / 3),
        (trigonometric.PI_HALF, (F64, F64, F64), lambda: mp.pi / 2),
        ((trigonometric.TWO_OVER_PI,), (F64,), lambda: 2 / mp.pi),
        ((trigonometric.TAN_PI_EIGHTH,), (F64,), lambda: mp.tan(mp.pi / 8)),
    ],
)
def test_constants(found, dtypes, exact):
    with mp.workdps(80):
        assert tuple(parts(exact(), dtypes)) == tuple(found)


def test_the_digits_of_two_over_pi():
    first, *words = trigonometric.TWO_OVER_PI_BITS
    assert first == 0
    with mp.workprec(64 * len(words) + 64):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * len(words))))
    expected = [digits >> 64 * k & (1 << 64) - 1 for k in reversed(range(len(words)))]
    assert words == expected
