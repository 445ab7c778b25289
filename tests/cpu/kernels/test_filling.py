from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.lending import LENT, lent
from tilewright.base import dtypes as dt
from tilewright.kernels import writing
from tilewright.kernels.writing import TILE

IN_MEMORY = [d for d in dt.ALL if d is not dt.f4e2m1fn]
SHAPES = [(), (0,), (1,), (TILE - 1,), (TILE,), (TILE + 1,), (3, 0, 2), (7, 11, 13)]
DEVICES = ["cpu", "reference"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", IN_MEMORY, ids=repr)
def test_ones_and_full(dtype, device):
    for shape in SHAPES:
        ones = tw.ones(shape, dtype, device=device).sync()
        assert (ones.shape, ones.dtype) == (shape, dtype)
        assert ones.device.name.startswith(device)  # "cuda" is the first GPU, "cuda:0"
        one = 0x22 if dtype is dt.f4e2m1fnx2 else 1
        assert (ones.to_numpy().astype("f4") == one).all()
    given = True if dtype is dt.bool_ else 2
    two = tw.full((5,), given, dtype, device=device).to_numpy().sync()
    assert (two.astype("f4") == (0x44 if dtype is dt.f4e2m1fnx2 else given)).all()


def test_dtypes_without_being_told():
    assert tw.ones(3).sync().dtype is tw.f32
    for value, dtype in (
        (0.5, tw.f32), (3, tw.i32), (True, tw.bool_), (np.int64(3), tw.i64), (tw.u8(3), tw.u8),
        (np.float64(1), tw.f64), (np.bool_(True), tw.bool_),
    ):  # fmt: skip
        assert tw.full((2,), value).sync().dtype is dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(-3, tw.i8), (-1, tw.i64), ((1 << 64) - 1, tw.u64), (0.1, tw.f16), (0.1, tw.bf16),
     (-0.0, tw.f64), (float("inf"), tw.f32), (1e-45, tw.f32), (3.25, tw.f8e5m2), (True, tw.bool_)],
)  # fmt: skip
def test_values_are_exact(value, dtype):
    found = tw.full((3,), value, dtype).to_numpy().sync()
    assert found.tobytes() == np.full(3, value).astype(dtype.np).tobytes()


def test_nan_and_rounding():
    assert np.isnan(tw.full((2,), float("nan"), tw.f16).to_numpy().sync()).all()
    assert tw.full((2,), 1.0001, tw.tf32).to_numpy().sync().tolist() == [1.0, 1.0]
    assert tw.full((1,), 1.5, tw.f4e2m1fnx2).to_numpy().sync().tolist() == [0x33]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (3, 5), (5, 3), (97, 97)])
def test_eye(shape, device):
    assert np.array_equal(tw.eye_rect(*shape, device=device).to_numpy().sync(), np.eye(*shape))
    n = shape[0]
    assert np.array_equal(tw.eye(n, tw.i8, device=device).to_numpy().sync(), np.eye(n))


@pytest.mark.parametrize("device", DEVICES)
def test_fill_in_place(device):
    t = tw.zeros((5, 7), tw.bf16, device=device).sync()
    assert tw.fill(t, -2.5).sync() is t
    assert (t.to_numpy() == -2.5).all()
    made = tw.fill(tw.empty((3,), tw.u16, device=device), 9).sync()
    assert made.to_numpy().tolist() == [9, 9, 9]
    assert tw.fill(tw.empty((0, 2), device=device), 1).sync().shape == (0, 2)


def test_fill_strided_memory():
    memory = np.zeros((7, 9, 11), "f4")
    tw.fill(tw.asarray(memory[::2, 1::3, ::-1]), 2.5).sync()
    expected = np.zeros_like(memory)
    expected[::2, 1::3] = 2.5
    assert np.array_equal(memory, expected)


def test_fill_borrows_and_warns():
    t = tw.zeros((4,)).sync()
    op = tw.fill(t, 1)
    t.to_numpy()
    with pytest.raises(tw.BorrowError, match=r"its exclusive borrow of .* has ended"):
        op.sync()
    lease = lent(t)
    with pytest.raises(tw.BorrowError, match=LENT):
        tw.fill(t, 1).sync()
    del lease
    assert t.to_numpy().sum() == 0
    with pytest.warns(RuntimeWarning, match="`fill` built at .* was never run"):
        tw.fill(t, 1)


def test_more_elements_than_one_launch_takes(monkeypatch):
    monkeypatch.setattr(writing, "AT_ONCE", 1000)
    t = tw.full((37, 71), 3, tw.i16).sync()
    assert (t.to_numpy() == 3).all()
    tw.fill(t, -1).sync()
    assert (t.to_numpy() == -1).all()


def test_fill_a_part():
    t = tw.zeros((4, 300)).sync()
    part = t.borrow_mut()[1:3, ::2]
    assert tw.fill(part, 2).sync() is part
    expected = np.zeros((4, 300))
    expected[1:3, ::2] = 2
    assert np.array_equal(t.to_numpy(), expected)
