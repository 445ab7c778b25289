"""Lane: the plain launches of one stream by number, and how far they are, for native code."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, ClassVar

from .stub.words import LANE_WORDS, LaneWord, new_words

if TYPE_CHECKING:
    from .stub.words import Words

ISSUED, OVER, UNPUT = int(LaneWord.ISSUED), int(LaneWord.OVER), int(LaneWord.UNPUT)


class Lane:
    """A stream as records of memory name it; `array.order` says what its flights are.

    Lanes are few and small, and stay for good: memory may name one long after its stream is gone.
    """

    __slots__ = ("address", "flights", "words")

    by_address: ClassVar[dict[int, Lane]] = {}

    def __init__(self) -> None:
        self.words: Words = new_words(LANE_WORDS)
        self.address = ctypes.addressof(self.words)
        self.flights: dict[int, Any] = {}
        """Those that somebody may have to know of, by number."""
        Lane.by_address[self.address] = self

    def put(self) -> None:
        """One more has been put on the stream. For who holds the lock of borrow state."""
        self.words[UNPUT] -= 1

    def land(self, number: int) -> None:
        """It was put there and is over, or was not put there after all. As `put` and `end`."""
        words, flights = self.words, self.flights
        del flights[number]
        words[UNPUT] -= 1
        words[OVER] = next(iter(flights)) - 1 if flights else words[ISSUED]

    def end(self, number: int) -> None:
        """Nobody needs to know of this one any more. For who holds the lock of borrow state."""
        words, flights = self.words, self.flights
        del flights[number]
        words[OVER] = next(iter(flights)) - 1 if flights else words[ISSUED]
