"""Happens-before over streams, by vector clocks: finds unordered conflicting uses of memory.

Each stream counts its work. A clock has, for each stream, the number up to which work is known to
have passed. An event carries the clock of its stream; a wait, of a stream or of the host, joins
that clock with its own; enqueued work follows all that the host has observed. Two uses of one byte,
one of which writes it, race unless the clock of the later one covers the earlier one (Lamport;
Mattern's vector clocks, with the history of FastTrack).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Clock: TypeAlias = Mapping[int, int]
"""For each stream, the number up to which its work has passed."""


class MemoryUse(NamedTuple):
    """Bytes from `start` to `end` that work uses."""

    start: int
    end: int
    writes: bool

    def conflicts(self, other: MemoryUse) -> bool:
        """Return whether the two uses share a byte and one of them writes."""
        both = self.start < other.end and other.start < self.end
        return both and (self.writes or other.writes)


@dataclass(frozen=True, slots=True)
class Access:
    """A use of memory by work on a stream."""

    use: MemoryUse
    stream: int
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.text} on stream {self.stream}"

    @property
    def verb(self) -> str:
        """What it does with the memory."""
        return "writes" if self.use.writes else "reads"


@dataclass(frozen=True, slots=True)
class Race:
    """Two conflicting uses without an order between them."""

    earlier: Access
    later: Access

    def __str__(self) -> str:
        start = max(self.earlier.use.start, self.later.use.start)
        both = f"{self.later} {self.later.verb} what {self.earlier} {self.earlier.verb}"
        return f"{both}, and nothing orders them (address {start:#x})"


class HappensBefore:
    """Follows the streams of one device."""

    def __init__(self) -> None:
        self.races: list[Race] = []
        self._lock = threading.Lock()
        self._streams: dict[int, dict[int, int]] = {}
        self._host: dict[int, int] = {}
        """What the host has seen pass, on any of its threads."""
        self._accesses: list[Access] = []
        """Those that are not known to have passed."""

    def put(self, stream: int, uses: Iterable[MemoryUse], text: str) -> None:
        """Note work on a stream, and the races it has with work before it."""
        with self._lock:
            clock = self._streams.setdefault(stream, {})
            _join(clock, self._host)
            number = clock[stream] = clock.get(stream, 0) + 1
            new = [Access(use, stream, number, text) for use in uses]
            for access in new:
                self._look_back(access, clock)
            self._accesses += new

    def clock(self, stream: int) -> Clock:
        """Return the vector clock after all work enqueued on a stream so far."""
        with self._lock:
            return dict(self._streams.get(stream, {}))

    def wait(self, stream: int, clock: Clock) -> None:
        """Order what is enqueued on a stream from now on after a point of another stream."""
        with self._lock:
            _join(self._streams.setdefault(stream, {}), clock)

    def seen(self, clock: Clock) -> None:
        """Note that the host has observed a point."""
        with self._lock:
            _join(self._host, clock)
            host = self._host
            self._accesses = [a for a in self._accesses if a.number > host.get(a.stream, 0)]

    def has_seen(self, clock: Clock) -> bool:
        """Return whether the host has observed a point."""
        with self._lock:
            return all(self._host.get(stream, 0) >= number for stream, number in clock.items())

    def forget(self, start: int, end: int) -> None:
        """Drop the uses of bytes that the device has freed: later memory there is new."""
        with self._lock:
            self._accesses = [a for a in self._accesses if a.use.end <= start or end <= a.use.start]

    def _look_back(self, access: Access, clock: Clock) -> None:
        for before in self._accesses:
            if access.use.conflicts(before.use) and clock.get(before.stream, 0) < before.number:
                self.races.append(Race(before, access))


def _join(clock: dict[int, int], other: Clock) -> None:
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number
