"""Regions of memory: how arrays are gathered, cut into cells, and turned to bytes."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, checked
from support.numbers import fresh_rng
from tilewright.backend.reference.storage import Member, MemoryRegion, decode, encode, regions_of
from tilewright.base.dtypes import ALL, bool_, f4e2m1fn, i32, u8


def test_arrays_that_overlap_share_a_region():
    base = np.zeros(20, np.int32)
    members = [Member("c", base[15:]), Member("a", base[:8]), Member("b", base[4:10])]
    regions = regions_of([*members, Member("empty", base[:0])])
    assert [[m.name for m in r.members] for r in regions] == [["a", "b"], ["c"]]
    assert [(r.high - r.low) // 4 for r in regions] == [10, 5]


def test_cells_are_as_large_as_the_elements_allow():
    raw = np.zeros(64, np.uint8)
    assert MemoryRegion([Member("x", raw.view(np.float64))]).unit == 8
    assert MemoryRegion([Member("x", raw.view(np.float32)[::3])]).unit == 4
    both = [Member("x", raw[:32].view(np.int64)), Member("y", raw[2:34].view(np.int16))]
    assert MemoryRegion(both).unit == 2
    record = np.zeros(4, np.dtype([("a", np.uint8), ("b", np.int32)]))
    assert MemoryRegion([Member("x", record["b"])]).unit == 1


def test_a_finer_access_cuts_the_cells():
    data = np.arange(4, dtype=np.int32)
    region = MemoryRegion([Member("x", data)])
    region.shadow.writer[2] = 9
    first = np.array([data.ctypes.data + 9])
    assert region.cells(first, 1).tolist() == [[9]]
    assert region.unit == 1
    assert region.shadow.writer.tolist() == [0] * 8 + [9] * 4 + [0] * 4
    assert region.cells(np.array([data.ctypes.data + 4]), 4).tolist() == [[4, 5, 6, 7]]
    assert region.get(region.cells(np.array([data.ctypes.data + 4]), 4)).tolist() == [[1, 0, 0, 0]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_by_address(order):
    array = np.zeros((3, 4, 5), np.float32, order=order)
    member = Member("x", array)
    for index in np.ndindex(array.shape):
        address = array.ctypes.data + sum(i * s for i, s in zip(index, array.strides, strict=True))
        assert member.element_at(address) == index
        assert member.element_at(address + 3) == index
    assert member.element_at(array.ctypes.data - 1) is None
    assert member.element_at(array.ctypes.data + array.nbytes) is None


def test_gaps_of_an_array_are_no_elements():
    base = np.zeros((4, 6), np.int32)
    member = Member("x", base[:, :3])
    assert member.element_at(base.ctypes.data + 4 * 4) is None
    region = MemoryRegion([member])
    assert region.name_of(4).startswith("address 0x")
    assert region.name_of(7) == "x[1, 1]"
    assert MemoryRegion([Member("s", np.zeros((), np.int32))]).name_of(0) == "s"


@pytest.mark.parametrize("dtype", ALL)
def test_bytes_and_back(dtype):
    raw = fresh_rng().integers(0, 256, (6, dtype.itemsize), dtype=np.uint8)
    values = decode(raw, dtype, (2, 3))
    assert values.shape == (2, 3)
    back = encode(values, dtype)
    expected = raw != 0 if dtype is bool_ else raw & 0xF if dtype is f4e2m1fn else raw
    assert np.array_equal(back, expected)


def test_accesses_that_span_two_regions_or_more():
    """One gather over several arrays, by addresses relative to the first."""
    arrays = [np.full(3, i, np.int32) for i in range(4)]
    k = Kernel()
    p, by, z = k.pointer("p", u8), k.tensor("by", i32, 1), k.output("z", i32, 1)
    for i in range(1, 4):
        k.tensor(f"x{i}", i32, 1)
    moved = k.emit("offset", k.broadcast(p, (4,)), k.load(by, (4,)))
    k.store(k.emit("load_ptr", k.emit("ptr_to_ptr", moved, to=i32)), z)
    first = arrays[0].ctypes.data
    offsets = np.array([a.ctypes.data - first + 4 for a in arrays[::-1]])
    if np.abs(offsets).max() >= 2**31:
        pytest.skip("the arrays lie too far apart for 32-bit offsets")
    z = np.zeros(4, np.int32)
    checked(k.finish(), [arrays[0], offsets.astype(np.int32), z, *arrays[1:]])
    assert z.tolist() == [3, 2, 1, 0]
