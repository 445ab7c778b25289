"""Vector clocks over streams: which uses of memory have an order, and which race."""

from __future__ import annotations

import random

import pytest

from tilewright.devices.null import HappensBefore, MemoryUse, NullDevice

WRITE, READ = MemoryUse(0, 64, writes=True), MemoryUse(0, 64, writes=False)

RACE = "d on stream 3 reads what c on stream 2 writes, and nothing orders them (address 0x0)"


@pytest.mark.parametrize(
    ("earlier", "later", "race"),
    [
        (WRITE, WRITE, True),
        (WRITE, READ, True),
        (READ, WRITE, True),
        (READ, READ, False),
        (WRITE, MemoryUse(64, 128, writes=True), False),
        (WRITE, MemoryUse(63, 128, writes=True), True),
    ],
)
def test_conflicting_uses_on_two_streams_race(earlier, later, race):
    order = HappensBefore()
    order.put(0, [earlier], "a")
    order.put(1, [later], "b")
    assert bool(order.races) == race


def test_a_stream_a_wait_and_the_host_make_order():
    order = HappensBefore()
    order.put(0, [WRITE], "a")
    order.put(0, [WRITE], "same stream")
    order.wait(1, order.clock(0))
    order.put(1, [WRITE], "after a wait")
    order.seen(order.clock(1))
    order.put(2, [WRITE], "c")
    assert not order.races
    order.put(3, [READ], "d")
    assert list(map(str, order.races)) == [RACE]


def test_order_is_transitive_over_streams():
    order = HappensBefore()
    order.put(0, [WRITE], "a")
    order.wait(1, order.clock(0))
    order.put(1, [], "nothing")
    order.wait(2, order.clock(1))
    order.put(2, [WRITE], "b")
    assert not order.races


def test_an_event_stands_for_what_was_there_when_it_was_recorded():
    order = HappensBefore()
    early = order.clock(0)
    order.put(0, [WRITE], "a")
    order.wait(1, early)
    order.put(1, [WRITE], "b")
    assert order.races


def test_memory_that_is_given_back_is_forgotten():
    order = HappensBefore()
    order.put(0, [WRITE], "a")
    order.forget(0, 64)
    order.put(1, [WRITE], "b")
    assert not order.races


def test_it_agrees_with_reachability():
    """Random streams, waits and host waits, against a search through the graph of all edges."""
    rng = random.Random(5)
    for _ in range(200):
        order, nodes, edges = HappensBefore(), [], set()
        last, host, expected = {}, set(), 0
        for node in range(rng.randint(2, 14)):
            stream, kind = rng.randrange(3), rng.choice(("put", "put", "wait", "host"))
            other = rng.randrange(3)
            if kind == "host":
                order.seen(order.clock(other))
                host |= {last[other]} if other in last else set()
                continue
            if kind == "wait":
                order.wait(stream, order.clock(other))
                before = {last[other]} if other in last else set()
                uses = []
            else:
                uses, before = [MemoryUse(0, 1, rng.random() < 0.5)], set(host)
            before |= {last[stream]} if stream in last else set()
            edges |= {(each, node) for each in before}
            if uses:
                reached = ancestors(node, edges)
                expected += sum(
                    (use.writes or uses[0].writes) and each not in reached for each, use in nodes
                )
                nodes.append((node, uses[0]))
                order.put(stream, uses, str(node))
            last[stream] = node
        assert len(order.races) == expected


def ancestors(node, edges):
    found, ahead = set(), [node]
    while ahead:
        here = ahead.pop()
        new = {a for a, b in edges if b == here} - found
        found |= new
        ahead += new
    return found


def test_deferred_work_passes_when_the_host_waits():
    device = NullDevice()
    device.defer()
    first, second, third = device.streams()[:3]
    first.launch("a")
    event = first.record()
    second.wait_for(event)
    second.launch("b")
    third.launch("c")
    assert not (first.idle() or second.idle() or third.idle())
    second.synchronize()
    assert first.idle() and second.idle() and not third.idle()
    device.release()
    assert third.idle()


def test_watched_events_of_deferred_work_pass():
    device = NullDevice()
    device.defer()
    stream = device.streams()[0]
    stream.launch("a")
    assert device.progress.watch(stream.record())
    assert device.progress.wait(0, 60.0) == 1
