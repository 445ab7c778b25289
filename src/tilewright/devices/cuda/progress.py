"""Progress of a CUDA device: the thread that waits asks the driver about the watched events."""

from __future__ import annotations

import ctypes
import threading
import time

from ...base.shield import listen
from ..protocol import Event
from .context import Context
from .event import SLICE, CudaEvent
from .results import NOT_READY


class CudaProgress:
    """See `protocol.Progress`. The threads that wait poll the events."""

    __slots__ = ("_context", "_lock", "_watched", "_words")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._watched: dict[int, CudaEvent] = {}
        """By the driver's event."""
        self._words = (ctypes.c_int64 * 1)()

    def watch(self, event: Event) -> bool:
        """Increase the count once an event has passed; False: not an event of this device."""
        if not isinstance(event, CudaEvent) or event.stream.device.progress is not self:
            return False
        with self._lock:
            self._watched[event.mark.handle] = event
        return True

    def poke(self) -> None:
        """Increase the count now."""
        with self._lock:
            self._words[0] += 1

    def wait(self, seen: int, timeout: float | None = None) -> int:
        """Block until the count is another, or so many seconds; the count."""
        end = None if timeout is None else time.monotonic_ns() + int(timeout * 1e9)
        while (count := self._words[0]) == seen:
            left = SLICE if end is None else end - time.monotonic_ns()
            if left <= 0 and timeout is not None:
                break
            listen()
            self._look(seen, max(0, min(left, SLICE)))
        return count

    def _look(self, seen: int, nanoseconds: int) -> None:
        with self._lock:
            watched = list(self._watched.values())
        handles = [event.mark.handle for event in watched]
        table = (ctypes.c_void_p * max(len(handles), 1))(*handles)
        context = self._context
        status = context.calls.await_any(
            context.handle, ctypes.addressof(table), len(handles),
            ctypes.addressof(self._words), seen, nanoseconds,
        )  # fmt: skip
        if status != NOT_READY:
            self._settle(watched)

    def _settle(self, watched: list[CudaEvent]) -> None:
        """End the watches whose events have passed, or all if the device is lost."""
        passed = {event.stream for event in watched if _is_over(event)}
        with self._lock:
            if passed:
                self._words[0] += 1
            kept = self._watched.items()
            self._watched = {key: each for key, each in kept if each.stream not in passed}


def _is_over(event: CudaEvent) -> bool:
    """Return whether an event has passed or failed; the watcher meets the same error again."""
    try:
        return event.done()
    except Exception:
        return True
