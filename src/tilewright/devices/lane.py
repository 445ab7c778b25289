"""Lane: the plain launches of one stream by number, and how far they are, for native code."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

from .stub.calls import stub
from .stub.words import LANE_WORDS, LaneWord, new_words

if TYPE_CHECKING:
    from .protocol import Stream
    from .stub.words import Words

ISSUED, OVER, UNPUT = int(LaneWord.ISSUED), int(LaneWord.OVER), int(LaneWord.UNPUT)
PUT, LISTED, LATEST = int(LaneWord.PUT), int(LaneWord.LISTED), int(LaneWord.LATEST)
QUEUE, DOMAIN = int(LaneWord.QUEUE), int(LaneWord.DOMAIN)


class Lane:
    """A stream as records of memory name it; `tensors.flight` says what its flights are.

    Lanes are few and small, and stay for good: memory may name one long after its stream is gone.
    Work is *listed* here as a flight, with the lock of borrow state; or it is no more than
    numbered, on streams that say up to which number all is over (`passed`).
    """

    __slots__ = ("_domain", "_native", "_stream", "address", "flights", "words")

    by_address: ClassVar[dict[int, Lane]] = {}

    def __init__(self, stream: Stream | None = None) -> None:
        self._stream = None if stream is None else ref(stream)
        self.words: Words = new_words(LANE_WORDS)
        self.address = ctypes.addressof(self.words)
        self.flights: dict[int, Any] = {}
        """Those that somebody may have to know of, by number."""
        self._domain = 0
        self._native: object = None
        Lane.by_address[self.address] = self

    def open(self, queue: int, domain: int, native: object = None) -> None:
        """Let streams of the same domain wait for this one natively, by its queue.

        `native` keeps the queue, for good: a stream may wait for one that is gone.
        """
        self._domain, self._native = domain, native
        self.words[QUEUE], self.words[DOMAIN] = queue, domain

    def pause(self) -> None:
        """Let no stream wait for this one natively, as it records what is put there."""
        self.words[DOMAIN] = 0

    def go_on(self) -> None:
        """Let them again."""
        self.words[DOMAIN] = self._domain

    @property
    def stream(self) -> Stream | None:
        """The stream, where some work is not listed; None: it is gone, and all of it is over."""
        return None if self._stream is None else self._stream()

    def end(self, number: int) -> None:
        """Nobody needs to know of this one any more."""
        flights = self.flights
        flights.pop(number, None)
        self.words[LISTED] = next(iter(flights), 0)
        stub().settle(self.address)

    def all_put(self) -> int | None:
        """The number of the last one, if all have been put on the stream."""
        words = self.words
        issued = words[ISSUED]  # first: what is issued after this does not count
        return None if words[UNPUT] else issued

    def passed(self, number: int) -> None:
        """All that were put on the stream up to this number are over."""
        stub().passed(self.address, number)


def drain(addresses: list[int]) -> None:
    """Wait until the streams of lanes, by address, have passed all that is there now."""
    for address in addresses:
        stream = Lane.by_address[address].stream
        if stream is not None:
            stream.synchronize()
