from __future__ import annotations

import itertools

import numpy as np
import pytest

from support.numbers import fresh_rng
from tilewright.base import dtypes as dt
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.tensors import asarray, from_numpy, zeros


@pytest.fixture
def a():
    return fresh_rng().integers(0, 1 << 30, (3, 4, 5), "i4")


def test_slice(a):
    t = from_numpy(a).sync()
    part = t.slice(range(1, 3), slice(None, 2))
    assert np.array_equal(part.to_numpy(), a[1:3, :2])
    assert np.array_equal(part.slice(range(1, 2)).to_numpy(), a[2:3, :2])
    assert t.slice(range(2, 2)).shape == (0, 4, 5)
    assert t.slice().shape == a.shape
    assert part.region.storage is t.region.storage


def test_transposes(a):
    t = from_numpy(a).sync()
    assert np.array_equal(t.T.to_numpy(), a.T)
    assert np.array_equal(t.transpose().to_numpy(), a.swapaxes(-1, -2))
    assert np.array_equal(t.transpose(0, 2).to_numpy(), a.swapaxes(0, 2))
    for order in itertools.permutations(range(3)):
        assert np.array_equal(t.permute(*order).to_numpy(), a.transpose(order))
    assert np.array_equal(t.permute(-1, 0, 1)[::-1].to_numpy(), a.transpose(2, 0, 1)[::-1])
    scalar = zeros(()).sync()
    assert scalar.T.shape == scalar.permute().shape == ()


@pytest.mark.parametrize("name", ["u1", "f2", "f4", "i8", "bfloat16", "bool", "f8e4m3fn"])
def test_reinterpret(a, name):
    t = from_numpy(a.reshape(6, 10)).sync()
    dtype = dt.as_dtype(name)
    found = t.reinterpret(dtype)
    assert found.dtype is dtype and found.num_bytes == t.num_bytes
    assert found.shape == (6, 40 // dtype.itemsize)
    assert found.to_numpy().tobytes() == a.tobytes()
    flat = t.reinterpret(dtype, (240 // dtype.itemsize,))
    assert flat.to_numpy().tobytes() == a.tobytes()


def test_views_of_ops(a):
    assert np.array_equal(from_numpy(a).view((12, 5)).to_numpy().sync(), a.reshape(12, 5))
    assert np.array_equal(from_numpy(a).slice(range(1, 3)).to_numpy().sync(), a[1:3])
    u = from_numpy(a).reinterpret(dt.u32).sync()
    assert np.array_equal(u.to_numpy(), a.view("u4"))
    u.partition((1, 4, 8)).unpartition().partition_mut((1, 4, 8))  # handed over, so it is written


def test_a_view_ends_with_the_next_write(a):
    t = from_numpy(a).sync()
    views = [t.T, t.slice(range(1, 2)), t.reinterpret(dt.u32), t.transpose()]
    t.partition_mut((1, 4, 8))
    for view in views:
        with pytest.raises(BorrowError, match="its borrow has ended"):
            view.to_numpy()


WRONG = {
    "ranges": lambda t: t.slice(*[range(1)] * 4),
    "range-end": lambda t: t.slice(range(1), range(2, 5)),
    "range-order": lambda t: t.slice(slice(2, 1)),
    "range-step": lambda t: t.slice(range(0, 2, 2)),
    "range-kind": lambda t: t.slice(1),
    "axis": lambda t: t.transpose(0, 3),
    "order": lambda t: t.permute(0, 0, 1),
    "order-length": lambda t: t.permute(1, 0),
    "reinterpret-gaps": lambda t: t[:, 1:].reinterpret(dt.f32),
    "reinterpret-bytes": lambda t: t.reinterpret(dt.i64),
    "reinterpret-shape": lambda t: t.reinterpret(dt.i64, (31,)),
    "reinterpret-start": lambda t: t[0, 0, 1:3].reinterpret(dt.i64),
    "reinterpret-f4": lambda t: t.reinterpret(dt.f4e2m1fn),
    "reinterpret-name": lambda t: t.reinterpret("float23"),
    "reshape-gaps": lambda t: t.T.reshape(-1),
    "scalar-transpose": lambda t: t[0, 0, 0].transpose(),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_views(name, golden, places):
    memory = np.zeros(62, "i4")
    start = (memory.ctypes.data // 4) % 2  # an address that is a multiple of 8
    t = asarray(memory[start : start + 60].reshape(3, 4, 5))
    with pytest.raises((ShapeError, TypeError)) as caught:
        WRONG[name](t)
    golden(places(caught.value))
