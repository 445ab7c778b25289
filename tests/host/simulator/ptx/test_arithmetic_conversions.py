"""Conversions by `cvt`: saturating, with what PTX says of NaN; from small registers and large."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.ptx.program import PtxError
from support.ptx import evaluate

NUMBERS = [0.5, 1.5, 2.5, -1.5, -0.7, 3e9, -3e9, 1e19, -1e19, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("given", ["f32", "f64"])
def test_floats_to_integers(given, bits):
    dtype = {"f32": np.float32, "f64": np.float64}[given]
    a = np.array(NUMBERS, dtype)
    letter = {32: "r", 64: "d"}[bits]
    rounding = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for mode, function in rounding.items():
        for sign in "su":
            got = evaluate(f"cvt.{mode}.{sign}{bits}.{given} $0, $1;", letter, a)
            wanted = [_clipped(x, function, sign, bits, given) for x in a.tolist()]
            assert got.tolist() == wanted, (mode, sign)


def _clipped(x, function, sign, bits, given):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign == "s" else (0, (1 << bits) - 1)
    if math.isnan(x):
        return 0 if given == "f32" and bits == 32 else 1 << bits - 1
    whole = x if math.isinf(x) else function(x)
    return int(min(max(whole, low), high)) % (1 << bits)


def test_large_integers_are_rounded_once():
    a = np.array([(1 << 53) + 1, (1 << 63) + (1 << 39) + 1, (1 << 64) - 1, 16777217], np.uint64)
    got = evaluate("cvt.rn.f64.u64 $0, $1;", "d", a).view(np.float64)
    assert got.tolist() == [float(int(n)) for n in a]
    got = evaluate("cvt.rn.f32.u64 $0, $1;", "r", a).view(np.float32)
    assert got.tolist() == a.astype(np.float32).tolist()
    got = evaluate("cvt.rz.f32.u64 $0, $1;", "r", a).view(np.float32)
    assert got.tolist()[3] == 16777216.0


def test_the_low_bits_of_wide_registers():
    a = np.array([0x1_8000_0080, 0xFFFF_FFFF_7FFF_FF7F], np.uint64)
    assert evaluate("cvt.s64.s32 $0, $1;", "d", a).tolist() == [
        0xFFFF_FFFF_8000_0080, 0x7FFF_FF7F,
    ]  # fmt: skip
    assert evaluate("cvt.u32.u64 $0, $1;", "r", a).tolist() == [0x8000_0080, 0x7FFF_FF7F]
    assert evaluate("cvt.s32.s8 $0, $1;", "r", a.astype(np.uint32)).tolist() == [
        0xFFFF_FF80, 0x7F,
    ]  # fmt: skip


def test_f64_to_bf16_is_rounded_once():
    between = np.array([1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8])
    got = evaluate("cvt.rn.bf16.f64 $0, $1;", "h", between)
    assert got.tolist() == [0x3F81, 0x3F80, 0x3F82]


@pytest.mark.parametrize(
    "text", ["cvt.f32.f64 $0, $1;", "cvt.rni.f32.f64 $0, $1;", "cvt.rn.u32.f64 $0, $1;"]
)
def test_forms_that_are_none(text):
    with pytest.raises(PtxError, match="does not know"):
        evaluate(text, "r", np.zeros(1))
