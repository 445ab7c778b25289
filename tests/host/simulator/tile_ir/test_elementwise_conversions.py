"""Conversions by instructions of Tile IR: rounded once, saturated or refused where they must be."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.numbers import fresh_rng
from support.tile_ir import evaluate
from tilewright.backend.tileir.bytecode.enums import RoundingCode, Signedness
from tilewright.backend.tileir.bytecode.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    TF32,
    TileValueType,
)

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED


def to(kind, scalar, numbers, name="ftof", **attrs):
    return evaluate(name, TileValueType(kind, np.shape(numbers)), (scalar, numbers), **attrs)


def test_floats_round_once():
    # Just above a tie of bf16, which a stop at f32 would hide.
    x = 1 + 2.0**-8 + 2.0**-40
    assert float(to(BF16, F64, x)) == 1 + 2.0**-7
    assert float(to(F16, F64, 1 + 2.0**-11 + 2.0**-50)) == 1 + 2.0**-10
    assert float(to(TF32, F32, 1 + 2.0**-11)) == 1.0
    assert float(to(TF32, F32, 1 + 3 * 2.0**-11)) == 1 + 2.0**-9
    assert float(to(BF16, F32, 1 + 2.0**-8, rounding_mode=RoundingCode.POSITIVE_INF)) == 1 + 2.0**-7
    assert float(to(F16, F32, -1 - 2.0**-12, rounding_mode=RoundingCode.ZERO)) == -1.0


def test_small_floats_saturate():
    big = [1e6, -1e6, math.inf, -math.inf]
    assert to(F8E4M3FN, F32, big).astype(float).tolist() == [448.0, -448.0, 448.0, -448.0]
    assert to(F8E5M2, F32, big).astype(float).tolist() == [57344.0, -57344.0, 57344.0, -57344.0]
    assert math.isnan(float(to(F8E4M3FN, F32, math.nan)))
    assert to(F4E2M1FN, F32, [7.0, -2.5, 0.3]).astype(float).tolist() == [6.0, -2.0, 0.5]


def test_conversions_that_there_are_not():
    with pytest.raises(TileIRError, match="from f32 to f32"):
        to(F32, F32, 1.0)
    with pytest.raises(TileIRError, match="NEAREST_AWAY"):
        to(F16, F32, 1.0, rounding_mode=RoundingCode.NEAREST_AWAY)
    with pytest.raises(TileIRError, match="toward zero"):
        to(I32, F32, 1.0, "ftoi", rounding_mode=RoundingCode.NEAREST_EVEN)
    with pytest.raises(TileIRError, match="nearest float"):
        to(F32, I32, 1, "itof", rounding_mode=RoundingCode.ZERO)


def test_integers_to_floats():
    assert to(F32, I8, [255, 127], "itof", signedness=UNSIGNED).tolist() == [255.0, 127.0]
    assert to(F32, I8, [255, 127], "itof", signedness=SIGNED).tolist() == [-1.0, 127.0]
    assert to(F64, I64, -1, "itof", signedness=UNSIGNED) == 2.0**64
    assert to(F32, I64, [-1, -(1 << 63)], "itof", signedness=UNSIGNED).tolist() == [
        2.0**64,
        2.0**63,
    ]
    rng = fresh_rng()
    numbers = rng.integers(-(1 << 63), 1 << 63, 200) >> rng.integers(0, 63, 200)
    numbers = np.concatenate([numbers, [(1 << 40) + (1 << 16), (1 << 62) + (1 << 54) + 1]])
    got = to(BF16, I64, numbers.tolist(), "itof").astype(np.float64)
    for n, made in zip(numbers.tolist(), got.tolist(), strict=True):
        step = 2.0 ** max(abs(n).bit_length() - 8, 0)
        assert abs(n - int(made)) <= step / 2, n
    assert float(got[-1]) == float((1 << 62) + (1 << 55)), "the lowest bit decides"


def test_floats_to_integers():
    assert to(I8, F32, [1.9, -1.9, 127.5], "ftoi").tolist() == [1, -1, 127]
    assert to(I8, F32, [255.9], "ftoi", signedness=UNSIGNED).tolist() == [-1]
    wide = [1e30, -1e30, math.nan, 5.5]
    assert to(I32, F32, wide, "ftoi", saturating=1).tolist() == [2**31 - 1, -(2**31), 0, 5]
    got = to(I64, F64, wide, "ftoi", saturating=1, signedness=UNSIGNED)
    assert got.tolist() == [-1, 0, 0, 5]
    for value in (128.0, -129.0, math.nan):
        with pytest.raises(TileIRError, match="does not fit i8"):
            to(I8, F32, value, "ftoi")


def test_bits():
    assert to(I32, F32, 1.0, "bitcast") == 0x3F800000
    assert to(F16, BF16, 1.0, "bitcast").dtype == np.float16
    for kind, scalar in ((I32, F64), (TF32, I32), (I8, I1)):
        with pytest.raises(TileIRError, match="from"):
            to(kind, scalar, 1, "bitcast")


def test_pairs_of_f4():
    pairs = evaluate("pack", TileValueType(I8, (2,)), (F4E2M1FN, [1.0, -2.0, 0.5, 6.0]))
    assert (pairs.view(np.uint8) == [0xC2, 0x71]).all(), "the first is in the low half"
    back = evaluate("unpack", TileValueType(F4E2M1FN, (4,)), (I8, pairs.tolist()))
    assert back.dtype == ml_dtypes.float4_e2m1fn
    assert back.astype(float).tolist() == [1.0, -2.0, 0.5, 6.0]
    assert evaluate("unpack", TileValueType(I32, (1,)), (I8, [1, 2, 0, 0])).tolist() == [513]
