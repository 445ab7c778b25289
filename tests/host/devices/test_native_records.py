from __future__ import annotations

import ctypes
import sys
import threading
from struct import pack, unpack

import pytest

import tilewright as tw
from support.records import (
    ALL_BYTES,
    MARK_WORDS,
    MARKS,
    TENSOR_WORDS,
    StorageWord,
    TensorWord,
    storage_words,
)
from tilewright import _core
from tilewright._core import (
    FOLLOWING,
    LISTED,
    PENDING_WORK,
    SLOW_PATH,
    bind_tensors,
    reborrow,
    slot_offset,
    write_addresses,
)
from tilewright.devices.native_records import BIND_WORDS, SlowPath, TimelineWord, new_words
from tilewright.devices.timeline import ISSUED, OVER, UNSUBMITTED, Timeline
from tilewright.op.place import here, place_of
from tilewright.tensors.arc import Core
from tilewright.tensors.borrow import BorrowState, Use
from tilewright.tensors.partition import MappedPartition, Partition
from tilewright.tensors.region import Region
from tilewright.tensors.tensor import BorrowMut


class Tensor:
    """The records of a tensor and of its memory."""

    def __init__(self, kind=7, address=4096, epoch=3, look=0):
        self.words, self.state = new_words(TENSOR_WORDS), BorrowState()
        self.storage = storage_words(self.state)
        self.words[TensorWord.STATE] = id(self.state)
        self.storage[StorageWord.EPOCH], self.storage[StorageWord.LOOK] = epoch, look
        self.words[TensorWord.KIND], self.words[TensorWord.ADDRESS] = kind, address
        self.words[TensorWord.STORAGE] = self.state.record
        self.words[TensorWord.START], self.words[TensorWord.END] = ALL_BYTES

    def noted(self):
        """All marks, one after the other."""
        marked = MARK_WORDS * self.storage[StorageWord.MARKED]
        return self.storage[StorageWord.MARKS : StorageWord.MARKS + marked]

    def _note(self, timeline, number, writes):
        at = StorageWord.MARKS + MARK_WORDS * self.storage[StorageWord.MARKED]
        self.storage[at : at + MARK_WORDS] = [timeline.address, number, *ALL_BYTES, int(writes)]
        self.storage[StorageWord.MARKED] += 1

    def reads(self, timeline, number):
        self._note(timeline, number, False)

    def wrote(self, timeline, number):
        self._note(timeline, number, True)


def row(tensors, written, epochs=None, owner=0):
    now = [t.storage[StorageWord.EPOCH] for t in tensors]
    records = [ctypes.addressof(t.words) for t in tensors]
    words = [*records, *(epochs or now), *[owner] * len(tensors)]
    return pack(f"{len(words)}q", *words)


def reserve(tensors, written=0, timeline=None, epochs=None, listed=True, owner=0):
    timeline, told = timeline or Timeline(), row(tensors, written, epochs, owner)
    return _core.reserve(told, written, len(tensors), timeline.address, listed)


def tensor(*, shape=(4,), look=0):
    """A real one."""
    made = tw.ones(shape, device="cpu").sync()
    storage_words(made.region.storage.state)[StorageWord.LOOK] |= look
    return made


def kinds_of(written, read=()):
    """The kinds of what is written, as partitions, and of what is read; the tilings."""
    kinds = [z.tensor.region.kind for z in written] + [x.region.kind for x in read]
    return *kinds, *[z.tiling.number for z in written]


WRITING, READING = "written by a test", "read by a test"


class Call:
    """What binding the arguments of a kernel takes."""

    def __init__(self, count, written, places=None, kinds=None):
        self.found = new_words(count + written)
        self.places = (ctypes.c_int64 * count)(*(places or range(count)))
        self.known, self.kinds = object(), (ctypes.c_int64 * (count + written))(*(kinds or ()))
        self.whole = new_words(written)
        """No tensor is borrowed as a whole: all are cut."""
        self.words = new_words(BIND_WORDS)
        self.words[:] = [
            count, written, ctypes.addressof(self.places), ctypes.addressof(self.found),
            ctypes.addressof(self.kinds), id(self.known) if kinds else 0,
            id(tw.Tensor), id(tw.Arc), id(Partition), id(MappedPartition), id(BorrowMut), count,
            id(WRITING), id(READING), slot_offset(tw.Arc, "_core"), slot_offset(Core, "tensor"),
            ctypes.addressof(self.whole), 0, 0, 0,
        ]  # fmt: skip

    def bind(self, *arguments):
        return bind_tensors(ctypes.addressof(self.words), arguments, 1, None)


