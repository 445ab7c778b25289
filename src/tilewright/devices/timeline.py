"""Timeline: the launches of one stream by number, and how far they are, for native code."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

from .._core import note_passed, reap
from .native_records import TIMELINE_WORDS, TimelineWord, new_words

if TYPE_CHECKING:
    from .native_records import Words
    from .protocol import Stream

ISSUED, OVER = int(TimelineWord.ISSUED), int(TimelineWord.OVER)
UNSUBMITTED, SUBMITTED = int(TimelineWord.UNSUBMITTED), int(TimelineWord.SUBMITTED)
LISTED, LATEST = int(TimelineWord.LISTED), int(TimelineWord.LATEST)
QUEUE, DOMAIN = int(TimelineWord.QUEUE), int(TimelineWord.DOMAIN)


class Timeline:
    """A stream as records of memory name it; `tensors.pending_work` says what its pending work is.

    Timelines stay for good, as memory may name one long after its stream is gone; so a new stream
    goes on with the timeline, and the numbers, of one that is (`Timelines`). Work is *listed* here,
    with the lock of borrow state; or it is no more than numbered, on streams that say up to which
    number all is over (`passed`).
    """

    __slots__ = ("_domain", "_stream", "address", "native", "pending", "words")

    by_address: ClassVar[dict[int, Timeline]] = {}

    def __init__(self, stream: Stream | None = None) -> None:
        self._stream = None if stream is None else ref(stream)
        self.words: Words = new_words(TIMELINE_WORDS)
        self.address = ctypes.addressof(self.words)
        self.pending: dict[int, Any] = {}
        """Those that somebody may have to know of, by number."""
        self._domain = 0
        self.native: Any = None
        """What keeps the queue that was opened, if anything must."""
        Timeline.by_address[self.address] = self

    def adopt(self, stream: Stream | None) -> bool:
        """Reuse the timeline for a new stream; False: not all work of the old one is over."""
        words = self.words
        if words[UNSUBMITTED] or self.pending:
            return False
        self.passed(words[ISSUED])
        if words[OVER] != words[ISSUED]:
            return False
        self._stream = None if stream is None else ref(stream)
        self._domain = words[DOMAIN] = words[SUBMITTED] = 0
        return True

    def open(self, queue: int, domain: int, native: object = None) -> None:
        """Let streams of the same domain wait for this one natively, by its queue.

        `native` keeps the queue for good: a stream may wait for one that is gone.
        """
        self._domain, self.native = domain, native
        self.words[QUEUE], self.words[DOMAIN] = queue, domain

    def pause(self) -> None:
        """Stop native waits for this stream while it is captured."""
        self.words[DOMAIN] = 0

    def go_on(self) -> None:
        """Allow native waits again."""
        self.words[DOMAIN] = self._domain

    @property
    def stream(self) -> Stream | None:
        """The stream, where some work is not listed; None: it is gone, and all of it is over."""
        return None if self._stream is None else self._stream()

    def end(self, number: int) -> None:
        """Note that no other object needs this timeline."""
        pending = self.pending
        pending.pop(number, None)
        self.words[LISTED] = next(iter(pending), 0)
        reap(self.address)

    def all_submitted(self) -> int | None:
        """Return the number of the last submission, if all have been enqueued."""
        words = self.words
        issued = words[ISSUED]  # first: what is issued after this does not count
        return None if words[UNSUBMITTED] else issued

    def passed(self, number: int) -> None:
        """Note that all submissions up to this number are over."""
        note_passed(self.address, number)


class Timelines:
    """The timelines of streams that can replace each other: those of one pool, or of one device."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: deque[Timeline] = deque()

    def take(self, stream: Stream | None = None) -> Timeline:
        """Return the timeline of a stream that is gone for a new stream, or else a new one."""
        try:
            timeline = self._left.popleft()
        except IndexError:
            return Timeline(stream)
        return timeline if timeline.adopt(stream) else Timeline(stream)

    def give_back(self, timeline: Timeline) -> None:
        """Note that the stream of a timeline is gone.

        For its finalizer: looks up no global name.
        """
        self._left.append(timeline)


def drain(addresses: list[int]) -> None:
    """Wait until the streams of timelines, by address, have passed all that is there now."""
    for address in addresses:
        stream = Timeline.by_address[address].stream
        if stream is not None:
            stream.synchronize()
