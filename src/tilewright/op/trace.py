"""tw.trace(): records what ops, streams and waits do when, and writes it for trace viewers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..base.showing import grid
from ..base.tracebacks import block
from ..devices.protocol import Device, Event, Stamp, Stream, TimedStream

if TYPE_CHECKING:
    from .nvtx import Ranges


class Traffic(NamedTuple):
    """What is known of a piece of work before it runs."""

    read: int
    """Bytes of the tensors, or parts of tensors, that it reads."""
    written: int
    """Bytes of those that it writes. What it reads from its outputs is not counted."""
    grid: tuple[int, ...] = ()
    """The blocks of a launch along each axis; () for other work."""
    target: str = ""
    """What the code of a launch was compiled for."""


class Entry(NamedTuple):
    """Something that took time, in nanoseconds of `time.perf_counter_ns`."""

    kind: str
    """`op`, `compile`, `host wait`, `stream wait`, or `work` on a device."""
    name: str
    start: int
    end: int
    thread: str
    stream: Stream | None
    traffic: Traffic | None = None
    """What is known of work on a device: its bytes, and the grid of a launch."""
    submitted: int = 0
    """When work was enqueued, by `thread`; 0 for other entries."""
    source: Stream | None = None
    """The stream that a `stream wait` waits for."""

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second that the work reached, if each byte moved once; None: not known."""
        if self.traffic is None or self.end <= self.start:
            return None
        return (self.traffic.read + self.traffic.written) / (self.end - self.start) * 1e9


class Submission(NamedTuple):
    """Who has enqueued work, and when."""

    thread: str
    time: int

    @classmethod
    def now(cls) -> Submission:
        """Return that this thread does it now."""
        return cls(threading.current_thread().name, time.perf_counter_ns())


class Step(NamedTuple):
    """A step of an op that a thread is in."""

    trace: Trace
    begun: int


class MemorySample(NamedTuple):
    """The memory of a device's pool at one time."""

    time: int
    """In nanoseconds of `time.perf_counter_ns`."""
    device: Device
    used: int
    """Bytes in use."""
    reserved: int
    """Bytes that the pool has from the system, those in use included."""


NEAR = 1.0
"""Seconds from a stamp within which others are measured from it: drivers tell times as numbers of
single precision, which are coarser than kernels are long after some minutes."""


class _Clocks:
    """Knows what the stamps of devices mean on the clock of the host."""

    def __init__(self) -> None:
        self._anchors: dict[Device, tuple[Stamp, int]] = {}
        """Of devices with a separate clock: a stamp, and its time on the clock of the host."""

    def set(self, stream: Stream) -> None:
        """Read the clock of a stream's device, once."""
        if stream.device in self._anchors or not isinstance(stream, TimedStream):
            return
        stamp = stream.stamp()
        stream.synchronize()
        self._anchors[stream.device] = stamp, time.perf_counter_ns()

    def time_of(self, stamp: Stamp, stream: Stream) -> int:
        """Return the time of a stamp by `time.perf_counter_ns`."""
        known = stamp.host_time()
        if known is not None:
            return known
        anchor, then = self._anchors[stream.device]
        elapsed = stamp.since(anchor)
        found = then + round(elapsed * 1e9)
        if elapsed > NEAR:
            self._anchors[stream.device] = stamp, found
        return found


