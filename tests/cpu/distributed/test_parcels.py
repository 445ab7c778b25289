"""Tensors in pickles: out of band, in band, leased while they are there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from tilewright.distributed import Parcel
from tilewright.distributed.parcels import opened

DTYPES = [tw.f32, tw.bf16, tw.f8e4m3fn, tw.i64, tw.bool_]


@pytest.mark.cpu_alone
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 7)], ids=str)
def test_out_of_band_and_in_band(dtype, shape):
    data = np.asarray(fresh_rng().integers(0, 2, shape)).astype(dtype.np)
    t = tw.from_numpy(data).sync()
    buffers: list[pickle.PickleBuffer] = []
    small = pickle.dumps(Parcel(t), 5, buffer_callback=buffers.append)
    for found in (
        pickle.loads(small, buffers=buffers),
        pickle.loads(pickle.dumps(Parcel(t), 5)),
        pickle.loads(pickle.dumps(Parcel(t), 4)),
    ):
        assert found.shape == shape and found.dtype is dtype
        np.testing.assert_array_equal(found.to_numpy(), data)
    assert len(buffers) == 1


@pytest.mark.cpu_alone
def test_what_a_parcel_shows():
    assert repr(Parcel(tw.ones((2, 3)).sync())) == "Parcel(shape=(2, 3), dtype=f32)"


def test_bytes_are_not_copied_on_the_way():
    t = tw.ones((1 << 18,)).sync()
    buffers: list[pickle.PickleBuffer] = []
    small = pickle.dumps(Parcel(t), 5, buffer_callback=buffers.append)
    assert len(small) < 300
    found = pickle.loads(small, buffers=buffers)
    assert int(found.device_pointer()) == int(t.device_pointer())  # what came is what was there


@pytest.mark.cpu_alone
def test_a_tensor_is_leased_while_its_parcel_is_there():
    t = tw.ones((8,)).sync()
    parcel = Parcel(t)
    with pytest.raises(tw.BorrowError, match="a NumPy view of it is alive"):
        tw.fill(t, 2.0).sync()
    del parcel
    tw.fill(t, 2.0).sync()


@pytest.mark.cpu_alone
def test_what_came_of_read_only_bytes_cannot_be_written():
    t = pickle.loads(pickle.dumps(Parcel(tw.ones((4,)).sync()), 5))
    frozen = opened(bytes(np.ones(4, np.float32)), "f32", (4,))
    assert t.to_numpy().sum() == frozen.to_numpy().sum() == 4
    with pytest.raises(tw.BorrowError, match="read-only"):
        tw.fill(frozen, 1.0).sync()


def test_parts_and_arcs_and_other_things():
    t = tw.arange(12.0).reshape((3, 4)).sync()
    part = pickle.loads(pickle.dumps(Parcel(t[:, 1:3]), 5))
    np.testing.assert_array_equal(part.to_numpy(), t.to_numpy()[:, 1:3])
    shared = pickle.loads(pickle.dumps(Parcel(tw.Arc(t)), 5))
    assert shared.shape == (3, 4)
    with pytest.raises(TypeError, match="a parcel holds a tensor"):
        Parcel(3)


@pytest.mark.parametrize("shape", [(5,), (-1, -4), (4, 1 << 62)], ids=str)
def test_damaged_parcels_are_refused(shape):
    with pytest.raises(tw.ShapeError, match="a parcel is damaged"):
        opened(bytes(16), "f32", shape)
