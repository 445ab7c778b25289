"""Raw pointers: gathers, scatters and addresses."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from support.numbers import fresh_rng
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import (
    ALL,
    INTS,
    bool_,
    f4e2m1fn,
    f32,
    i8,
    i32,
    i64,
    u16,
    u32,
)  # fmt: skip
from tilewright.ir.attrs import Ordering


def random_bits(dtype, count):
    top = 2 if dtype is bool_ else 16 if dtype is f4e2m1fn else 256
    raw = fresh_rng().integers(0, top, (count, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[:, 0]


def bits(a):
    return a.view(np.dtype(f"V{a.dtype.itemsize}")).tolist()


def gather_kernel(dtype, offset_dtype=i32, *, mask=False, padding=False):
    k = Kernel()
    p, by, z = k.pointer("p", dtype), k.tensor("by", offset_dtype, 1), k.output("z", dtype, 1)
    chosen, rest = k.tensor("mask", bool_, 1), k.tensor("rest", dtype, 1)
    pointers = k.emit("offset", k.broadcast(p, (8,)), k.load(by, (8,)))
    operands = (k.load(chosen, (8,)) if mask else None, k.load(rest, (8,)) if padding else None)
    k.store(k.emit("load_ptr", pointers, *operands), z)
    return k.finish()


NO_MASK, OFFSETS = np.zeros(8, np.bool_), np.array([3, 0, 0, 9, 1, 15, 2, 8])


@pytest.mark.parametrize("dtype", ALL)
def test_gather(dtype):
    data, z = random_bits(dtype, 16), poisoned(dtype, (8,))
    offsets = OFFSETS.astype(np.int32)
    checked(gather_kernel(dtype), [data, offsets, z, NO_MASK, random_bits(dtype, 8)])
    assert bits(z) == bits(data[OFFSETS])


@pytest.mark.parametrize("offset_dtype", INTS)
def test_offsets_of_every_integer_type_may_be_negative(offset_dtype):
    data, z = np.arange(16, dtype=np.float32), poisoned(f32, (8,))
    offsets = np.array([0, 1, 2, 3, 4, 5, 6, 7])
    offsets = offsets - 8 if offset_dtype.is_signed else offsets
    rest = np.zeros(8, np.float32)
    start = data[8:] if offset_dtype.is_signed else data
    arguments = [start.ctypes.data, offsets.astype(offset_dtype.np), z, NO_MASK, rest]
    outcome = run(gather_kernel(f32, offset_dtype), arguments, (1,), reachable=[data])
    assert outcome.problems == ()
    assert z.tolist() == [float(i) for i in range(8)]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("padding", [False, True])
def test_masked_gather_touches_nothing_else(dtype, padding):
    data, z, rest = random_bits(dtype, 4), poisoned(dtype, (8,)), random_bits(dtype, 8)
    offsets = np.array([3, 999_999, 0, -7, 1, 2**31 - 1, 2, 4], np.int32)
    mask = np.array([1, 0, 1, 0, 1, 0, 1, 0], np.bool_)
    func = gather_kernel(dtype, mask=True, padding=padding)
    checked(func, [data, offsets, z, mask, rest])
    zero = bytes(dtype.itemsize)
    for i, (result, inside) in enumerate(zip(bits(z), mask, strict=True)):
        expected = bits(data)[offsets[i]] if inside else bits(rest)[i] if padding else zero
        assert result == expected


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("masked", [False, True])
def test_scatter(dtype, masked):
    k = Kernel()
    p, by, x = k.pointer("p", dtype), k.tensor("by", i32, 1), k.tensor("x", dtype, 1)
    mask = k.tensor("mask", bool_, 1)
    pointers = k.emit("offset", k.broadcast(p, (4,)), k.load(by, (4,)))
    k.op("store_ptr", pointers, k.load(x, (4,)), k.load(mask, (4,)) if masked else None)
    data, values = random_bits(dtype, 9), random_bits(dtype, 4)
    expected = data.copy()
    offsets, chosen = np.array([8, 0, 5, 2], np.int32), np.array([1, 0, 1, 1], np.bool_)
    keep = chosen if masked else np.ones(4, np.bool_)
    expected[offsets[keep]] = values[keep]
    checked(k.finish(), [data, offsets, values, chosen])
    assert bits(data) == bits(expected)


def test_of_two_values_for_one_address_the_later_stays():
    k = Kernel()
    p = k.pointer("p", i32)
    k.op("store_ptr", k.broadcast(p, (4,)), k.emit("iota", size=4, dtype=i32))
    data = np.full(1, -1, np.int32)
    checked(k.finish(), [data])
    assert data.tolist() == [3]


def test_scalar_pointers():
    k = Kernel()
    p = k.pointer("p", i64)
    value = k.emit("load_ptr", p, ordering=Ordering.RELAXED)
    following = k.emit("offset", p, k.i32(1))
    k.op("store_ptr", following, k.emit("addi", value, value), ordering=Ordering.RELEASE)
    data = np.array([21, 0], np.int64)
    checked(k.finish(), [data])
    assert data.tolist() == [21, 42]


def test_addresses_as_integers():
    k = Kernel()
    p, z = k.pointer("p", u16), k.output("z", i64, 0)
    moved = k.emit("offset", p, k.i32(3))
    address = k.emit("ptr_to_int", moved)
    k.store(address, z)
    back = k.emit("int_to_ptr", address, to=u16)
    k.op("store_ptr", back, k.constant(7, u16))
    data, z = np.zeros(5, np.uint16), poisoned(i64, ())
    checked(k.finish(), [data, z])
    assert int(z) == data.ctypes.data + 6
    assert data.tolist() == [0, 0, 0, 7, 0]


def test_pointers_to_another_type():
    k = Kernel()
    p, z = k.pointer("p", u32), k.output("z", i8, 1)
    narrow = k.emit("ptr_to_ptr", p, to=i8)
    k.store(k.emit("load_ptr", k.pointers(narrow, 8)), z)
    k.op("store_ptr", k.emit("offset", narrow, k.i32(5)), k.constant(-1, i8))
    data, z = np.array([0x04030201, 0x08070605], np.uint32), poisoned(i8, (8,))
    checked(k.finish(), [data, z])
    assert z.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert data.tolist() == [0x04030201, 0x0807FF05]
