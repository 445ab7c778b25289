"""Floats by instructions of Tile IR: rounded as they say, NaN and zeros as they should be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import evaluate
from tilewright.backend.tileir.bytecode.enums import ComparisonCode, NanOrdering, RoundingCode
from tilewright.backend.tileir.bytecode.types import BF16, F16, F32, F64, I1, TileValueType

FLOATS = [F16, BF16, F32, F64]
TINY = 1e-45
"""The least f32."""


def one(name, scalar, *numbers, **attrs):
    """What an instruction gives for single numbers."""
    return float(
        evaluate(name, TileValueType(scalar, ()), *[(scalar, n) for n in numbers], **attrs)
    )


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
def test_arithmetic(scalar):
    assert one("addf", scalar, 1.5, 2.25) == 3.75
    assert one("subf", scalar, 1.5, 2.25) == -0.75
    assert one("mulf", scalar, 1.5, -2.0) == -3.0
    assert one("divf", scalar, 3.0, 4.0) == 0.75
    assert one("fma", scalar, 1.5, 2.0, 0.25) == 3.25
    assert one("sqrt", scalar, 2.25) == 1.5
    assert one("remf", scalar, -5.5, 2.0) == -1.5
    assert one("negf", scalar, 1.5) == -1.5 and one("absf", scalar, -1.5) == 1.5
    assert one("floor", scalar, -1.5) == -2.0 and one("ceil", scalar, -1.5) == -1.0


UP, DOWN, CUT = RoundingCode.POSITIVE_INF, RoundingCode.NEGATIVE_INF, RoundingCode.ZERO
THIRD = np.float32(1) / np.float32(3)


@pytest.mark.parametrize(
    ("name", "operands", "mode", "expected"),
    [
        ("addf", (1.0, 2.0**-30), UP, 1 + 2.0**-23), ("addf", (1.0, 2.0**-30), DOWN, 1.0),
        ("addf", (-1.0, -(2.0**-30)), DOWN, -1 - 2.0**-23),
        ("addf", (-1.0, -(2.0**-30)), CUT, -1.0),
        ("addf", (3e38, 3e38), CUT, 3.4028235e38), ("addf", (3e38, 3e38), UP, math.inf),
        ("subf", (1.0, 2.0**-30), CUT, 1 - 2.0**-24), ("subf", (1.0, 2.0**-30), UP, 1.0),
        ("mulf", (1.1, 1.1), RoundingCode.NEAREST_EVEN, 1.21), ("mulf", (TINY, 0.5), UP, TINY),
        ("mulf", (TINY, 0.5), DOWN, 0.0), ("mulf", (-TINY, 0.5), DOWN, -TINY),
        ("divf", (1.0, 3.0), UP, 0.33333334), ("divf", (1.0, 3.0), DOWN, 0.3333333),
        ("sqrt", (2.0,), UP, 1.4142137), ("sqrt", (2.0,), DOWN, 1.4142135),
        ("fma", (1.0, 1.0, 2.0**-30), UP, 1 + 2.0**-23), ("fma", (1.0, 1.0, 2.0**-30), CUT, 1.0),
    ],
)  # fmt: skip
def test_rounding(name, operands, mode, expected):
    assert one(name, F32, *operands, rounding_mode=mode) == float(np.float32(expected))


def test_zeros_of_sums():
    assert math.copysign(1, one("addf", F32, 1.0, -1.0)) == 1
    assert math.copysign(1, one("addf", F32, 1.0, -1.0, rounding_mode=DOWN)) == -1
    assert math.copysign(1, one("addf", F32, 0.0, 0.0, rounding_mode=DOWN)) == 1
    assert math.copysign(1, one("subf", F32, 0.0, 0.0, rounding_mode=DOWN)) == -1
    assert math.copysign(1, one("fma", F32, 1.0, 2.0, -2.0, rounding_mode=DOWN)) == -1


def test_fma_rounds_once():
    a = 1 + 2.0**-12
    assert one("fma", F32, a, a, -1.0) == 2.0**-11 + 2.0**-24
    b = 1 + 2.0**-30
    assert one("fma", F64, b, b, -1.0) == 2.0**-29 + 2.0**-60
    assert one("fma", F64, 1e200, 1e200, -math.inf) == -math.inf
    assert one("fma", F64, 1e200, 1e200, 0.0) == math.inf
    # Halfway between two f16, and a little more.
    assert one("fma", F16, 1.0, 1 + 2.0**-10, 2.0**-11) == 1 + 2.0**-9
    assert one("fma", F16, 1.0, 1.0, 2.0**-11) == 1.0


def test_flushing():
    flush = {"flush_to_zero": 1}
    assert one("addf", F32, TINY, 0.0) == pytest.approx(TINY, rel=0.1)
    assert one("addf", F32, TINY, 0.0, **flush) == 0
    assert math.copysign(1, one("mulf", F32, -1e-30, 1e-10, **flush)) == -1
    assert one("exp2", F32, -140.0) > 0
    assert one("exp2", F32, -140.0, **flush) == 0
    with pytest.raises(TileIRError, match="flush_to_zero"):
        one("addf", F64, 1.0, 2.0, **flush)


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
def test_extremes(scalar):
    nan, both = math.nan, {"propagate_nan": 1}
    assert one("maxf", scalar, 1.0, nan) == 1.0 and one("minf", scalar, nan, 1.0) == 1.0
    assert math.isnan(one("maxf", scalar, nan, nan))
    assert math.isnan(one("maxf", scalar, 1.0, nan, **both))
    assert math.isnan(one("minf", scalar, nan, 1.0, **both))
    assert one("maxf", scalar, 1.0, 2.0) == 2.0 and one("minf", scalar, 1.0, 2.0) == 1.0
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, one("maxf", scalar, a, b)) == 1
        assert math.copysign(1, one("minf", scalar, a, b)) == -1


@pytest.mark.parametrize("code", ComparisonCode)
def test_comparisons(code):
    a, b = [1.0, 2.0, 2.0, math.nan, 0.0], [2.0, 2.0, 1.0, 1.0, -0.0]
    holds = {
        ComparisonCode.EQUAL: [0, 1, 0, 0, 1], ComparisonCode.NOT_EQUAL: [1, 0, 1, 0, 0],
        ComparisonCode.LESS_THAN: [1, 0, 0, 0, 0], ComparisonCode.LESS_THAN_OR_EQUAL: [1, 1, 0, 0,
                                                                                       1],
        ComparisonCode.GREATER_THAN: [0, 0, 1, 0, 0], ComparisonCode.GREATER_THAN_OR_EQUAL: [0, 1,
                                                                                             1, 0,
                                                                                             1],
    }[code]  # fmt: skip
    for ordering in NanOrdering:
        expected = list(holds)
        expected[3] = ordering is NanOrdering.UNORDERED
        got = evaluate(
            "cmpf", TileValueType(I1, (5,)), (F32, a), (F32, b),
            comparison_predicate=code, comparison_ordering=ordering,
        )  # fmt: skip
        assert got.tolist() == expected


FUNCTIONS = {
    "exp": math.exp, "exp2": math.exp2, "log": math.log, "log2": math.log2, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("scalar", [F32, F64], ids=str)
def test_functions(name, scalar):
    x = 0.7
    given = float(np.float32(x)) if scalar is F32 else x
    expected = FUNCTIONS[name](given)
    assert one(name, scalar, x) == pytest.approx(expected, rel=1e-7 if scalar is F32 else 1e-15)


def test_functions_of_two():
    assert one("pow", F32, 2.0, 3.0) == 8.0
    assert one("atan2", F64, 1.0, -1.0) == math.atan2(1.0, -1.0), "the first is the numerator"


@pytest.mark.parametrize(
    ("name", "scalar", "mode"),
    [("addf", F32, RoundingCode.APPROX), ("divf", F64, RoundingCode.FULL), ("sqrt", F32,
                                                                            RoundingCode.FULL),
     ("exp", F64, RoundingCode.APPROX), ("tanh", F32, RoundingCode.NEAREST_EVEN)],
)  # fmt: skip
def test_roundings_that_there_are_not(name, scalar, mode):
    operands = [1.0] * (2 if name in ("addf", "divf") else 1)
    with pytest.raises(TileIRError, match=rf"not rounded by {mode.name}"):
        one(name, scalar, *operands, rounding_mode=mode)
