from __future__ import annotations

import threading
import time

import pytest

from support.numbers import fresh_rng
from tilewright.base.errors import ContextError, DriverError
from tilewright.devices.host import REFERENCE
from tilewright.op.outcome import Outcome
from tilewright.tensors.order import hosts_turn, is_in_flight, pending_over, reserve, wait_on_host
from tilewright.tensors.pending_work import PendingWork
from tilewright.tensors.region import region_of_array


class SlowEvent:
    def __init__(self, stream):
        self.stream = stream
        self.passed = threading.Event()
        self.asked = 0

    def done(self):
        self.asked += 1
        return self.passed.is_set()

    def wait(self, timeout=None):
        return self.passed.wait(timeout)


class SlowStream:
    """Notes what it is told to wait for; its work is done when the test says so."""

    def __init__(self):
        self.device = REFERENCE
        self.waits = []
        self.sweeps = 0

    def wait_for(self, event):
        self.waits.append(event)

    def sweep(self):
        self.sweeps += 1


def memory(*bounds):
    """Regions of one array, by their first and last element."""
    a = fresh_rng().random(16)
    return [region_of_array(a[start:end], REFERENCE) for start, end in bounds]


def reserved(stream, writes, reads):
    pending = PendingWork(stream)
    reserve(pending, stream, writes, reads)
    return pending


def start(stream, writes=(), reads=(), error=None):
    event = SlowEvent(stream)
    pending = reserved(stream, writes, reads)
    if error is not None:
        pending.outcome = Outcome((), event)
        pending.outcome.settle(error)
    pending.mark_submitted(event)
    return event


CONFLICTS = {
    ("write", "write"): True,
    ("write", "read"): True,
    ("read", "write"): True,
    ("read", "read"): False,
}
BOUNDS = {"the same": (0, 16), "overlapping": (4, 12), "touching": (8, 16), "apart": (10, 16)}


@pytest.mark.parametrize("where", BOUNDS)
@pytest.mark.parametrize(("first", "second"), CONFLICTS)
def test_conflicting_work_waits(first, second, where):
    one, two = SlowStream(), SlowStream()
    a, b = memory((0, 16) if where == "the same" else (0, 8), BOUNDS[where])
    event = start(one, **{f"{first}s": [a]})
    start(two, **{f"{second}s": [b]})
    overlap = where in ("the same", "overlapping")
    assert two.waits == ([event] if overlap and CONFLICTS[first, second] else [])


def asked_of(streams, often):
    """How often events are asked and streams told to wait, for each of so many pieces of work."""
    (a,), (b,), events = memory((0, 16)), memory((0, 16)), []
    for i in range(often):
        if i == often // 2:
            before = [event.asked for event in events], [len(s.waits) for s in streams]
        events.append(start(streams[i % len(streams)], writes=[a], reads=[b]))
        if i > len(streams) // 2:  # some are over
            events[i - len(streams) // 2].passed.set()
    asked = sum(event.asked for event in events) - sum(before[0])
    told = sum(len(s.waits) for s in streams) - sum(before[1])
    return (asked + told) / (often - often // 2)


def test_what_work_costs_does_not_grow_with_the_streams_that_use_its_memory():
    few, many = (asked_of([SlowStream() for _ in range(n)], 3000) for n in (10, 1000))
    assert many < 2 * few < 100


def test_who_was_told_to_wait_for_others_stands_for_them():
    streams, (a, b) = [SlowStream() for _ in range(5)], memory((0, 16), (0, 8))
    events = [start(streams[0], writes=[a]), start(streams[1], reads=[b])]
    events.append(start(streams[2], writes=[b]))  # not all that the first has written
    assert streams[2].waits == events[:2]
    events.append(start(streams[3], reads=[a]))
    assert streams[3].waits == [events[0], events[2]]
    start(streams[4], writes=[a])
    assert streams[4].waits == [events[0], events[2], events[3]]


def test_work_that_uses_memory_twice_does_not_stand_for_itself():
    streams, (a, b) = [SlowStream() for _ in range(3)], memory((0, 16), (4, 8))
    start(streams[0], writes=[a])
    second = start(streams[1], writes=[b, a], reads=[b])
    start(streams[2], writes=[a])
    assert set(streams[2].waits) == {second}


def test_who_could_not_be_told_stands_for_nobody():
    streams, (a,) = [SlowStream() for _ in range(3)], memory((0, 16))
    first = start(streams[0], writes=[a])

    def fail(event):
        raise DriverError("out of memory")

    streams[1].wait_for = fail
    second, pending = SlowEvent(streams[1]), PendingWork(streams[1])
    with pytest.raises(DriverError):
        reserve(pending, streams[1], [a], [])
    pending.mark_submitted(second)
    start(streams[2], writes=[a])
    assert streams[2].waits == [first, second]


def test_what_became_of_work_is_heard_through_who_waited_for_it():
    streams, (a,) = [SlowStream() for _ in range(3)], memory((0, 16))
    events = [start(streams[0], writes=[a], error=ValueError("its own"))]
    events += [start(stream, writes=[a]) for stream in streams[1:]]
    for event in events:
        event.passed.set()
    with pytest.raises(ValueError, match="its own"):
        wait_on_host([a])


def test_work_on_one_stream_needs_no_event():
    stream, (a,) = SlowStream(), memory((0, 4))
    start(stream, writes=[a])
    start(stream, reads=[a])
    assert stream.waits == []


def test_what_has_passed_is_not_waited_for():
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 4))
    start(one, writes=[a]).passed.set()
    assert not is_in_flight(a)
    start(two, reads=[a])
    assert two.waits == []


