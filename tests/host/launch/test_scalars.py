from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tilewright.base import dtypes as dt
from tilewright.base.errors import ShapeError
from tilewright.launch.scalars import check_scalar, slot_of


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
