"""Progress of the CPU device: a native count that streams raise as they pass watched points."""

from __future__ import annotations

import time

from ..._core import FORKED
from ..protocol import Event
from . import pool as threads
from .stream import FOREVER, CpuEvent


class CpuProgress:
    """See `protocol.Progress`; begins anew in a child process."""

    __slots__ = ()

    def watch(self, event: Event) -> bool:
        """Increase the count once an event has passed; False: not the event of a CPU stream."""
        if not isinstance(event, CpuEvent):
            return False
        if event.stream.native.alert_at(event.number) == FORKED:
            threads.default().refuse()
        return True

    def poke(self) -> None:
        """Increase the count now."""
        threads.default().native.alert()

    def wait(self, seen: int, timeout: float | None = None) -> int:
        """Block until the count is another, or so many seconds; the count."""
        pool = threads.default()
        end = FOREVER if timeout is None else time.monotonic_ns() + int(timeout * 1e9)
        while True:
            left = max(0, end - time.monotonic_ns())
            # An interrupt is raised here, between two calls.
            count = pool.native.wait_for_alert(seen, min(left, threads.SLICE))
            if count != seen or left == 0:
                return count
