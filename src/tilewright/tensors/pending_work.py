"""A piece of work on its way, as memory that it uses knows it: where it is, and when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .._core import Reported, Started, note_submitted, set_listing, set_process
from ..base.errors import ContextError
from ..base.shield import listen
from ..devices.timeline import OVER, Timeline
from ..op.nesting import THREAD
from ..op.trace import Tracing
from .borrow import LOCK

if TYPE_CHECKING:
    from ..devices.protocol import Event, Stamp, Stream
    from ..op.outcome import Outcome
    from ..op.trace import Traffic
    from .region import Region


class _Submissions(threading.Condition):
    """Where threads wait for others to enqueue work: rare, so one is enough for all."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        """How many; native code looks at this, too."""


SUBMISSIONS = _Submissions()
LOOK_AGAIN = 0.001
"""Seconds after which a thread that waits there looks by itself."""


class PendingWork:
    """One piece of work on its way. Holds no memory, only the addresses it uses."""

    __slots__ = (
        "_event", "_starter", "begun", "is_over", "is_submitted", "number", "outcome", "stream",
        "timeline", "traffic",
    )  # fmt: skip

    begun: Stamp | None
    """When the device began with it; there while a trace is recorded."""
    traffic: Traffic
    """What it reads and writes; likewise."""

    def __init__(
        self, stream: Stream | None, timeline: Timeline | None = None, number: int = 0
    ) -> None:
        self.stream = stream
        """None: it is the host's own work."""
        self.timeline = timeline
        self.number = number
        """Where its memory says to find it, if it is not listed there."""
        self.outcome: Outcome | None = None
        """Its outcome, once it is enqueued."""
        self.is_over = False
        """Whether it was over when last asked."""
        self._event: Event | None = None
        self.is_submitted = False
        """Whether it is on its stream, or will not be: others need not wait for that any more."""
        self._starter = threading.get_ident()

    def mark_submitted(self, event: Event | None) -> None:
        """Note that the work is enqueued and ends with this event; None: it is over already.

        The call may be repeated after an interrupt.
        """
        self._event = event
        self.is_over = event is None
        timeline = self.timeline
        if timeline is None:
            self.is_submitted = True
        else:
            address = timeline.address
            with LOCK:
                if not self.is_submitted:
                    self.is_submitted = True  # no interrupt is raised between this and the call
                    note_submitted(address)
                if event is None:
                    timeline.end(self.number)
        notify_submitted()

    def end(self) -> None:
        """Note that the work has succeeded. The call may be repeated, as may `fail`."""
        self.is_over = True
        self._leave()

    def fail(self, writes: Iterable[Region], reads: Iterable[Region]) -> None:
        """Note that the work has failed: every later use of its memory raises the error."""
        if self.timeline is not None:
            with LOCK:
                for region in writes:
                    region.storage.order.root().add((self, region.start, region.end, True))
                for region in reads:
                    region.storage.order.root().add((self, region.start, region.end, False))
            self._leave()

    def _leave(self) -> None:
        if self.timeline is not None:
            with LOCK:
                self.timeline.end(self.number)

    def over(self) -> bool:
        """Return whether no later work needs to know of it."""
        if self.is_over or not self.is_submitted:
            return self.is_over
        if self._event is None or self._event.done():
            self.is_over = self.outcome is None or self.outcome.is_known_well
        return self.is_over

    def is_passed(self) -> bool:
        """Return whether it has passed, or never will; its result may be unknown."""
        return self.is_submitted and (self._event is None or self._event.done())

    def event(self) -> Event | None:
        """Return the event after it; wait while another thread is enqueuing it."""
        if not self.is_submitted:
            self.refuse_own()
            _wait_until(lambda: self.is_submitted)
        return self._event

    def refuse_own(self) -> None:
        """Raise if this very thread is about to put it there: this is the handler of a signal."""
        if not self.is_submitted and self._starter == threading.get_ident():
            raise ContextError(
                "a signal interrupted this thread while it was starting work",
                expected="work to have been started before its memory is waited for",
                hint="in a signal handler, set a flag and do the work afterwards",
            )

    def follows(self, other: PendingWork) -> bool:
        """Return whether it certainly passes after the other, by the order of their stream."""
        return self.stream is not None and other.is_on(self.stream)

    def is_on(self, stream: Stream) -> bool:
        """Return whether it is enqueued on this stream."""
        return self.stream is stream and self.is_submitted

    def wait(self) -> None:
        """Block until the device has passed it, and what became of it is known."""
        event = self.event()
        if event is not None:
            event.wait()
            event.stream.sweep()

    def precedes(self, other: PendingWork) -> bool:
        """Return whether it passes before the other, or is the same work, listed since."""
        return (
            self.timeline is not None
            and self.timeline is other.timeline
            and self.number <= other.number
        )

    def check(self) -> None:
        """Raise if work that the device has passed has failed."""
        if self.outcome is not None:
            self.outcome.check()


