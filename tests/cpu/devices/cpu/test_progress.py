"""One thread sleeps until any of many streams has passed a point."""

from __future__ import annotations

import threading

from cpu.devices.cpu.test_stream import Gate
from tilewright.base import config
from tilewright.devices.host import CPU, REFERENCE

PATIENCE = 60.0


def count():
    return CPU.progress.wait(-1, 0.0)


def test_it_wakes_when_a_watched_event_passes():
    streams, gates = [CPU.new_stream() for _ in range(3)], [Gate() for _ in range(3)]
    for stream, gate in zip(streams, gates, strict=True):
        with config.override(num_threads=3):
            gate.put_on(stream)
    seen = count()
    for stream in streams:
        CPU.progress.watch(stream.record())
    assert CPU.progress.wait(seen, 0.01) == seen
    for i in (1, 0, 2):
        gates[i].open()
        now = CPU.progress.wait(seen, PATIENCE)
        assert now == seen + 1 and streams[i].idle()
        seen = now


def test_points_that_nobody_watches_wake_nobody():
    stream, first, second = CPU.new_stream(), Gate(), Gate()
    first.put_on(stream)
    behind = stream.record()
    second.put_on(stream)
    seen = count()
    CPU.progress.watch(stream.record())
    first.open()
    assert behind.wait(PATIENCE)
    assert CPU.progress.wait(seen, 0.01) == seen
    second.open()
    assert CPU.progress.wait(seen, PATIENCE) == seen + 1


def test_an_event_that_has_passed_counts_at_once():
    seen = count()
    CPU.progress.watch(CPU.new_stream().record())
    assert CPU.progress.wait(seen) == seen + 1


def test_a_poke_wakes_it():
    seen = count()
    threading.Timer(0.01, CPU.progress.poke).start()
    assert CPU.progress.wait(seen, PATIENCE) == seen + 1


def test_events_of_others_are_not_watched():
    assert not CPU.progress.watch(REFERENCE.streams()[0].record())
