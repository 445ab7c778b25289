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
    from .code import AnyPlan
    from .protocol import Runnable


class Examination:
    """What was done for a launch before it begins, and is checked when it does."""

    __slots__ = ("_check", "_mark_written", "_passed", "_stream", "_uses", "code", "plan")

    def __init__(
        self,
        code: Runnable,
        plan: AnyPlan,
        check: Callable[[], None],
        mark_written: Callable[[], None] | None,
    ) -> None:
        """Say how a launch is submitted, or recorded: then what it uses need not be ordered.

        `check` raises if it must not run; `mark_written` notes that its outputs may be read, as
        they may be unless it is recorded (None).
        """
        self.code, self.plan = code, plan
        """What the core runs, and how it submits that."""
        self._check, self._mark_written = check, mark_written
        self._stream: Stream | None = None
        self._uses: tuple[Sequence[Region], Sequence[Region]] = (), ()
        self._passed: list[PendingWork] = []

    def follow(
        self, stream: Stream, writes: Sequence[Region], reads: Sequence[Region], *, on_host: bool
    ) -> None:
        """Have the launch come after all work that it follows, by a wait of its stream.

        `on_host`: the host waits, also for what does not conflict.
        """
        self._stream, self._uses = stream, (writes, reads)
        for other in conflicts_of(*((*writes, *reads), ()) if on_host else self._uses):
            if on_host:
                other.wait()
            elif other.stream is not stream:
                event = other.event()
                if event is not None:
                    stream.wait_for(event)
                    trace_wait(stream, event)
            else:
                other.event()  # another thread puts it there
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
        if self._mark_written is not None:
            self._mark_written()


class Examined(Protocol):
    """A launch that the core ends."""

    def examined_in(self, ctx: ExecutionContext, tries: int) -> Examination:
        """Do what the core needs done before a launch is submitted; raise if it cannot run.

        `tries` counts from 1: that it is more says that the launch could not be submitted.
        """
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


def examine(op: Examined, ctx: ExecutionContext, tries: int) -> Examination:
    """Do what the core needs done before a launch is submitted; raise if it cannot run."""
    return op.examined_in(ctx, tries)
