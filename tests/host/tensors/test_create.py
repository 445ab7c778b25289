from __future__ import annotations

import asyncio

import ml_dtypes
import numpy as np
import pytest

from support.numbers import fresh_rng
from tilewright.base import dtypes as dt
from tilewright.base.config import override
from tilewright.base.errors import BorrowError, ContextError, DriverError, ShapeError
from tilewright.devices.host import CPU, REFERENCE
from tilewright.op import ambient
from tilewright.tensors import asarray, empty, from_numpy, meta, zeros

SHAPES = [(), (0,), (1,), (7,), (3, 0, 2), (4, 5), (1, 2, 3, 4)]
IN_MEMORY = [d for d in dt.ALL if d is not dt.f4e2m1fn]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", IN_MEMORY, ids=repr)
def test_zeros(shape, dtype):
    z = zeros(shape, dtype).sync()
    assert (z.shape, z.dtype) == (shape, dtype)
    assert z.to_numpy().dtype == dtype.np
    assert (z.to_numpy().reshape(-1).view("u1") == 0).all()


def test_memory_is_aligned_for_vectors():
    for n in (1, 3, 1000):
        assert zeros((n,)).sync().region.address % 64 == 0
        assert empty((n,)).sync().region.address % 64 == 0


@pytest.mark.parametrize("name", ["float32", np.float32, np.dtype("f4"), dt.f32, float])
def test_dtypes_by_any_name(name):
    assert zeros((2,), name).sync().dtype is dt.f32


def test_f4_has_no_memory_form():
    with pytest.raises(ShapeError, match="f4e2m1fnx2"):
        zeros((2,), dt.f4e2m1fn)
    with pytest.raises(ShapeError, match="f4e2m1fnx2"):
        asarray(np.zeros(2, ml_dtypes.float4_e2m1fn))


@pytest.mark.parametrize(
    ("shape", "error", "text"),
    [
        ((-1, 2), ShapeError, "negative extents"),
        (2.5, TypeError, "an int or a sequence of ints"),
        ("ab", TypeError, "an int or a sequence of ints"),
        ((1,) * 9, ShapeError, "9 axes"),
        ((2, 1 << 63), ShapeError, "an extent that is too large"),
        ((10**5000,), ShapeError, "an integer of 16610 bits"),
        ((-(10**5000),), ShapeError, "an integer of 16610 bits"),
    ],
)
def test_bad_shapes(shape, error, text):
    with pytest.raises(error, match=text):
        zeros(shape)


def test_out_of_memory_is_an_error():
    with pytest.raises(DriverError, match="out of memory"):
        zeros((1 << 30, 1 << 30)).sync()


@pytest.mark.parametrize("shape", SHAPES)
def test_from_numpy_copies(shape):
    a = np.random.default_rng(1).standard_normal(shape).astype("f4")
    t = from_numpy(a).sync()
    expected = a.copy()
    a[...] = 7
    np.testing.assert_array_equal(t.to_numpy(), expected)
    assert t.is_contiguous


def test_from_numpy_is_lazy():
    a = np.zeros(3, "f4")
    op = from_numpy(a)
    a[:] = 5
    assert op.to_numpy().sync().tolist() == [5, 5, 5]


def test_from_numpy_converts():
    assert from_numpy([1.5, 2.5], dt.f16).sync().dtype is dt.f16
    assert from_numpy(np.array([1.0001], "f4"), dt.tf32).to_numpy().sync().tolist() == [1.0]
    assert from_numpy(np.arange(6)[::-2]).to_numpy().sync().tolist() == [5, 3, 1]


@pytest.mark.parametrize(
    ("given", "dtype", "values"),
    [
        ([1, 2], dt.i32, [1, 2]), ([[1.5], [2]], dt.f32, [[1.5], [2]]), ((True,), dt.bool_, [True]),
        (3, dt.i32, 3), (np.float16(3), dt.f16, 3), (b"\x01\x02", dt.u8, [1, 2]),
        (bytearray(2), dt.u8, [0, 0]), (memoryview(b"ab")[::-1], dt.u8, [98, 97]),
        (memoryview(np.arange(3, dtype="i8")), dt.i64, [0, 1, 2]), ([], dt.f32, []),
    ],
    ids=lambda x: bytes(x).hex() if isinstance(x, memoryview) else repr(x),
)  # fmt: skip
def test_from_host_data_of_many_kinds(given, dtype, values):
    t = from_numpy(given).sync()
    assert t.dtype is dtype
    assert t.to_numpy().tolist() == values


def test_bytes_are_the_memory_itself():
    a = np.random.default_rng(0).standard_normal(5).astype("f4")
    assert np.array_equal(from_numpy(a.tobytes(), dt.f32).to_numpy().sync(), a)
    assert from_numpy(b"\x80\x3f", dt.bf16).to_numpy().sync().astype("f4").tolist() == [1.0]