def busy_timeline(issued=5, over=0, unsubmitted=0):
    timeline = Timeline()
    words = timeline.words
    words[ISSUED], words[OVER], words[UNSUBMITTED] = issued, over, unsubmitted
    return timeline


def epoch_of(given):
    return given.region.storage.state.epoch


def test_kinds_that_are_not_known_are_told_and_nothing_is_borrowed():
    x, y, z = tensor(shape=(5,)), tensor(shape=(6,)), tensor(shape=(8,))
    tiles, shared = z.partition_mut((4,)), tw.Arc(y)
    del y  # who gave it away may still get it back
    epoch, last = epoch_of(z), z.region.storage.state.last_write
    call = Call(3, 1, places=(2, 0, 1))
    held = call.bind(x, shared, tiles)
    assert held[:3] == (z.region, x.region, shared.content.region) and held[-1] is None
    assert tuple(call.found) == kinds_of([tiles], [x, shared.content])
    assert epoch_of(z) == epoch and z.region.storage.state.last_write is last


def test_known_kinds_are_borrowed():
    z, x = tensor(shape=(8,)), tensor()
    tiles = z.partition_mut((4,))
    epochs = epoch_of(z), epoch_of(x)
    call = Call(2, 1, kinds=kinds_of([tiles], [x]))
    held = call.bind(tiles, x)
    assert held[-1] is call.known and z.region.storage.state.last_write is held[-3]
    assert (epoch_of(z), epoch_of(x)) == (epochs[0] + 1, epochs[1])
    row = unpack("6q", held[-2])
    assert row[2:] == (epochs[0] + 1, epochs[1], tiles.ticket.number, 0)
    assert held[-4] is None, "no part has a ticket of its own"
    other = z.partition_mut((2,))
    assert call.bind(other, x)[-1] is None


def test_mapped_partitions_are_borrowed_as_others_are():
    z, x = tensor(shape=(8,)), tensor()
    mapped = z.partition_mut((4,)).map((1,), 1)
    assert Call(2, 1).bind(mapped, x)[-1] is None
    call = Call(2, 1, kinds=kinds_of([mapped], [x]))
    assert call.bind(mapped, x)[-1] is call.known

    class Other(Partition):
        __slots__ = ()

    other = Other(z, mapped.tiling, mapped.ticket)
    assert call.bind(other, x) is None


def test_what_is_written_knows_by_whom_and_where():
    tiles = tensor().partition_mut((4,))
    use = Call(1, 1, kinds=kinds_of([tiles])).bind(tiles)[-3]
    assert type(use) is Use and use == Use(WRITING, use.location)
    place = place_of(use.location)
    assert place.filename == __file__ and place.text.startswith("use = Call(1, 1")


def test_what_another_thread_writes_has_its_name():
    found = []
    tiles = tensor().partition_mut((4,))
    call = Call(1, 1, kinds=kinds_of([tiles]))
    thread = threading.Thread(target=lambda: found.append(call.bind(tiles)), name="writer")
    thread.start()
    thread.join()
    assert found[0][-3].thread == "writer"
    assert str(found[0][-3]) == f"{WRITING} in the thread 'writer'"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_calls_with_another_number_of_arguments_are_looked_at(count):
    assert Call(2, 0).bind(*[tensor() for _ in range(count)]) is None


OTHERS = [None, 3, "text", object(), object.__new__(tw.Tensor), object.__new__(Partition)]


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
def test_other_arguments_are_looked_at(other):
    assert Call(2, 1).bind(tensor().partition_mut((4,)), other) is None
    assert Call(2, 1).bind(other, tensor()) is None


def test_a_partition_whose_borrow_is_not_the_last_is_looked_at():
    z = tensor()
    tiles = z.partition_mut((4,))
    assert Call(1, 1).bind(tiles) is not None
    z.borrow_mut()
    assert Call(1, 1).bind(tiles) is None


