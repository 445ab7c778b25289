"""Progress of devices whose events Python itself decides about: a count, and who waits for it."""

from __future__ import annotations

import threading

from .protocol import Event


class HostProgress:
    """Counts events that have passed; see `protocol.Progress`."""

    __slots__ = ("_changed", "_count", "_watched")

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._watched: list[Event] = []

    def watch(self, event: Event) -> bool:
        """Increase the count once an event has passed."""
        with self._changed:
            self._watched.append(event)
        self.look()
        return True

    def poke(self) -> None:
        """Increase the count now."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def look(self) -> None:
        """Increase the count if a watched event has passed."""
        with self._changed:
            left = [event for event in self._watched if not event.done()]
            moved, self._watched = len(left) < len(self._watched), left
        if moved:
            self.poke()

    def wait(self, seen: int, timeout: float | None = None) -> int:
        """Block until the count is another, or so many seconds; the count."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout)
            return self._count