def test_large_arrays_are_copied_off_the_event_loop():
    """An awaited op that is lengthy goes on in another thread."""
    small, large = np.zeros(8), fresh_rng().standard_normal((1 << 9, 1 << 10))
    assert not from_numpy(small).lengthy
    assert from_numpy(large).lengthy

    async def copied():
        return (await from_numpy(large, dt.f32)).to_numpy()

    assert np.array_equal(asyncio.run(copied()), large.astype("f4"))


def test_the_array_may_be_changed_once_the_copy_has_started():
    a = fresh_rng().standard_normal((1 << 9, 1 << 10))
    expected = a.copy()
    futures = [from_numpy(a).into_future(), from_numpy(a).reshape(-1).into_future()]
    started = from_numpy(a).start()
    a[:] = 0
    for t in (started, *[future.result() for future in futures]):
        assert np.array_equal(t.to_numpy().reshape(a.shape), expected)


def test_the_named_device_must_be_the_streams():
    stream = REFERENCE.streams()[0]
    assert zeros((2,)).sync_on(stream).device is REFERENCE
    assert from_numpy([1.0]).sync_on(stream).device is REFERENCE
    with pytest.raises(ContextError, match="makes a tensor on 'cpu', but was started on a stream"):
        zeros((2,), device="cpu").sync_on(stream)


def test_asarray_aliases():
    a = np.arange(12, dtype="f4").reshape(3, 4)
    t = asarray(a[::-1, 1::2])
    assert t.shape == (3, 2)
    assert t.strides == (-4, 2)
    a[0, 1] = 99
    assert t.to_numpy()[2, 0] == 99


def test_asarray_of_another_form():
    assert asarray(np.zeros(2, "f4"), dt.tf32).dtype is dt.tf32
    assert asarray(np.zeros(2, "u1"), dt.f4e2m1fnx2).dtype is dt.f4e2m1fnx2
    with pytest.raises(ShapeError, match="does not convert"):
        asarray(np.zeros(2, "f4"), dt.f16)


def test_asarray_of_what_aliases_an_array():
    class Holder:
        def __init__(self, a):
            self.__array_interface__ = a.__array_interface__
            self.a = a

    a = np.arange(3, dtype="i4")
    assert asarray(Holder(a)).region.address == a.ctypes.data

    class Lender:
        def __dlpack__(self, **options):
            return a.__dlpack__(**options)

        def __dlpack_device__(self):
            return a.__dlpack_device__()

    assert asarray(Lender()).region.address == a.ctypes.data


@pytest.mark.parametrize("wrong", [[1, 2], zeros((2,)), zeros((2,)).sync()])
def test_asarray_takes_arrays(wrong):
    with pytest.raises(TypeError, match="got "):
        asarray(wrong)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.zeros(2, ">f4"), id="byte order"),
        pytest.param(np.zeros(9, "u1")[1:].view("f4"), id="alignment"),
        pytest.param(np.zeros(2, [("a", "f4"), ("b", "u1")])["a"], id="stride"),
    ],
)
def test_arrays_a_kernel_cannot_address(array):
    with pytest.raises(ShapeError, match="cannot address"):
        asarray(array)


def test_a_read_only_array_cannot_be_written():
    a = np.zeros(4, "f4")
    a.flags.writeable = False
    with pytest.raises(BorrowError, match="read-only"):
        asarray(a).partition_mut((2,))


def test_aliases_share_their_borrows():
    a = np.zeros(8, "f4")
    low, middle, high = asarray(a[:4]), asarray(a[2:6]), asarray(a[4:])
    v, w = low[1:], high[1:]
    middle.partition_mut((2,))
    for view in (v, w):
        with pytest.raises(BorrowError, match="borrowed for writing"):
            view.to_numpy()
    apart = low[1:]
    high.partition_mut((2,))
    assert apart.to_numpy().shape == (3,)  # disjoint memory: not touched


def test_the_same_array_twice_is_one_storage():
    a = np.zeros(8, "f4")
    first, second = asarray(a), asarray(a)
    assert first.region.storage is second.region.storage


def test_meta():
    t = meta((1 << 20, 1 << 20), dt.f16)
    assert t.num_bytes == 2 << 40
    assert t.partition((64, 64)).grid == (1 << 14, 1 << 14)


def test_who_builds_an_op_does_not_wait_for_gpus_to_be_found(monkeypatch):
    def look():
        raise AssertionError("this takes long")

    monkeypatch.setattr(ambient, "best_device", look)
    monkeypatch.setattr(ambient._Process, "looked", False)
    monkeypatch.setattr(ambient._Process, "best", None)
    with override(device=""):
        ops = [zeros((3,)), from_numpy(np.ones(3)), empty((3,))]
    assert [op.home for op in ops] == [None] * 3
    monkeypatch.setattr(ambient, "best_device", lambda: CPU)
    with override(device=""):
        assert [op.sync().device for op in ops] == [CPU] * 3


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 40), (1 << 62,), (1 << 31, 1 << 31, 8)])
def test_more_bytes_than_there_are_addresses_are_out_of_memory(shape):
    with pytest.raises(DriverError, match=f"out of memory: {4 * np.prod(shape, dtype=object)}"):
        empty(shape, device="cpu").sync()
    assert meta(shape).shape == shape
