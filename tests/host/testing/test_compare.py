from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from tilewright.base import dtypes as dt
from tilewright.testing import assert_close
from tilewright.testing.compare import spacing


def test_what_is_close():
    x = fresh_rng().standard_normal((3, 5)).astype("f4")
    assert_close(x, x)
    assert_close(tw.from_numpy(x).sync(), x.astype("f8"))
    assert_close(tw.Arc(tw.from_numpy(x).sync()), x)
    assert_close(x + np.float32(1e-7), x)
    assert_close([1, 2], (1, 2))
    assert_close(np.array([np.nan, np.inf, -np.inf]), [np.nan, np.inf, -np.inf])
    assert_close(np.zeros((0, 3)), np.ones((0, 3)))
    assert_close(2.0, 2.0)
    assert_close(1.0, 1.5, atol=0.5)
    assert_close(np.float32(1.0), np.float32(1.0) + np.float32(2**-23), ulp=1)
    assert_close(np.zeros(2, ml_dtypes.float8_e5m2), np.zeros(2))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: assert_close([np.nan], [1.0]), lambda: assert_close([1.0], [np.nan]),
        lambda: assert_close([np.inf], [-np.inf], atol=1e9), lambda: assert_close([1], [2]),
        lambda: assert_close(np.float32(1), np.float32(1 + 2**-22), ulp=1),
        lambda: assert_close(np.float16(1), np.float16(1.01)),
        lambda: assert_close([1e300], [2e300]),
        lambda: assert_close([np.inf], [1e308]), lambda: assert_close([True], [False]),
    ],
)  # fmt: skip
def test_what_is_not(wrong):
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        wrong()


def test_spacing():
    numbers = np.array([1.0, 1.5, 2.0, 3e-5, 0.0, 1000.0, -7.0])
    for dtype in (dt.f16, dt.f32, dt.f64):
        expected = np.spacing(np.abs(numbers).astype(dtype.np)).astype("f8")
        assert np.array_equal(spacing(numbers.astype(dtype.np).astype("f8"), dtype), expected)
    assert spacing(np.array([1.0]), dt.bf16) == 2**-7
    assert spacing(np.array([1.0]), dt.f8e4m3fn) == 2**-3
    assert spacing(np.array([1.0]), dt.tf32) == 2**-10
    assert spacing(np.array([5]), dt.i32) == 1


WRONG = {
    "one": lambda x: assert_close(x + np.float32(0.25) * (np.arange(6) == 4).reshape(2, 3), x),
    "many": lambda x: assert_close(x * np.float32(1.5), x, message="halves"),
    "integers": lambda x: assert_close(np.arange(3), [0, 7, 2]),
    "nan": lambda x: assert_close(np.float32([np.nan, 1]), [0, 1]),
    "shapes": lambda x: assert_close(x, x[0]),
    "bounds": lambda x: assert_close(x, x + 1, rtol=0.1, atol=0.2, ulp=3),
    "op": lambda x: assert_close(tw.zeros((2,)), x),
}


@pytest.mark.parametrize("name", WRONG)
def test_messages(name, golden):
    x = np.linspace(1, 2, 6, dtype="f4").reshape(2, 3)
    with pytest.raises((AssertionError, TypeError)) as caught:
        WRONG[name](x)
    golden(str(caught.value))