def test_memory_that_is_written_twice_is_looked_at():
    z, other = tensor().partition_mut((4,)), tensor().partition_mut((4,))
    assert Call(2, 2).bind(z, other) is not None
    assert Call(2, 2).bind(z, z) is None


def test_binding_leaves_no_references_behind():
    z, x = tensor(), tensor(shape=(8,))
    tiles, view, call = z.partition_mut((4,)), x[2:6], None
    call = Call(2, 1, kinds=(*kinds_of([tiles], [view]),))
    watched = [tiles, z, x, view, tiles.ticket, view.region, x.region.storage.state, call.known]
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(100):
        assert call.bind(tiles, view)[-1] is call.known
        assert call.bind(tiles, x)[-1] is None
        assert call.bind(tiles, None) is None
    # The last use of what is written stays with it.
    assert [sys.getrefcount(each) for each in watched] == before


def test_views_are_borrowed_for_reading_by_a_ticket():
    z, x = tensor(), tensor(shape=(8,))
    tiles, view = z.partition_mut((4,)), x[2:6]
    call = Call(2, 1, kinds=kinds_of([tiles], [view]))
    held = call.bind(tiles, view)
    written, read = held[-4]
    assert written is None and read.extent is view.region and read.parent is view.ticket
    assert not read.exclusive and read.use.what == READING
    assert read in x.region.storage.state.readers
    x.borrow_mut()[:2].partition((2,))
    assert read.ended is not None, "all of it is borrowed first"
    assert call.bind(tiles, view) is None, "its own borrow has ended"


def test_parts_are_borrowed_for_writing_by_a_ticket():
    z, x = tensor(shape=(8,)), tensor()
    left, right = z.borrow_mut().split_at(4)
    one, other = left.partition((4,)), right.partition((4,))
    call = Call(2, 1, kinds=kinds_of([one], [x]))
    held = call.bind(one, x)
    written, read = held[-4]
    assert read is None and written.exclusive and written.parent is one.ticket
    assert Call(2, 1, kinds=kinds_of([other], [x])).bind(other, x)[-1] is not None
    assert written.ended is None, "disjoint parts do not touch each other"
    call.bind(one, x)
    assert written.ended is not None


def test_a_part_that_is_written_and_read_is_looked_at():
    z = tensor(shape=(8,))
    left, right = z.borrow_mut().split_at(4)
    one, other = left.partition((4,)), right.partition((4,))
    assert Call(2, 1).bind(one, other.tensor) is not None
    assert Call(2, 1).bind(one, one.tensor) is None
    assert Call(2, 2).bind(one, one) is None


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("look", SlowPath)
def test_whatever_is_known_of_memory_a_launch_is_built(look, writes):
    memory = tensor()
    given = memory.partition_mut((4,)) if writes else memory
    storage_words(memory.region.storage.state)[StorageWord.LOOK] |= look
    state, before = memory.region.storage.state, memory.region.storage.state.epoch
    kinds = kinds_of([given], []) if writes else kinds_of([], [memory])
    assert Call(1, int(writes), kinds=kinds).bind(given)[-1] is not None
    assert state.epoch == before + writes


def test_a_read_ends_an_exclusive_borrow():
    memory = tensor()
    tiles = memory.partition_mut((4,))
    assert Call(1, 0, kinds=kinds_of([], [memory])).bind(memory)[-1] is not None
    assert tiles.ticket.ended.what == READING and memory.region.storage.state.exclusive is None


def test_claiming_moves_epochs_on():
    z, x = Tensor(epoch=4), Tensor(epoch=7)
    words = (ctypes.c_int64 * 6).from_buffer_copy(row([z, x], 1))
    assert reborrow(ctypes.addressof(words), 1, 2, Timeline().address) == 1
    assert z.storage[StorageWord.EPOCH] == 5 and x.storage[StorageWord.EPOCH] == 7
    assert words[2:4] == [5, 7]
    z.storage[StorageWord.LOOK] = SlowPath.EXCLUSIVE
    assert reborrow(ctypes.addressof(words), 1, 2, Timeline().address) == SLOW_PATH
    assert z.storage[StorageWord.EPOCH] == 5