class Trace:
    """What happened while it was recorded. `entries` is the list; `save` writes it."""

    def __init__(self, ranges: Ranges | None = None) -> None:
        self._entries: list[Entry] = []
        self._streams: dict[Stream, None] = {}
        """Where work was put: streams tell when it has passed, if they are asked to."""
        self._ranges = ranges
        self.clocks = _Clocks()
        self.memory: list[MemorySample] = []
        """The memory of each device's pool, whenever work was enqueued there."""

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
            with nullcontext() if self._ranges is None else self._ranges.around(name):
                yield
        finally:
            self.add(kind, name, stream, start, time.perf_counter_ns())

    def begin_step(self, name: str) -> Step:
        """Note that an op goes on on this thread, until `end_step`."""
        if self._ranges is not None:
            self._ranges.push(name)
        return Step(self, time.perf_counter_ns())

    def end_step(self, step: Step, name: str, stream: Stream | None, is_last: bool) -> None:
        """Note that it stops there; record the last step of an op."""
        if self._ranges is not None:
            self._ranges.pop()
        if is_last:
            self.add("op", name, stream, step.begun, time.perf_counter_ns())

    def add(
        self, kind: str, name: str, stream: Stream | None, start: int, end: int,
        traffic: Traffic | None = None, source: Stream | None = None,
    ) -> None:  # fmt: skip
        """Record something that has happened; from any thread."""
        thread = threading.current_thread().name
        self._entries.append(Entry(kind, name, start, end, thread, stream, traffic, 0, source))

    def put(
        self, name: str, stream: Stream, times: Callable[[], tuple[int, int]],
        traffic: Traffic | None = None,
    ) -> None:  # fmt: skip
        """Record work once its stream has passed it; `times` says then how long it took."""
        self.enter(stream)
        submission = Submission.now()
        stream.after(lambda: self.work(name, stream, *times(), traffic, submission))

    def work(
        self, name: str, stream: Stream, start: int, end: int, traffic: Traffic | None,
        submission: Submission,
    ) -> None:  # fmt: skip
        """Record work that a stream has passed, and who enqueued it when."""
        thread, then = submission
        self._entries.append(Entry("work", name, start, end, thread, stream, traffic, then))

    def enter(self, stream: Stream) -> None:
        """Note that a stream has work to record."""
        self._streams[stream] = None
        self.sample(stream.device)

    def wait(self, stream: Stream, other: Stream) -> None:
        """Record that a stream waits for what is on another one."""
        now = time.perf_counter_ns()
        name = f"waits for stream {other.number}"
        self.add("stream wait", name, stream, now, now, source=other)

    def sample(self, device: Device) -> None:
        """Record how much memory a device's pool has now."""
        pool = getattr(device, "pool", None)  # the null device has no memory
        if pool is None:
            return
        stats, now = pool.stats(), time.perf_counter_ns()
        self.memory.append(MemorySample(now, device, stats.used, stats.reserved))

    def _repr_html_(self) -> str:
        rows = [
            (e.kind, e.name, f"{(e.end - e.start) / 1e3:.1f} us", e.stream or e.thread)
            for e in self.entries
        ]
        return grid(f"Trace of {len(rows)} entries", ("kind", "name", "time", "where"), rows)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.entries)} entries; save(path) writes it for Perfetto>"

    def save(self, path: str | Path) -> None:
        """Write a trace that chrome://tracing and Perfetto show."""
        from .trace_file import text_of

        Path(path).write_text(text_of(self), encoding="utf-8")


class _Tracing:
    """Whether a trace is being recorded, in the whole process; native code looks at this, too."""

    __slots__ = ("active",)

    def __init__(self) -> None:
        self.active: Trace | None = None


Tracing = _Tracing()


@block
def trace(path: str | Path | None = None, *, nvtx: bool = False) -> Generator[Trace, None, None]:
    """Record all ops of the process in a `with` block; written to `path` at its end, if given.

    With `nvtx`, each op is a range of NVTX as well, which NVIDIA's profilers show.
    """
    ranges: Ranges | None = None
    if nvtx:
        from .nvtx import find_ranges

        ranges = find_ranges()
    recorded, outer = Trace(ranges), Tracing.active
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
    name: str, stream: Stream, begun: Stamp | None = None, ended: Stamp | None = None,
    traffic: Traffic | None = None,
) -> None:  # fmt: skip
    """Record enqueued work: how long the device takes for it.

    If the device cannot measure it, record how long the host observes it.
    """
    active = Tracing.active
    if active is None:
        return
    if begun is None or ended is None:
        start = time.perf_counter_ns()
        active.put(name, stream, lambda: (start, time.perf_counter_ns()), traffic)
        return
    of = active.clocks.time_of
    active.put(name, stream, lambda: (of(begun, stream), of(ended, stream)), traffic)


def trace_wait(stream: Stream, event: Event) -> None:
    """Record that a stream waits for an event of another one."""
    if Tracing.active is not None:
        Tracing.active.wait(stream, event.stream)
