"""Signal: a point that the host reaches, to be waited for like a device's event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from ..devices.protocol import Event
from .outcome import report_unobserved


class Signal:
    """A flag that is set once, from any thread, and then calls all registered functions."""

    __slots__ = ("_callbacks", "_lock", "_set")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._set = False

    def done(self) -> bool:
        """Return whether it has been set."""
        return self._set

    def set(self) -> None:
        """Wake all waiting threads; callbacks run here, under no lock."""
        with self._lock:
            self._set = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            call_safely(callback)

    def call(self, callback: Callable[[], None]) -> None:
        """Call this when the signal is set; at once, if it is."""
        with self._lock:
            if not self._set:
                self._callbacks.append(callback)
                return
        call_safely(callback)

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it is set, or so many seconds; True: it is."""
        if self._set:
            return True
        arrived = threading.Event()
        self.call(arrived.set)
        return arrived.wait(timeout)


Awaited: TypeAlias = Event | Signal
"""What must have happened before an op can go on: on a device, or on the host."""


def call_safely(callback: Callable[[], None]) -> None:
    """Call something whose errors have no receiver here: they are reported, and change nothing."""
    try:
        callback()
    except Exception as error:
        report_unobserved(error, "while calling back what had waited for an op")