RUNNING = {
    SlowPath.EXCLUSIVE: (SLOW_PATH, 1),
    SlowPath.WRITERS: (SLOW_PATH, SLOW_PATH),
    SlowPath.NEIGHBOURS: (SLOW_PATH, SLOW_PATH),
    SlowPath.LEASES: (1, SLOW_PATH),
    SlowPath.WRITE_LEASES: (SLOW_PATH, SLOW_PATH),
    SlowPath.UNWRITTEN: (SLOW_PATH, 1),
    SlowPath.META: (SLOW_PATH, SLOW_PATH),
    SlowPath.PENDING: (PENDING_WORK, PENDING_WORK),
    SlowPath.READERS: (1, 1),
}


@pytest.mark.parametrize("look", SlowPath)
@pytest.mark.parametrize("writes", [False, True])
def test_what_running_a_launch_asks_of_memory(look, writes):
    tensors = [Tensor(), Tensor(look=look)]
    assert reserve(tensors, written=2 * writes) == RUNNING[look][writes]


@pytest.mark.parametrize("how", [FOLLOWING, FOLLOWING | LISTED])
def test_work_that_follows_what_is_listed_needs_no_closer_look_for_that(how):
    tensor, timeline = Tensor(look=SlowPath.PENDING), Timeline()
    assert reserve([tensor], written=1, timeline=timeline, listed=how) == 1
    assert tensor.storage[StorageWord.LOOK] == SlowPath.PENDING, "others still look"
    assert (timeline.words[TimelineWord.LISTED] == 1) == bool(how & LISTED)
    assert (
        reserve([Tensor(look=SlowPath.PENDING | SlowPath.LEASES)], written=1, listed=how)
        == SLOW_PATH
    )


def test_a_read_whose_epoch_has_passed_is_looked_at():
    read = Tensor(epoch=4)
    assert reserve([read], epochs=[3]) == SLOW_PATH
    assert reserve([read], epochs=[4]) == 1
    assert reserve([read], written=1, epochs=[3]) == SLOW_PATH
    assert reserve([Tensor(epoch=3)], written=1, epochs=[3]) == 1


def test_a_write_whose_borrow_has_ended_is_looked_at():
    written = Tensor()
    written.storage[StorageWord.OWNER] = 5
    assert reserve([written], written=1, owner=5) == 1
    assert reserve([written], written=1, owner=6) == SLOW_PATH


@pytest.mark.parametrize("listed", [False, True])
def test_what_was_never_written_can_be_written(listed):
    assert reserve([Tensor(look=SlowPath.UNWRITTEN)], written=1, listed=listed) == 1
    assert reserve([Tensor(look=SlowPath.UNWRITTEN)], written=0, listed=listed) == SLOW_PATH


def test_launches_are_numbered_and_noted():
    timeline, written, read = busy_timeline(), Tensor(), Tensor()
    assert reserve([written, read], 1, timeline) == 6
    assert timeline.words[ISSUED] == 6 and timeline.words[UNSUBMITTED] == 1
    for memory, writes in ((written, 1), (read, 0)):
        assert memory.noted() == [timeline.address, 6, *ALL_BYTES, writes]


def test_a_refused_launch_leaves_no_trace():
    timeline, good, bad = busy_timeline(), Tensor(), Tensor(look=SlowPath.WRITE_LEASES)
    assert reserve([good, bad], 1, timeline) == SLOW_PATH
    assert (
        not any(good.noted()) and timeline.words[ISSUED] == 5 and timeline.words[UNSUBMITTED] == 0
    )


@pytest.mark.parametrize("before", ["read", "write"])
@pytest.mark.parametrize("after", ["read", "write"])
@pytest.mark.parametrize("whose", ["own", "own, not put", "other's", "other's, over"])
def test_who_must_wait_for_whom(before, after, whose):
    mine = busy_timeline(unsubmitted=whose == "own, not put")
    its = mine if whose.startswith("own") else busy_timeline(over=5 if "over" in whose else 0)
    memory = Tensor()
    (memory.reads if before == "read" else memory.wrote)(its, 5)
    waits = whose in ("own, not put", "other's") and "write" in (before, after)
    answer = reserve([memory], after == "write", mine)
    assert answer == (SLOW_PATH if waits else 6)


