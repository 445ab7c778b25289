from __future__ import annotations

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilewright.base import dtypes as dt
from tilewright.base.errors import ShapeError
from tilewright.launch.scalars import accepting, check_scalar, slot_of


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (dt.i32, 5, 5), (dt.i32, np.int64(-5), -5), (dt.u8, 255, 255), (dt.i8, -128, -128),
        (dt.u64, 2**64 - 1, 2**64 - 1), (dt.i32, dt.u32(7), 7), (dt.bool_, True, True),
        (dt.bool_, np.bool_(False), False), (dt.f32, 1, 1.0), (dt.f32, 0.1, 0.1),
        (dt.f32, np.float64(0.5), 0.5), (dt.f16, ml_dtypes.bfloat16(0.5), 0.5),
        (dt.f32, math.inf, math.inf), (dt.f32, np.float16(2), 2.0), (dt.bf16, True, True),
    ],
)  # fmt: skip
def test_accepts(dtype, value, expected):
    found = check_scalar("k", "s", dtype, value)
    assert found == expected
    assert type(found) in (bool, int, float)


def test_nan_stays():
    assert math.isnan(check_scalar("k", "s", dt.f32, math.nan))


WRONG = {
    "int-from-float": (dt.i32, 1.0),
    "int-from-bool": (dt.i32, True),
    "int-from-text": (dt.i32, "3"),
    "bool-from-int": (dt.bool_, 1),
    "float-from-none": (dt.f32, None),
    "float-from-array": (dt.f32, np.ones(2)),
    "too-large": (dt.u8, 256),
    "negative": (dt.u32, -1),
    "overflow": (dt.f16, 70000.0),
    "huge-int": (dt.f32, 10**400),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name, golden):
    with pytest.raises(ShapeError) as caught:
        check_scalar("k", "s", *WRONG[name])
    golden(str(caught.value), name)


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        (dt.i32, -1, 2**64 - 1), (dt.i8, -2, 2**64 - 2), (dt.u64, 2**63, 2**63),
        (dt.bool_, True, 1),
        (dt.f32, 1.0, 0x3F800000), (dt.f64, 1.0, 0x3FF0000000000000), (dt.f16, 1.0, 0x3C00),
        (dt.bf16, 1.0, 0x3F80), (dt.tf32, 1.0001, 0x3F800000), (dt.f8e5m2, 1.0, 0x3C),
        (dt.f32, -0.0, 0x80000000), (dt.f64, math.inf, 0x7FF0000000000000),
    ],
)  # fmt: skip
def test_slots(dtype, value, bits):
    assert slot_of(dtype, value) == bits


NUMBERS = [d for d in dt.ALL if d is not dt.f4e2m1fnx2]
ANY = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.sampled_from([65504.0, 65519.9, 65520.0, 3.4028235e38, 3.4028235677973366e38, 1e308]),
    st.sampled_from([None, "1", dt.u8(3), dt.f32(0.5), np.bool_(True)]),
)


def outcome(function, *args):
    try:
        value = function(*args)
    except ShapeError as error:
        return str(error)
    return type(value), str(value)


@given(st.sampled_from(NUMBERS), ANY)
def test_what_surely_fits_is_what_is_accepted(dtype, value):
    accept = accepting("k", "s", dtype)
    assert outcome(accept, value) == outcome(check_scalar, "k", "s", dtype, value)


@given(st.sampled_from([dt.f16, dt.f32, dt.f64]), st.floats())
@example(dt.f16, struct.unpack("d", struct.pack("Q", 0x7FFA83446D7EC758))[0])
@example(dt.f16, struct.unpack("d", struct.pack("Q", 0x7FF0000000000001))[0])
def test_slots_of_floats_are_those_of_numpy(dtype, value):
    try:
        accepted = check_scalar("k", "s", dtype, value)
    except ShapeError:
        return
    with np.errstate(invalid="ignore"):
        held = np.asarray(accepted, np.float64).astype(dtype.np)
    assert slot_of(dtype, accepted) == int.from_bytes(held.tobytes(), "little")


def test_small_floats_are_rounded_once():
    # Half way between two bf16, and a little more: rounding to f32 first would lose the little.
    assert slot_of(dt.bf16, 1 + 2**-8 + 2**-40) == 0x3F81
    assert slot_of(dt.bf16, 1 + 2**-8) == 0x3F80
