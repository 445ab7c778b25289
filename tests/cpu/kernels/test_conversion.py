from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from tilewright.base import dtypes as dt
from tilewright.kernels import writing
from tilewright.kernels.writing import TILE

DEVICES = ["cpu", "reference"]
PLAIN = [d for d in dt.ALL if d not in (dt.f4e2m1fn, dt.f4e2m1fnx2)]


def values(source):
    """Numbers that every type has, and the ends of the given one."""
    a = np.array([0, 1, 2, 4, 64]).astype(source.np)
    if source.is_int:
        ends = np.array(dt.int_range(source), source.np)
        return np.concatenate([a, ends])
    return a


@pytest.mark.thinned(2)
@pytest.mark.parametrize("source", PLAIN, ids=repr)
def test_all_pairs_agree_with_the_reference(source):
    a = values(source)
    for target in PLAIN:
        native = tw.convert(tw.from_numpy(a, device="cpu"), target).to_numpy().sync()
        defined = tw.convert(tw.from_numpy(a, device="reference"), target).to_numpy().sync()
        assert native.dtype == target.np
        assert native.tobytes() == defined.tobytes(), (source, target)
        if not target.is_bool and dt.f8e8m0fnu not in (source, target) and not source.is_bool:
            assert native[1:4].astype("f4").tolist() == [1, 2, 4], (source, target)


@pytest.mark.parametrize("device", DEVICES)
def test_rules(device):
    def converted(numbers, source, target):
        t = tw.from_numpy(np.array(numbers, source.np), device=device).sync()
        return tw.convert(t, target).to_numpy().sync().tolist()

    floats = [1.9, -1.9, 1e20, -1e20, np.nan, np.inf]
    assert converted(floats, tw.f32, tw.i32) == [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert converted(floats, tw.f64, tw.u8) == [1, 0, 255, 0, 0, 255]
    assert converted([300, -1], tw.i32, tw.u8) == [44, 255]
    assert converted([2**24 + 1, 2**24 + 3], tw.i32, tw.f32) == [2**24, 2**24 + 4]
    assert converted([True, False], tw.bool_, tw.f16) == [1.0, 0.0]
    assert converted([0, 7, -1], tw.i32, tw.bool_) == [False, True, True]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (TILE - 1,), (TILE + 1,), (3, 0, 2), (5, 7, 3)])
def test_shapes(shape):
    a = fresh_rng().standard_normal(shape).astype("f4")
    found = tw.convert(a, tw.f64).sync()
    assert found.shape == shape and found.dtype is tw.f64
    assert np.array_equal(found.to_numpy(), a)


def test_strided_sources():
    a = fresh_rng().standard_normal((3, 4, 5, 2, 6)).astype("f4")
    t = tw.from_numpy(a).sync()
    for view, expected in (
        (t.T, a.T), (t[::-1, 1:, ::2], a[::-1, 1:, ::2]), (t[1, :, 2], a[1, :, 2]),
        (t.permute(4, 0, 2, 1, 3), a.transpose(4, 0, 2, 1, 3)),
    ):  # fmt: skip
        found = tw.convert(view, tw.f16).sync()
        assert found.is_contiguous
        assert np.array_equal(found.to_numpy(), expected.astype("f2"))


def test_kinds_of_sources():
    a = np.arange(6, dtype="i4")
    t = tw.from_numpy(a).sync()
    for source in (a, t, tw.from_numpy(a), t[:], tw.Arc(tw.from_numpy(a).sync())):
        assert np.array_equal(tw.convert(source, "f4").to_numpy().sync(), a)


def test_it_borrows_where_it_is_built():
    t = tw.zeros((4,)).sync()
    op = tw.convert(t, tw.f16)
    tw.fill(t, 1).sync()
    with pytest.raises(tw.BorrowError, match=r"`convert` cannot run: its shared borrow of .* has"):
        op.sync()


def test_several_launches(monkeypatch):
    monkeypatch.setattr(writing, "AT_ONCE", 1000)
    a = fresh_rng().integers(0, 1000, 4321)
    assert np.array_equal(tw.convert(a, tw.i16).to_numpy().sync(), a)
