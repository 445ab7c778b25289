from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from support.fake_cuda import names
from support.interrupts import MOST_POINTS, raise_at
from support.numbers import fresh_rng
from tilewright.base.errors import DriverError
from tilewright.devices.blocks import copy_on_host
from tilewright.devices.cuda import copying, staging
from tilewright.devices.cuda.stream import MANY
from tilewright.devices.protocol import Block

SHAPES = [(0,), (1,), (7,), (3, 5), (2, 3, 4), (2, 1, 3, 5)]
DTYPES = ["u1", "u2", "u4", "u8"]


def host(array):
    address = array.__array_interface__["data"][0]
    return Block(address, array.itemsize, array.shape, array.strides, host=True)


class Held:
    """An array's memory on the device, as an array of the host sees it."""

    def __init__(self, device, like):
        self.memory = device.allocate(like.nbytes or 1, zeroed=True)
        self.shape, self.itemsize = like.shape, like.itemsize
        self.strides = np.empty(like.shape, like.dtype).strides

    def block(self, of=None):
        """All of it; or the part that an array is of another like this."""
        part = np.lib.stride_tricks.as_strided(np.empty(1, f"u{self.itemsize}"), self.shape,
                                               self.strides)  # fmt: skip
        start = part.__array_interface__["data"][0]
        part = part if of is None else part[of]
        offset = part.__array_interface__["data"][0] - start
        return Block(self.memory.address + offset, self.itemsize, part.shape, part.strides, False)


@pytest.fixture
def stream(device):
    return device.new_stream()


