"""Element types are classes with properties; anything that names one becomes ours."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.numbers import nearest
from tilewright.base import dtypes
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    DType,
    as_dtype,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i32,
    int_range,
    is_dtype,
    round_tf32,
    round_to,
    tf32,
    u8,
    u32,
)  # fmt: skip

PACKED = dtypes.f4e2m1fnx2


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_names_come_back(dtype):
    assert as_dtype(dtype) is dtype
    assert as_dtype(dtype.name) is dtype
    assert repr(dtype) == dtype.name
    assert is_dtype(dtype)


@pytest.mark.parametrize("dtype", [t for t in ALL if t not in (tf32, PACKED)], ids=str)
def test_numpy_types_come_back(dtype):
    assert as_dtype(dtype.np) is dtype
    assert as_dtype(dtype.np.type) is dtype
    assert as_dtype(str(dtype.np)) is dtype
    assert dtype.itemsize == dtype.np.itemsize


@pytest.mark.parametrize(
    ("given_as", "dtype"),
    [
        (bool, bool_), (int, i32), (float, f32), ("half", f16), ("double", f64), ("f4", f32),
        (np.dtype("<u4"), u32), (ml_dtypes.bfloat16, bf16), ("torch.bfloat16", bf16),
    ],
)  # fmt: skip
def test_other_names(given_as, dtype):
    class Torch:
        """Stands for a torch dtype, which is known by its text."""

        def __str__(self):
            return str(given_as)

    torch = isinstance(given_as, str) and given_as.startswith("torch.")
    assert as_dtype(Torch() if torch else given_as) is dtype


@pytest.mark.parametrize("wrong", ["f33", np.complex64, object, 3, None, DType])
def test_what_is_no_element_type_is_refused(wrong):
    with pytest.raises(TypeError, match="element type"):
        as_dtype(wrong)


def test_the_base_class_is_not_an_element_type():
    assert not is_dtype(DType)
    assert not is_dtype(int)


def test_kinds():
    assert all(t.is_int and not t.is_float and t.has_arithmetic for t in INTS)
    assert all(t.is_float and not t.is_int and t.has_arithmetic for t in FLOATS)
    assert not bool_.is_int
    assert bool_.is_bool
    assert (i8.is_signed, u8.is_signed) == (True, False)
    stored_only = {t for t in ALL if not t.has_arithmetic} - {bool_}
    assert {t.bits for t in stored_only} == {4, 8, 32}
    assert f32 not in stored_only


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_ranges_are_numpys(dtype):
    info = np.iinfo(dtype.np)
    assert int_range(dtype) == (info.min, info.max)


def test_typed_scalars_are_numbers():
    assert u32(7) + 1 == 8
    assert f32(0.5) * 2 == 1.0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_gives_the_nearest(dtype, value):
    assert round_to(dtype, value) == nearest(Fraction(value), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding_goes_through_no_other_type(dtype):
    """Just above the middle of two neighbours: rounded by way of f32, it would look like a tie."""
    fraction_bits = {f16: 10, bf16: 7, f32: 23, f64: 52}[dtype]
    value = 1 + 2.0 ** -(fraction_bits + 1) + 2.0**-45
    assert round_to(dtype, value) == nearest(Fraction(value), dtype)
    assert round_to(dtype, -value) == -round_to(dtype, value)
    assert round_to(dtype, float("-inf")) == float("-inf")


@given(st.floats(width=32, allow_nan=False))
def test_tf32_is_the_nearest_multiple(value):
    rounded = round_to(tf32, value)
    bits = int(np.float32(rounded).view(np.uint32))
    assert bits & 0x1FFF == 0
    if np.isfinite(rounded) and value != 0:
        spacing = 2.0 ** max(np.floor(np.log2(abs(value))) - 10, -136)
        assert abs(rounded - value) <= spacing / 2


def test_tf32_ties_go_to_even():
    ties = np.array([1 + 2**-11, 1 + 3 * 2**-11], np.float32)
    assert round_tf32(ties).tolist() == [1.0, 1 + 2 * 2**-10]


def test_tf32_keeps_what_is_not_finite():
    given_values = np.array([np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(round_tf32(given_values), given_values)


def test_tf32_keeps_the_shape():
    assert round_tf32(np.float32(1.5)).shape == ()
    assert round_tf32(np.ones((2, 3), np.float32)).shape == (2, 3)


@pytest.mark.parametrize("dtype", [dtypes.bf16, dtypes.f16, dtypes.f8e5m2, dtypes.tf32])
def test_a_float_is_rounded_once(dtype):
    """Just above a tie: rounding through f32 first would fall on the tie and go to even."""
    fraction = {dtypes.bf16: 7, dtypes.f16: 10, dtypes.f8e5m2: 2, dtypes.tf32: 10}[dtype]
    tie = 1 + 2.0 ** -(fraction + 1)
    assert dtypes.round_to(dtype, tie) == 1.0
    assert dtypes.round_to(dtype, tie + 2.0**-40) == 1 + 2.0**-fraction
    assert dtypes.round_to(dtype, -tie - 2.0**-40) == -(1 + 2.0**-fraction)
