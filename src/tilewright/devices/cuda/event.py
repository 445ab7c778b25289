"""Points of CUDA streams: each an event of the driver, taken from a pool and given back to it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...base.shield import listen
from .context import Context

if TYPE_CHECKING:
    from .stream import CudaStream

Label: TypeAlias = "str | Callable[[Any], str] | None"
"""A kernel's description, or a function that derives it from the object kept for the launch."""
Kept: TypeAlias = tuple[Label, Any]
"""An object that stays alive until the device has passed some work, and what that is."""

SLICE = 50_000_000
"""Nanoseconds that a thread waits before it lets the interpreter look for signals."""


class Events:
    """Unused events of a device."""

    __slots__ = ("_context", "_idle", "give_back")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._idle: deque[int] = deque()
        self.give_back = self._idle.append
        """Mark this one as unused; may be called anywhere, as by a finalizer.

        It is a C function, so no signal handler runs before it has its effect.
        """

    def take_for(self, mark: Mark) -> None:
        """Assign an unused event to a mark."""
        idle = self._idle
        while not idle:
            self._context.call(self._create)
        # These two make no call: no other thread, and no interrupt, comes between them.
        mark.handle = idle[-1]
        del idle[-1]

    def _create(self) -> None:
        self._idle.append(self._context.calls.create_event())


class Mark:
    """An event of the driver behind so many pieces of a stream's work."""

    __slots__ = ("_events", "handle", "issued", "kept", "number")

    def __init__(self, number: int, events: Events, issued: int | None) -> None:
        self.number = number
        self.handle = 0
        """0 where there was nothing to record it behind."""
        self.issued = issued
        """The number up to which plain launches of the stream's timeline precede it, if known."""
        self.kept: list[Kept] = []
        """What stays alive until the stream has passed it, and is seen to have."""
        self._events = events

    def __del__(self) -> None:
        if getattr(self, "handle", 0):  # none: an interrupt kept it from being made
            self._events.give_back(self.handle)


class CudaEvent:
    """A point of a stream."""

    __slots__ = ("mark", "stream")

    def __init__(self, stream: CudaStream, mark: Mark) -> None:
        self.stream = stream
        self.mark = mark

    def done(self) -> bool:
        """Return whether the stream has passed the event."""
        return self.stream.completed >= self.mark.number or self.stream.look(self.mark, 0)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the stream has passed it, or so many seconds; True: it has."""
        stream, mark = self.stream, self.mark
        if stream.completed < mark.number:
            end = None if timeout is None else time.monotonic_ns() + int(timeout * 1e9)
            while True:
                left = SLICE if end is None else end - time.monotonic_ns()
                listen()
                if stream.look(mark, max(0, min(left, SLICE))):
                    break
                if left <= 0:
                    return False
        stream.sweep()
        return True

    def __repr__(self) -> str:
        return f"Event(stream={self.stream.number}, number={self.mark.number})"