def test_several_streams_may_read_at_once():
    memory, timelines = Tensor(), [busy_timeline() for _ in range(MARKS + 1)]
    assert [reserve([memory], 0, timeline) for timeline in timelines] == [6] * MARKS + [SLOW_PATH]
    for timeline in timelines[:MARKS]:
        timeline.words[UNSUBMITTED] = 0
        assert reserve([memory], 0, timeline) == 7
    assert reserve([memory], 1, timelines[0]) == SLOW_PATH


def test_what_a_launch_reads_twice_needs_one_place():
    memory, timeline = Tensor(), busy_timeline(unsubmitted=1)
    for _ in range(MARKS - 1):
        memory.reads(busy_timeline(), 5)
    assert reserve([memory, memory], 0, timeline) == 6
    assert reserve([memory], 0, busy_timeline()) == SLOW_PATH


def test_addresses_go_where_they_belong():
    slots, places = new_words(6), (ctypes.c_int64 * 2)(4, 1)
    tensors = [Tensor(address=100), Tensor(address=200)]
    write_addresses(row(tensors, 0), 2, ctypes.addressof(slots), ctypes.addressof(places))
    assert slots[:] == [0, 200, 0, 0, 100, 0]


def test_an_op_noted_for_writing_is_the_same_at_one_place():
    tiles = tensor().partition_mut((4,))
    call = Call(1, 1, kinds=kinds_of([tiles]))
    one, other = [call.bind(tiles)[-3] for _ in range(2)]
    assert one is other
    assert Call(1, 1, kinds=kinds_of([tiles])).bind(tiles)[-3] is not one


WRONG: list[tuple[str, tuple[object, ...]]] = [
    ("bind_tensors", ()),
    ("bind_tensors", ("address", (), 0, None)),
    ("bind_tensors", (0, [], 0, None)),
    ("regions_of_arrays", (0, [])),
    ("reserve", ("row", 0, 0, 0, 0)),
    ("reserve", (bytes(8 * 4), 1, 2, 0, 0)),
    ("reserve", (bytes(80), 2, 1, 0, 0)),
    ("reserve", (bytes(80), -1, 1, 0, 0)),
    ("reserve", (bytes(80), 0, 1 << 62, 0, 0)),
    ("reserve", (b"", 0, 0, 0.5, 0)),
    ("reborrow", (0, "1", 0, 0)),
    ("write_addresses", (bytes(8), 2, 0, 0)),
    ("note_submitted", (None,)),
    ("note_passed", (0, "1")),
    ("reap", ()),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG)
def test_wrong_arguments_are_refused(name, arguments):
    with pytest.raises(TypeError):
        getattr(_core, name)(*arguments)


@pytest.mark.parametrize("known", ["text", None, 0.5])
def test_a_program_stands_so_many_calls_away_or_somewhere(known):
    call = Call(1, 0)
    with pytest.raises(TypeError, match="location"):
        bind_tensors(ctypes.addressof(call.words), (tensor(),), known, None)
    location = here()
    held = bind_tensors(ctypes.addressof(call.words), (tensor(),), location, None)
    assert held[-3].location is location


@pytest.mark.parametrize(
    "regions", [(), (3,), [None], (Region.__new__(Region),)], ids=["few", "int", "list", "empty"]
)
def test_regions_are_those_of_all_arguments(regions):
    call = Call(1, 0)
    with pytest.raises(TypeError, match="a Region or None"):
        bind_tensors(ctypes.addressof(call.words), (tensor(),), 1, regions)


class Slotted:
    __slots__ = ("held", "other")


def test_slots_are_found_where_objects_keep_them():
    thing = Slotted()
    thing.held, thing.other = object(), object()
    for name in ("held", "other"):
        at = id(thing) + slot_offset(Slotted, name)
        assert ctypes.c_int64.from_address(at).value == id(getattr(thing, name))
    with pytest.raises(TypeError, match="is no slot"):
        slot_offset(Tensor, "noted")
    with pytest.raises(AttributeError):
        slot_offset(Slotted, "missing")
    for wrong in ((thing, "held"), (Slotted, b"held"), (Slotted,)):
        with pytest.raises(TypeError):
            slot_offset(*wrong)
