"""Examines launches for the core, where that needs what only Python knows.

Such is the code before it is compiled, numbers before they were checked, leases, which parts of
memory have been written, and work that is listed by memory. The launch itself is the core's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from .._core import EXAMINED, FOLLOWING
from ..op.trace import trace_wait
from ..tensors.order import conflicts_of
from ..tensors.pending_work import NumberedWork, PendingWork

if TYPE_CHECKING:
    from ..devices.protocol import Stream
    from ..op.context import ExecutionContext
    from ..tensors.region import Region


class Examination:
    """What was done for a launch before it begins, and is checked when it does."""

    __slots__ = ("_check", "_mark_written", "_passed", "_stream", "_uses")

    def __init__(
        self,
        stream: Stream,
        writes: Sequence[Region],
        reads: Sequence[Region],
        check: Callable[[], None],
        mark_written: Callable[[], None],
    ) -> None:
        """Have a stream wait for what a launch follows.

        `check` raises if it must not run; `mark_written` notes that its outputs may be read.
        """
        self._stream, self._uses = stream, (writes, reads)
        self._check, self._mark_written = check, mark_written
        self._passed: list[PendingWork] = []
        for other in conflicts_of(*self._uses):
            if other.stream is not stream:
                self._follow(other)

    def _follow(self, other: PendingWork) -> None:
        event = other.event()
        if event is not None:
            self._stream.wait_for(event)
            trace_wait(self._stream, event)
        self._passed.append(other)

    def __call__(self) -> int:
        """Return how the core may begin the launch; raise if it must not run.

        The lock is held, so nothing changes before it has begun.
        """
        self._check()
        follows = all(self._is_ordered(other) for other in conflicts_of(*self._uses))
        return EXAMINED | FOLLOWING if follows else EXAMINED

    def _is_ordered(self, other: PendingWork) -> bool:
        if other.stream is self._stream:
            return other.is_submitted or _is_there(other)
        return _is_among(self._passed, other)

    def mark_written(self) -> None:
        """Note that the launch was submitted: its outputs may be read behind it."""
        self._mark_written()


class Examined(Protocol):
    """A launch that the core ends."""

    def examined_on(self, stream: Stream) -> Examination | None:
        """Do what the core needs done before it is enqueued; None: it has no plan for it."""
        ...


def _is_there(other: PendingWork) -> bool:
    """Return whether work that is only numbered is on its stream."""
    timeline = other.timeline
    if timeline is None or not isinstance(other, NumberedWork):
        return False
    return timeline.all_submitted() is not None


def _is_among(passed: Iterable[PendingWork], other: PendingWork) -> bool:
    """Return whether work is known; what is only numbered is another object each time."""
    return any(
        each is other
        or (other.timeline is not None
            and (each.timeline, each.number) == (other.timeline, other.number))
        for each in passed
    )  # fmt: skip


def examine(op: Examined, ctx: ExecutionContext) -> Examination | None:
    """Do what the core needs done before a launch; None: it has no plan for it.

    Raise if it cannot run.
    """
    return op.examined_on(ctx.stream)