def random(shape, dtype):
    return fresh_rng().integers(0, 255, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back(device, stream, shape, dtype):
    data, result = random(shape, dtype), np.zeros(shape, dtype)
    held = Held(device, data)
    stream.copy(held.block(), host(data))
    stream.copy(host(result), held.block())
    stream.synchronize()
    assert np.array_equal(result, data)


PARTS = [np.s_[1:3, ::2], np.s_[::-1, 1:], np.s_[:, 2:3], np.s_[::2]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", PARTS)
def test_parts_with_gaps(device, stream, part, dtype):
    data = random((4, 6), dtype)
    held = Held(device, data)
    stream.copy(held.block(), host(data))
    part_of_it = np.zeros_like(data)[part]
    stream.copy(host(part_of_it), held.block(part))
    stream.synchronize()
    assert np.array_equal(part_of_it, data[part])
    new = random(data[part].shape, dtype)
    stream.copy(held.block(part), host(new))
    result = np.zeros_like(data)
    stream.copy(host(result), held.block())
    stream.synchronize()
    data[part] = new
    assert np.array_equal(result, data)


def test_transposed_arrays_of_the_host(device, stream):
    data = random((5, 3), "u4")
    held, result = Held(device, data.T), np.zeros((5, 3), "u4")
    stream.copy(held.block(), host(data.T))
    stream.copy(host(result.T), held.block())
    stream.synchronize()
    assert np.array_equal(result, data)


def test_the_host_has_been_read_when_the_copy_is_put(device, fake, stream):
    fake.hold(stream)
    data = np.arange(10, dtype="u4")
    held, result = Held(device, data), np.zeros(10, "u4")
    stream.copy(held.block(), host(data))
    data[:] = 0
    stream.copy(host(result), held.block())
    fake.release()
    assert not result.any(), "the host writes its own memory, when somebody looks"
    stream.synchronize()
    assert np.array_equal(result, np.arange(10))


def test_copies_within_the_device(device, fake, stream):
    data, result = random((4, 6), "u2"), np.zeros((4, 6), "u2")
    first, second = Held(device, data), Held(device, data)
    stream.copy(first.block(), host(data))
    stream.copy(second.block(), first.block())
    assert names(fake.log)[-1] == "copy_within"
    stream.copy(second.block(np.s_[:, ::2]), first.block(np.s_[:, 1::2]))
    stream.copy(host(result), second.block())
    stream.synchronize()
    data[:, ::2] = data[:, 1::2].copy()
    assert np.array_equal(result, data)


def test_where_blocks_overlap_the_source_is_read_first(device, stream):
    data, result = random((9,), "u4"), np.zeros(9, "u4")
    held = Held(device, data)
    stream.copy(held.block(), host(data))
    stream.copy(held.block(np.s_[1:]), held.block(np.s_[:-1]))
    stream.copy(host(result), held.block())
    stream.synchronize()
    assert np.array_equal(result, [data[0], *data[:-1]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:3, ::2]])
def test_fill(device, stream, part, dtype):
    data = random((4, 6), dtype)
    held, result = Held(device, data), np.zeros_like(data)
    value = np.array([0xF1F2F3F4F5F6F7F8], "u8").astype(dtype)
    stream.copy(held.block(), host(data))
    stream.fill(held.block(part), value.tobytes())
    stream.copy(host(result), held.block())
    stream.synchronize()
    data[part] = value[0]
    assert np.array_equal(result, data)


def test_an_element_of_another_size_is_refused(device, stream):
    with pytest.raises(DriverError, match="cannot be filled"):
        stream.fill(Held(device, np.zeros(3, "u4")).block(), b"\1\2")


def test_nothing_is_put_for_empty_blocks(device, fake, stream):
    before = len(fake.log)
    empty = Block(0, 4, (0, 3), (12, 4), host=False)
    stream.copy(empty, empty)
    stream.fill(empty, bytes(4))
    assert len(fake.log) == before


def test_what_came_to_the_host_is_read_once_it_is_there(device, fake, stream):
    """From there it goes to another place on the host, and back to the device."""
    data = random((5, 7), "u4")
    first, second = Held(device, data), Held(device, data)
    here, there, result = (np.zeros_like(data) for _ in range(3))
    stream.copy(first.block(), host(data))
    fake.hold(stream)
    stream.copy(host(here), first.block())
    stream.copy(host(there), host(here))
    assert not here.any() and not there.any()
    fake.release()
    stream.copy(second.block(), host(there))
    assert np.array_equal(there, data), "it was waited for"
    stream.copy(host(result), second.block())
    stream.synchronize()
    assert np.array_equal(result, data)
    assert not stream.arriving


def test_a_graph_reads_nothing_of_the_host_that_it_writes(device, stream):
    data = random((5,), "u4")
    held = Held(device, data)
    stream.begin_capture()
    with pytest.raises(DriverError, match="cannot record a copy from the host to the host"):
        stream.copy(host(data), host(data.copy()))
    stream.copy(host(data), held.block())
    with pytest.raises(DriverError, match="what it has itself copied to the host"):
        stream.copy(held.block(), host(data))
    stream.copy(held.block(), host(data.copy()))
    stream.end_capture()


@pytest.mark.parametrize("part", [np.s_[:], np.s_[1:3, ::2]])
def test_between_devices(device, fake, stream, part):
    data = random((4, 6), "u4")
    here, there = Held(device, data), Held(device, data[part])
    stream.copy(here.block(), host(data))
    stream.copy(replace(there.block(), elsewhere=True), here.block(part))
    assert "copy_between" in names(fake.log)
    other = np.zeros_like(data[part])
    stream.copy(host(other), there.block())
    stream.synchronize()
    assert np.array_equal(other, data[part])
    new = Held(device, data)
    result = np.zeros_like(data)
    stream.copy(new.block(part), replace(there.block(), elsewhere=True))
    stream.copy(host(result), new.block())
    stream.synchronize()
    assert np.array_equal(result[part], data[part])


def test_gaps_on_another_device_are_refused(device, stream):
    held = Held(device, np.zeros((4, 6), "u4"))
    there = replace(held.block(np.s_[:, ::2]), elsewhere=True)
    with pytest.raises(DriverError, match="memory with gaps"):
        stream.copy(there, Held(device, np.zeros((4, 3), "u4")).block())


PIECES = [
    (np.s_[:], np.s_[:]), (np.s_[1:40, ::2], np.s_[1:40, ::2]), (np.s_[::-1], np.s_[:]),
    (np.s_[:, 5:60], np.s_[:, 5:60]),
]  # fmt: skip


@pytest.mark.thinned(8)
@pytest.mark.parametrize("piece", [1, 8, 96, 1000, 4096])
@pytest.mark.parametrize(("ours", "theirs"), PIECES)
def test_large_copies_go_in_pieces(device, fake, stream, monkeypatch, ours, theirs, piece):
    monkeypatch.setattr(copying, "PIECE", piece)
    data, result = random((41, 67), "u8"), np.zeros((41, 67), "u8")
    held = Held(device, data)
    stream.copy(held.block(theirs), host(data[ours]))
    stream.copy(host(result[ours]), held.block(theirs))
    stream.synchronize()
    expected = np.zeros_like(data)
    expected[ours] = data[ours]
    assert np.array_equal(result, expected)
    moved = [entry[1] for entry in fake.log if entry[0] in ("copy_in", "copy_out")]
    assert max(moved) <= max(piece, 8) and sum(moved) == 2 * data[ours].nbytes


def test_only_a_few_pieces_are_pinned_at_once(device, fake, stream, monkeypatch):
    """However much is copied: one that is on its way keeps its memory, others use it again."""
    monkeypatch.setattr(copying, "PIECE", 4096)
    monkeypatch.setattr(staging, "KEPT", 0)
    data, result = random((1 << 18,), "u1"), np.zeros(1 << 18, "u1")
    held, most = Held(device, data), []
    moves = fake.copy_in, fake.copy_out

    def moving(move):
        def counted(*args):
            most.append(len(fake.pinned))
            move(*args)

        return counted

    monkeypatch.setattr(fake, "copy_in", moving(moves[0]))
    monkeypatch.setattr(fake, "copy_out", moving(moves[1]))
    stream.copy(held.block(), host(data))
    stream.copy(host(result), held.block())
    stream.synchronize()
    assert np.array_equal(result, data)
    assert len(most) == 128 and max(most) <= 2 * copying.AT_ONCE


def test_the_host_waits_for_room_and_keeps_the_order(device, fake, stream, monkeypatch):
    monkeypatch.setattr(copying, "PIECE", 8)
    data, result = random((10,), "u8"), np.zeros(10, "u8")
    held = Held(device, data)
    fake.hold(stream)
    done = []

    def upload():
        stream.copy(held.block(), host(data))
        data[:] = 0  # all of it has been read
        stream.copy(host(result), held.block())
        stream.synchronize()
        done.append(True)

    kept = data.copy()
    thread = threading.Thread(target=upload)
    thread.start()
    while names(fake.log).count("copy_in") < copying.AT_ONCE:
        time.sleep(1e-3)
    thread.join(0.05)
    assert thread.is_alive() and names(fake.log).count("copy_in") == copying.AT_ONCE
    fake.release()
    thread.join(60)
    assert done and np.array_equal(result, kept)


def test_a_capture_keeps_all_of_it(device, fake, stream, monkeypatch):
    monkeypatch.setattr(copying, "PIECE", 8)
    data = random((100,), "u1")
    held, result = Held(device, data), np.zeros(100, "u1")
    stream.begin_capture()
    stream.copy(held.block(), host(data))
    stream.copy(host(result), held.block())
    replay = stream.end_capture()
    assert replay.nodes == 2
    for _ in range(2):
        data[:] = random((100,), "u1")
        replay.put_on(stream).reports()
        stream.synchronize()
        assert np.array_equal(result, data)


def test_what_has_come_is_taken_before_its_room_is_used_again(device, stream, monkeypatch):
    data, result = random((7,), "u4"), np.zeros(7, "u4")
    held, met = Held(device, data), []
    stream.copy(held.block(), host(data))

    def take(target, staged):
        met.append(device.staging.allocate(data.nbytes).address != staged.address)
        copy_on_host(target, staged)

    stream.synchronize()
    monkeypatch.setattr(copying, "copy_on_host", take)
    stream.copy(host(result), held.block())
    stream.synchronize()
    assert met == [True]
    assert np.array_equal(result, data)


def test_memory_between_lives_until_it_is_read(device, stream, fake):
    """Where a mark lies between a copy to the device and the kernel that spreads it there."""
    data = random((4, 6), "u4")
    held = Held(device, np.empty((4, 12), "u4"))
    target = held.block(np.s_[:, ::2])
    for _ in range(MANY - 1):
        stream.keep("others", object())
    before = set(fake.memory)
    fake.hold(stream)
    stream.copy(target, host(data))
    (room,) = fake.memory.keys() - before
    kernel = fake.queues[stream.handle].pop()
    while fake.queues[stream.handle]:
        fake.queues[stream.handle].popleft()()
    stream.sweep()
    device.allocate(1, zeroed=False)
    assert room in fake.memory, "the kernel has yet to read it"
    kernel()


SIDES = {"all of it": np.s_[:], "with gaps": np.s_[::2]}


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize("part", SIDES.values(), ids=list(SIDES))
def test_pinned_memory_is_not_used_again_wherever_an_interrupt_comes(device, fake, stream, part):
    one, other = random((7,), "u1"), random((7,), "u1")
    stream.copy(Held(device, one).block(part), host(one[part]))  # loads the kernel for it
    for point in range(1, MOST_POINTS):
        here, there = Held(device, one), Held(device, other)
        fake.hold(stream)
        is_interrupted = raise_at(point, partial(stream.copy, here.block(part), host(one[part])))
        stream.copy(there.block(part), host(other[part]))
        fake.release()
        stream.synchronize()
        assert np.array_equal(_seen(there)[part], other[part]), point
        found = _seen(here)[part]
        assert not found.any() or np.array_equal(found, one[part]), point
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1
    assert np.array_equal(found, one[part])


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize("part", SIDES.values(), ids=list(SIDES))
def test_what_comes_back_comes_whole_wherever_an_interrupt_comes(device, fake, stream, part):
    one, other = random((7,), "u1"), random((7,), "u1")
    here, there = Held(device, one), Held(device, other)
    stream.copy(here.block(), host(one))
    stream.copy(there.block(), host(other))
    loading = np.zeros(7, "u1")  # stays, as it is written later
    stream.copy(host(loading[part]), here.block(part))  # loads the kernel for it
    stream.synchronize()
    for point in range(1, MOST_POINTS):
        first, second = np.zeros((2, 7), "u1")
        fake.hold(stream)
        is_interrupted = raise_at(point, partial(stream.copy, host(first[part]), here.block(part)))
        stream.copy(host(second[part]), there.block(part))
        fake.release()
        stream.synchronize()
        assert np.array_equal(second[part], other[part]), point
        assert not first.any() or np.array_equal(first[part], one[part]), point
        assert not stream.arriving, point
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1
    assert np.array_equal(first[part], one[part])


def _seen(held):
    """What is in memory of the device, which is the host's."""
    return np.frombuffer((ctypes.c_ubyte * 7).from_address(held.memory.address), "u1").copy()
