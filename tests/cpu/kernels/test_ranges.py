from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tilewright as tw
from tilewright.base import dtypes as dt
from tilewright.kernels import writing
from tilewright.kernels.writing import TILE

DEVICES = ["cpu", "reference"]
FLOATS = [d for d in dt.ALL if d.is_float and d not in (dt.f4e2m1fn, dt.f8e8m0fnu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "args",
    [(0,), (1,), (TILE,), (TILE + 1,), (-3,), (2, 11), (2, 11, 3), (11, 2, -3), (5, 5), (5, 2),
     (-7, 9, 2), (0, 5, 100)],
    ids=str,
)  # fmt: skip
def test_whole_numbers(args, device):
    found = tw.arange(*args, device=device).sync()
    assert found.dtype is tw.i32
    assert np.array_equal(found.to_numpy(), np.arange(*args))


@pytest.mark.parametrize("dtype", dt.INTS, ids=repr)
def test_every_integer_type_to_its_ends(dtype):
    low, high = dt.int_range(dtype)
    for numbers in (range(high - 3, high + 1), range(low, low + 4), range(high, high - 5, -2)):
        args = numbers.start, numbers.stop, numbers.step
        found = tw.arange(*args, dtype).to_numpy().sync()
        assert found.dtype == dtype.np and found.tolist() == list(numbers)
    assert tw.arange(low, high, high - low, dtype).to_numpy().sync().tolist() == [low]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_floats_are_rounded_once(dtype, device):
    found = tw.arange(-0.75, 3.1, 0.1, dtype, device=device).sync()
    exact = [float(Fraction(-0.75) + Fraction(0.1) * i) for i in range(39)]
    expected = [dt.round_to(dtype, x) for x in exact]
    assert found.dtype is dtype and found.shape == (39,)
    assert found.to_numpy().astype("f8").tolist() == expected


def test_defaults():
    assert tw.arange(0, 1, 0.25).sync().dtype is tw.f32
    assert tw.arange(3.0).sync().dtype is tw.f32
    assert tw.arange(np.int64(3)).sync().dtype is tw.i32
    assert tw.linspace(0, 1).sync().shape == (50,)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("num", [0, 1, 2, 3, 50, TILE + 1])
def test_linspace(num, device):
    for start, stop in ((0, 1), (-2.5, 7.1), (3, 3), (1e30, -1e30)):
        for endpoint in (True, False):
            op = tw.linspace(start, stop, num, tw.f64, endpoint=endpoint, device=device)
            found = op.to_numpy().sync()
            expected = np.linspace(start, stop, num, endpoint=endpoint)
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=abs(stop - start) * 1e-15)
            if num:
                assert found[0] == start
            if num > 1 and endpoint:
                assert found[-1] == stop
    narrow = tw.linspace(0.1, 0.7, num, device=device).to_numpy().sync()
    assert narrow.dtype == "f4"
    if num > 1:
        assert narrow[-1] == np.float32(0.7)


def test_several_launches_count_as_one(monkeypatch):
    monkeypatch.setattr(writing, "AT_ONCE", 1000)
    assert np.array_equal(tw.arange(3, 9000, 2).to_numpy().sync(), np.arange(3, 9000, 2))
    found = tw.linspace(0, 1, 4001, tw.f64).to_numpy().sync()
    np.testing.assert_allclose(found, np.linspace(0, 1, 4001), rtol=1e-14)
