from __future__ import annotations

import ctypes
from struct import pack, unpack

import pytest

from tilewright.driver.lane import ISSUED, OVER, UNPUT, Lane
from tilewright.driver.stub.calls import stub
from tilewright.driver.stub.text import ACCOUNT, CLOSER
from tilewright.driver.stub.words import (
    READERS,
    STORAGE_WORDS,
    TENSOR_WORDS,
    Look,
    StorageWord,
    TensorWord,
    new_words,
)


class Tensor:
    """The records of a tensor and of its memory."""

    def __init__(self, kind=7, address=4096, epoch=3, look=0):
        self.storage, self.words = new_words(STORAGE_WORDS), new_words(TENSOR_WORDS)
        self.storage[StorageWord.EPOCH], self.storage[StorageWord.LOOK] = epoch, look
        self.words[TensorWord.KIND], self.words[TensorWord.ADDRESS] = kind, address
        self.words[TensorWord.STORAGE] = ctypes.addressof(self.storage)

    def noted(self):
        return self.storage[StorageWord.WRITE :]

    def reads(self, lane, number, place=0):
        self.storage[StorageWord.READ + 2 * place] = lane.address
        self.storage[StorageWord.READ + 2 * place + 1] = number

    def wrote(self, lane, number):
        self.storage[StorageWord.WRITE], self.storage[StorageWord.WRITE + 1] = lane.address, number


def row(*tensors):
    return pack(f"{len(tensors)}q", *[ctypes.addressof(t.words) for t in tensors])


def share(tensors, written=0):
    found = new_words(2 * len(tensors))
    answer = stub().share(row(*tensors), written, len(tensors), ctypes.addressof(found))
    return answer, found[:]


def reserve(tensors, written=0, lane=None, epochs=None):
    now = [t.storage[StorageWord.EPOCH] for t in tensors]
    lane = lane or Lane()
    told = pack(f"{len(tensors)}q", *(now if epochs is None else epochs))
    return stub().reserve(row(*tensors), written, len(tensors), told, lane.address)


def busy_lane(issued=5, over=0, unput=0):
    lane = Lane()
    lane.words[ISSUED], lane.words[OVER], lane.words[UNPUT] = issued, over, unput
    return lane


def test_sharing_tells_kinds_and_epochs():
    tensors = [Tensor(kind=11, epoch=1), Tensor(kind=12, epoch=2), Tensor(kind=13, epoch=3)]
    assert share(tensors, written=1) == (0, [11, 12, 13, 1, 2, 3])


@pytest.mark.parametrize(
    ("look", "writes", "answer"),
    [
        (Look.EXCLUSIVE, False, CLOSER),
        (Look.EXCLUSIVE, True, 0),
        (Look.WRITERS, False, CLOSER),
        (Look.WRITERS, True, CLOSER),
        (Look.NEIGHBOURS, False, CLOSER),
        (Look.NEIGHBOURS, True, CLOSER),
        (Look.LEASES, False, 0),
        (Look.UNWRITTEN, False, 0),
        (Look.FLIGHTS, False, 0),
    ],
)
def test_what_building_a_launch_asks_of_memory(look, writes, answer):
    assert share([Tensor(), Tensor(look=look)], written=2 * writes)[0] == answer


RUNNING = {
    Look.EXCLUSIVE: (CLOSER, 1),
    Look.WRITERS: (CLOSER, CLOSER),
    Look.NEIGHBOURS: (CLOSER, CLOSER),
    Look.LEASES: (CLOSER, CLOSER),
    Look.UNWRITTEN: (CLOSER, 1),
    Look.META: (CLOSER, CLOSER),
    Look.FLIGHTS: (ACCOUNT, ACCOUNT),
}


@pytest.mark.parametrize("look", Look)
@pytest.mark.parametrize("writes", [False, True])
def test_what_running_a_launch_asks_of_memory(look, writes):
    tensors = [Tensor(), Tensor(look=look)]
    assert reserve(tensors, written=2 * writes) == RUNNING[look][writes]


def test_a_read_whose_epoch_has_passed_is_looked_at():
    read = Tensor(epoch=4)
    assert reserve([read], epochs=[3]) == CLOSER
    assert reserve([read], epochs=[4]) == 1
    assert reserve([read], written=1, epochs=[3]) == CLOSER  # not put: it was read before


def test_launches_are_numbered_and_noted():
    lane, written, read = busy_lane(), Tensor(), Tensor()
    assert reserve([written, read], 1, lane) == 6
    assert lane.words[ISSUED] == 6 and lane.words[UNPUT] == 1
    assert written.noted() == [lane.address, 6, *[0] * 2 * READERS]
    assert [lane.address, 6] in [read.noted()[i : i + 2] for i in range(2, 2 + 2 * READERS, 2)]
    assert read.noted()[:2] == [0, 0]


def test_a_refused_launch_leaves_no_trace():
    lane, good, bad = busy_lane(), Tensor(), Tensor(look=Look.LEASES)
    assert reserve([good, bad], 1, lane) == CLOSER
    assert not any(good.noted()) and lane.words[ISSUED] == 5 and lane.words[UNPUT] == 0


@pytest.mark.parametrize("before", ["read", "write"])
@pytest.mark.parametrize("after", ["read", "write"])
@pytest.mark.parametrize("whose", ["own", "own, not put", "other's", "other's, over"])
def test_who_must_wait_for_whom(before, after, whose):
    mine = busy_lane(unput=whose == "own, not put")
    its = mine if whose.startswith("own") else busy_lane(over=5 if "over" in whose else 0)
    memory = Tensor()
    (memory.reads if before == "read" else memory.wrote)(its, 5)
    waits = whose in ("own, not put", "other's") and "write" in (before, after)
    answer = reserve([memory], after == "write", mine)
    assert answer == (CLOSER if waits else 6)


def test_several_streams_may_read_at_once():
    memory, lanes = Tensor(), [busy_lane() for _ in range(READERS + 1)]
    assert [reserve([memory], 0, lane) for lane in lanes] == [6] * READERS + [CLOSER]
    for lane in lanes[:READERS]:
        lane.words[UNPUT] = 0
        assert reserve([memory], 0, lane) == 7
    assert reserve([memory], 1, lanes[0]) == CLOSER


def test_what_a_launch_reads_twice_needs_one_place():
    memory, lane = Tensor(), busy_lane(unput=1)
    for place in range(READERS - 1):
        memory.reads(busy_lane(), 5, place)
    assert reserve([memory, memory], 0, lane) == 6
    assert reserve([memory], 0, busy_lane()) == CLOSER


def test_addresses_go_where_they_belong():
    slots, places = new_words(6), (ctypes.c_int64 * 2)(4, 1)
    tensors = [Tensor(address=100), Tensor(address=200)]
    stub().address(row(*tensors), 2, ctypes.addressof(slots), ctypes.addressof(places))
    assert slots[:] == [0, 200, 0, 0, 100, 0]
    assert unpack("2q", row(*tensors))[0] == ctypes.addressof(tensors[0].words)