def test_a_writer_waits_for_all_readers():
    streams, (a,) = [SlowStream() for _ in range(4)], memory((0, 4))
    readers = [start(stream, reads=[a]) for stream in streams[:3]]
    start(streams[3], writes=[a])
    assert streams[3].waits == readers
    assert len(pending_over([a], writes=True)) == 4
    assert len(pending_over([a])) == 1


def test_work_that_was_not_put_after_all_holds_nobody_up():
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 4))
    reserved(one, [a], []).mark_submitted(None)
    start(two, reads=[a])
    assert two.waits == []


def test_the_host_waits_and_learns_of_failures():
    stream, (a,) = SlowStream(), memory((0, 4))
    event = start(stream, writes=[a], error=ValueError("failed"))
    threading.Timer(0.01, event.passed.set).start()
    with pytest.raises(ValueError, match="failed"):
        wait_on_host([a])
    assert event.done() and stream.sweeps == 1
    wait_on_host([a])


def test_a_failure_is_remembered_until_it_is_seen():
    stream, (a,) = SlowStream(), memory((0, 4))
    start(stream, writes=[a], error=ValueError("failed")).passed.set()
    start(stream, reads=[a])
    with pytest.raises(ValueError, match="failed"):
        wait_on_host([a])


def test_reading_on_the_host_does_not_wait_for_readers():
    stream, (a,) = SlowStream(), memory((0, 4))
    start(stream, reads=[a])
    wait_on_host([a])
    assert len(pending_over([a], writes=True)) == 1


def test_another_thread_s_work_is_waited_for_until_it_is_put():
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 4))
    event, is_reserved = SlowEvent(one), threading.Event()

    def begin():
        pending = reserved(one, [a], [])
        is_reserved.set()
        time.sleep(0.01)
        pending.mark_submitted(event)

    threading.Thread(target=begin).start()
    assert is_reserved.wait(60.0)
    start(two, reads=[a])
    assert two.waits == [event]


def test_a_thread_does_not_wait_for_its_own_work_to_be_put():
    """That would be the handler of a signal: it has interrupted what would put it."""
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 4))
    pending = reserved(one, [a], [])
    with pytest.raises(ContextError, match="a signal interrupted this thread") as caught:
        start(two, reads=[a])
    assert "afterwards" in caught.value.hint
    pending.mark_submitted(SlowEvent(one))


def test_work_that_is_refused_leaves_no_trace():
    one, (a,) = SlowStream(), memory((0, 4))

    def refuse():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        reserve(PendingWork(one), one, [a], [], refuse)
    assert pending_over([a], writes=True) == []


@pytest.mark.parametrize("use", ["writes", "reads"])
def test_of_much_work_on_one_stream_another_waits_for_the_last(use):
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 16))
    events = [start(one, **{use: [a]}) for _ in range(100)]
    start(two, writes=[a])
    assert two.waits == events[-1:]


def test_much_work_on_its_way_is_not_asked_for_again_and_again():
    stream, (a,) = SlowStream(), memory((0, 16))
    events = [start(stream, writes=[a]) for _ in range(1000)]
    order = a.storage.order
    for _ in range(1000):
        order.tidy()
    assert sum(event.asked for event in events) < 10_000
    for event in events:
        event.passed.set()
    order.tidy()
    assert not order.is_listing()


def test_what_is_covered_in_part_is_still_waited_for():
    one, two, (whole, part) = SlowStream(), SlowStream(), memory((0, 16), (4, 8))
    first, second = start(one, writes=[whole]), start(one, writes=[part])
    start(two, reads=[whole])
    assert two.waits == [first, second]


def test_a_reader_does_not_hide_the_writer_before_it():
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 16))
    written = start(one, writes=[a])
    start(one, reads=[a])
    start(two, reads=[a])
    assert two.waits == [written]


def test_work_that_another_thread_has_not_put_yet_is_not_hidden():
    one, two, (a,) = SlowStream(), SlowStream(), memory((0, 16))
    late = reserved(one, [a], [])
    early = start(one, writes=[a])
    event = SlowEvent(one)
    late.mark_submitted(event)
    start(two, writes=[a])
    assert two.waits == [event, early]


def test_a_failure_is_raised_although_later_work_went_well():
    stream, (a,) = SlowStream(), memory((0, 16))
    failed = start(stream, writes=[a], error=ValueError("first"))
    events = [start(stream, writes=[a]) for _ in range(100)]
    for event in [failed, *events]:
        event.passed.set()
    with pytest.raises(ValueError, match="first"):
        wait_on_host([a])
    wait_on_host([a])


def test_the_hosts_turn_hears_of_covered_failures():
    stream, (a,) = SlowStream(), memory((0, 16))
    failed = start(stream, writes=[a], error=ValueError("first"))
    for event in (failed, start(stream, writes=[a]), start(stream, writes=[a])):
        event.passed.set()
    with pytest.raises(ValueError, match="first"), hosts_turn([a]):
        pass
