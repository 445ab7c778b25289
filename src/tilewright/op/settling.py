"""What is settled when all ops of a chain have run, and not before: one of them may still fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

Undo: TypeAlias = Callable[[], None]
"""Makes undone that something was settled. May be called again where an interrupt left it."""


class Settle(Protocol):
    """What is settled at the end of some work."""

    def __call__(self, failed: bool) -> None:
        """Return the work has ended, of which it is a part."""
        ...

    def undo(self) -> Undo:
        """Return how to undo the success of the work; call it before the work is settled."""
        ...


class Settling:
    """The functions that wait for the end of some work; a later one is called at once."""

    __slots__ = ("_failed", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Settle] = []
        self._failed: bool | None = None
        """None: it has not ended."""

    def add(self, settle: Settle) -> None:
        """Register a function to call at the end, from any thread: devices pass work any time."""
        with self._lock:
            if self._failed is None:
                self._waiting.append(settle)
                return
            failed = self._failed
        settle(failed)

    def end(self, *, failed: bool) -> None:
        """End the work; the first call decides whether it failed."""
        with self._lock:
            if self._failed is None:
                self._failed = failed
            failed = self._failed
            waiting, self._waiting = self._waiting, []
        for settle in waiting:
            settle(failed)

    def undo(self) -> Undo:
        """Return how to undo the success of the work; call it before the work has ended."""
        with self._lock:
            return _Undone([settle.undo() for settle in self._waiting])


class _Undone:
    __slots__ = ("_steps",)

    def __init__(self, steps: Sequence[Undo]) -> None:
        self._steps = steps

    def __call__(self) -> None:
        for step in self._steps:
            step()