class NumberedWork(PendingWork):
    """A plain launch that is not listed: all that is known is how far its timeline is."""

    __slots__ = ()

    def over(self) -> bool:
        """Return whether its stream has passed it."""
        timeline = self.timeline
        assert timeline is not None
        if not self.is_over:
            self.is_over = timeline.words[OVER] >= self.number or (
                timeline.all_submitted() is not None
                and self.stream is not None
                and self.stream.idle()
            )
        return self.is_over

    def event(self) -> Event | None:
        """Record an event after it now."""
        timeline = self.timeline
        assert timeline is not None
        assert self.stream is not None
        if self._event is None:
            if timeline.all_submitted() is None:
                for pending in list(timeline.pending.values()):  # as one step, unlike tuple()
                    if isinstance(pending, PendingWork):
                        pending.refuse_own()
                _wait_until(lambda: timeline.all_submitted() is not None)
            self._event = self.stream.record()
        return self._event


class ReportedWork(NumberedWork):
    """A plain launch that its timeline lists until somebody has heard what it reported."""

    __slots__ = ("_launch",)

    def __init__(
        self, stream: Stream | None, timeline: Timeline, launch: Reported | Started
    ) -> None:
        super().__init__(stream, timeline, launch.number)
        self._launch = launch

    def over(self) -> bool:
        """Return whether that was heard; if it has failed, memory lists that then."""
        timeline = self.timeline
        assert timeline is not None
        self.is_over = self.number not in timeline.pending
        return self.is_over

    def check(self) -> None:
        """Raise if it has failed, which the device has passed."""
        if not self.over() and self.stream is not None:
            self.stream.sweep()
        self.outcome = self._launch.outcome
        super().check()


def fail_unlisted(
    timeline: Timeline,
    number: int,
    outcome: Outcome,
    writes: Iterable[Region],
    reads: Iterable[Region],
) -> None:
    """Note the failure of work that was only numbered: later uses of its memory raise."""
    pending = PendingWork(timeline.stream, timeline, number)
    pending.outcome, pending.is_submitted = outcome, True
    pending.fail(writes, reads)


def _wait_until(is_submitted: Callable[[], bool]) -> None:
    """Wait for the moment in which another thread enqueues its work."""
    with SUBMISSIONS:
        SUBMISSIONS.waiting += 1
        try:
            # Who puts work there may have looked for waiters just before there was one.
            while not SUBMISSIONS.wait_for(is_submitted, timeout=LOOK_AGAIN):
                listen()
        finally:
            SUBMISSIONS.waiting -= 1


def notify_submitted() -> None:
    """Wake the threads that wait for work to be enqueued or abandoned."""
    if SUBMISSIONS.waiting:
        with SUBMISSIONS:
            SUBMISSIONS.notify_all()


set_process(Tracing, THREAD, SUBMISSIONS, notify_submitted)
set_listing({"Timeline": Timeline})
