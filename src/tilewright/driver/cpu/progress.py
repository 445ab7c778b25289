"""Progress of the CPU device: a native count that streams raise as they pass watched points."""

from __future__ import annotations

import time

from ..protocol import Event
from . import pool as threads
from .runtime.common import FOREVER
from .runtime.queueing import FORKED
from .stream import CpuEvent


class CpuProgress:
    """See `protocol.Progress`; begins anew in a child process."""

    __slots__ = ()

    def watch(self, event: Event) -> bool:
        """Have the count rise once an event has passed; False: it is none of a CPU stream."""
        if not isinstance(event, CpuEvent):
            return False
        pool = threads.default()
        if pool.calls.alert(event.stream.address, event.number) == FORKED:
            pool.refuse()
        return True

    def poke(self) -> None:
        """Let the count rise now."""
        pool = threads.default()
        pool.calls.poke(pool.state)

    def wait(self, seen: int, timeout: float | None = None) -> int:
        """Block until the count is another, or so many seconds; the count."""
        pool = threads.default()
        end = FOREVER if timeout is None else time.monotonic_ns() + int(timeout * 1e9)
        while True:
            left = max(0, end - time.monotonic_ns())
            # An interrupt is raised here, between two calls.
            count = pool.calls.listen(pool.state, seen, min(left, threads.SLICE))
            if count != seen or left == 0:
                return count
