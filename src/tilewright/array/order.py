"""Orders work by the memory it uses: who wrote last, who reads, and who must wait for whom.

Each piece of work that is started leaves a flight with the memory it uses, from just before it is
put on its stream until the device has passed it. Work that conflicts waits: on another stream by
event, on the host by blocking. So streams cannot race, whatever the policy that chose them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from .borrow import LOCK

if TYPE_CHECKING:
    from ..driver.protocol import Event, Stream
    from .region import Region


class Result(Protocol):
    """What became of work, as far as the host must know."""

    @property
    def settled(self) -> bool:
        """Whether nobody needs to ask any more: it went well, or its failure was seen."""
        ...

    def check(self) -> None:
        """Raise if it failed."""
        ...


_PUT = threading.Condition()
"""Where threads wait for others to put their work on a stream: rare, so one is enough for all."""


class Flight:
    """One piece of work on its way. Holds no memory, only the addresses it uses."""

    __slots__ = ("_event", "_is_put", "result", "stream")

    def __init__(self, stream: Stream, result: Result | None) -> None:
        self.stream = stream
        self.result = result
        self._event: Event | None = None
        self._is_put = False

    def put(self, event: Event | None) -> None:
        """The work is on its stream now and has passed with this event; None: with no event."""
        self._event = event
        self._is_put = True
        with _PUT:
            _PUT.notify_all()

    def over(self) -> bool:
        """Whether nothing that follows needs to know of it."""
        passed = self._is_put and (self._event is None or self._event.done())
        return passed and (self.result is None or self.result.settled)

    def event(self) -> Event | None:
        """The point behind it. Waits for the moment in which another thread puts it there."""
        if not self._is_put:
            with _PUT:
                _PUT.wait_for(lambda: self._is_put)
        return self._event

    def wait(self) -> None:
        """Block until the device has passed it; raises if it failed."""
        event = self.event()
        if event is not None:
            event.wait()
            self.stream.sweep()
        if self.result is not None:
            self.result.check()


class Span:
    """Bytes that a flight reads or writes."""

    __slots__ = ("end", "flight", "start", "writes")

    def __init__(self, flight: Flight, start: int, end: int, *, writes: bool) -> None:
        self.flight = flight
        self.start = start
        self.end = end
        self.writes = writes


class Order:
    """The flights over a piece of memory; pieces that overlap share one."""

    __slots__ = ("_joined", "_spans")

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._joined: Order | None = None

    def join(self, other: Order) -> None:
        """From now on the two are one."""
        with LOCK:
            mine, its = self.root(), other.root()
            if mine is not its:
                its._spans += mine._spans
                mine._joined, mine._spans = its, []

    def root(self) -> Order:
        """The one that stands for all it was joined with. For who holds the lock."""
        order = self
        while order._joined is not None:
            order = order._joined
        return order

    def conflicts(self, start: int, end: int, *, writes: bool) -> list[Flight]:
        """The flights that a use of these bytes comes after. For who holds the lock."""
        if not self._spans:
            return []
        self._spans = [span for span in self._spans if not span.flight.over()]
        return [
            span.flight
            for span in self._spans
            if span.start < end and start < span.end and (writes or span.writes)
        ]

    def add(self, span: Span) -> None:
        """Note a use. For who holds the lock."""
        self._spans.append(span)


def reserve(
    stream: Stream, writes: Sequence[Region], reads: Sequence[Region], result: Result | None = None
) -> Flight:
    """Note work that is about to be put on a stream, and let the stream wait for what it follows.

    Who calls must `put` the flight, with None if the work was not put on the stream after all.
    """
    flight = Flight(stream, result)
    with LOCK:
        found = [*_take(flight, writes, writes=True), *_take(flight, reads, writes=False)]
    for other in found:
        if other.stream is not stream and (event := other.event()) is not None:
            stream.wait_for(event)
    return flight


def _take(flight: Flight, regions: Sequence[Region], *, writes: bool) -> list[Flight]:
    found: list[Flight] = []
    for region in regions:
        order = region.storage.order.root()
        found += order.conflicts(region.start, region.end, writes=writes)
        order.add(Span(flight, region.start, region.end, writes=writes))
    return found


def wait_on_host(regions: Iterable[Region], *, writes: bool = False) -> None:
    """Block until the host may read memory, or write it; raises if what wrote it failed."""
    for flight in flights_over(regions, writes=writes):
        flight.wait()


def flights_over(regions: Iterable[Region], *, writes: bool = False) -> list[Flight]:
    """What a reader of this memory, or a writer, comes after."""
    with LOCK:
        return [
            flight
            for region in regions
            for flight in region.storage.order.root().conflicts(
                region.start, region.end, writes=writes
            )
        ]


def is_in_flight(region: Region) -> bool:
    """Whether work that writes this memory is on its way."""
    return bool(flights_over([region]))
