"""tw.trace(): records what ops, streams and waits do when, and writes it for trace viewers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..devices.protocol import Device, Event, Stamp, Stream, TimedStream

HOST = 0
"""The number under which viewers show the host's threads; devices follow."""


class Entry(NamedTuple):
    """Something that took time, in nanoseconds of `time.perf_counter_ns`."""

    kind: str
    """`op`, `host wait`, `stream wait`, or `work` on a device."""
    name: str
    start: int
    end: int
    thread: str
    stream: Stream | None


class _Clocks:
    """Knows what the stamps of devices mean on the clock of the host."""

    def __init__(self) -> None:
        self._starts: dict[Device, tuple[Stamp, int]] = {}
        """Of devices with a separate clock: a stamp, and its time, as the host observed it."""

    def set(self, stream: Stream) -> None:
        """Read the clock of a stream's device, once."""
        if stream.device in self._starts or not isinstance(stream, TimedStream):
            return
        stamp = stream.stamp()
        stream.synchronize()
        self._starts[stream.device] = stamp, time.perf_counter_ns()

    def time_of(self, stamp: Stamp, stream: Stream) -> int:
        """Return the time of a stamp by `time.perf_counter_ns`."""
        known = stamp.host_time()
        if known is not None:
            return known
        start, then = self._starts[stream.device]
        return then + int(stamp.since(start) * 1e9)


class Trace:
    """What happened while it was recorded. `entries` is the list; `save` writes it."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._streams: dict[Stream, None] = {}
        """Where work was put: streams tell when it has passed, if they are asked to."""
        self.clocks = _Clocks()

    @property
    def entries(self) -> list[Entry]:
        """What has happened so far, all work that devices have passed included."""
        for stream in list(self._streams):
            stream.sweep()
        return self._entries

    @contextmanager
    def span(self, kind: str, name: str, stream: Stream | None) -> Generator[None, None, None]:
        """Record a block of code."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self.add(kind, name, stream, start, time.perf_counter_ns())

    def add(self, kind: str, name: str, stream: Stream | None, start: int, end: int) -> None:
        """Record something that has happened; from any thread."""
        self._entries.append(Entry(kind, name, start, end, threading.current_thread().name, stream))

    def put(self, name: str, stream: Stream, times: Callable[[], tuple[int, int]]) -> None:
        """Record work once its stream has passed it; `times` says then how long it took."""
        self._streams[stream] = None
        stream.after(lambda: self.add("work", name, stream, *times()))

    def save(self, path: str | Path) -> None:
        """Write a trace that chrome://tracing and Perfetto show."""
        import json

        Path(path).write_text(json.dumps({"traceEvents": self._events()}), encoding="utf-8")

    def _events(self) -> list[dict[str, Any]]:
        lanes = _Lanes()
        entries = list(self.entries)
        begin = min((entry.start for entry in entries), default=0)
        shown = [_shown(entry, begin, lanes) for entry in entries]
        return [*lanes.names(), *shown]


def _shown(entry: Entry, begin: int, lanes: _Lanes) -> dict[str, Any]:
    process, lane = lanes.of(entry)
    details = {} if entry.stream is None else {"stream": repr(entry.stream)}
    return {
        "ph": "X", "cat": entry.kind, "name": entry.name, "pid": process, "tid": lane,
        "ts": (entry.start - begin) / 1e3, "dur": (entry.end - entry.start) / 1e3,
        "args": details,
    }  # fmt: skip


ON_DEVICE = ("work", "stream wait")
"""Kinds shown in the lane of their stream; all others happen on threads of the host."""


class _Lanes:
    """Numbers for the rows of a viewer: the host's threads, and the streams of each device."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {"host": HOST}
        self._lanes: dict[tuple[str, str], int] = {}

    def of(self, entry: Entry) -> tuple[int, int]:
        group, row = "host", entry.thread
        if entry.stream is not None and entry.kind in ON_DEVICE:
            group, row = f"device {entry.stream.device.name}", f"stream {entry.stream.number}"
        process = self._processes.setdefault(group, len(self._processes))
        return process, self._lanes.setdefault((group, row), len(self._lanes))

    def names(self) -> list[dict[str, Any]]:
        processes = [
            {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}
            for name, number in self._processes.items()
        ]
        threads = [
            {"ph": "M", "name": "thread_name", "pid": self._processes[group], "tid": lane,
             "args": {"name": row}}
            for (group, row), lane in self._lanes.items()
        ]  # fmt: skip
        return [*processes, *threads]


class _Tracing:
    """Whether a trace is being recorded, in the whole process; native code looks at this, too."""

    __slots__ = ("active",)

    def __init__(self) -> None:
        self.active: Trace | None = None


Tracing = _Tracing()


@contextmanager
def trace(path: str | Path | None = None) -> Generator[Trace, None, None]:
    """Record all ops of the process in a `with` block; written to `path` at its end, if given."""
    recorded, outer = Trace(), Tracing.active
    Tracing.active = recorded
    try:
        yield recorded
    finally:
        Tracing.active = outer
        if path is not None:
            recorded.save(path)


def trace_begin(stream: Stream) -> Stamp | None:
    """Return the time at which the device begins the next work, if a trace is recorded."""
    if Tracing.active is None or stream.is_capturing or not isinstance(stream, TimedStream):
        return None
    Tracing.active.clocks.set(stream)
    return stream.stamp()


def trace_end(stream: Stream, begun: Stamp | None) -> Stamp | None:
    """Return the time at which the device ends traced work; call it before others can wait."""
    if Tracing.active is None or begun is None or not isinstance(stream, TimedStream):
        return None
    return stream.stamp()


def trace_submitted(
    name: str, stream: Stream, begun: Stamp | None = None, ended: Stamp | None = None
) -> None:
    """Record enqueued work: how long the device takes for it.

    If the device cannot measure it, record how long the host observes it.
    """
    active = Tracing.active
    if active is None:
        return
    if begun is None or ended is None:
        start = time.perf_counter_ns()
        active.put(name, stream, lambda: (start, time.perf_counter_ns()))
        return
    of = active.clocks.time_of
    active.put(name, stream, lambda: (of(begun, stream), of(ended, stream)))


def trace_wait(stream: Stream, event: Event) -> None:
    """Record that a stream waits for an event of another one."""
    if Tracing.active is not None:
        now = time.perf_counter_ns()
        name = f"waits for stream {event.stream.number}"
        Tracing.active.add("stream wait", name, stream, now, now)
