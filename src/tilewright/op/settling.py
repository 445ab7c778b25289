"""What is settled when all ops of a chain have run, and not before: one of them may still fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

Settle: TypeAlias = Callable[[bool], None]
"""Told whether the work failed of which it is a part."""


class Settling:
    """What waits for the end of some work; whoever comes later hears at once how it ended."""

    __slots__ = ("_failed", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Settle] = []
        self._failed: bool | None = None
        """None: it has not ended."""

    def add(self, settle: Settle) -> None:
        """Have it called at the end. From any thread: devices pass work at any time."""
        with self._lock:
            if self._failed is None:
                self._waiting.append(settle)
                return
            failed = self._failed
        settle(failed)

    def end(self, *, failed: bool) -> None:
        """The work has ended; the first to say so decides."""
        with self._lock:
            if self._failed is None:
                self._failed = failed
            failed = self._failed
            waiting, self._waiting = self._waiting, []
        for settle in waiting:
            settle(failed)
