"""Callbacks that become due as a stream advances: run in order, once each.

A callback that an interrupt cuts short, perhaps after its last effect, runs again from its
beginning. So each callback must be idempotent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from ..base.shield import shielded

CompletionCallback = tuple[int, Callable[[], None] | None, object]
"""The point of the stream, what to call then, and what is kept alive until then."""


class _Thread(threading.local):
    calling = False


_THREAD = _Thread()


class CompletionCallbacks:
    """What a stream keeps, and calls, until it has passed a point; for any number of threads.

    One thread at a time makes calls. Another one that wants calls made waits for it, so when its
    `sweep` returns all that were due have been made; unless it is inside such a call itself.
    """

    __slots__ = ("_failed", "_items", "_turn", "append")

    def __init__(self) -> None:
        self._items: deque[CompletionCallback] = deque()
        self.append = self._items.append
        """As `add`, of a tuple; no Python function, so no signal is noticed before that."""
        self._turn = threading.RLock()
        self._failed: Callable[[], None] | None = None
        """A call that has raised an error: its own, or that of the handler of a signal."""

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, number: int, callback: Callable[[], None] | None, kept: object = None) -> None:
        """Register a callback, and keep an object, until the stream has passed `number` pieces of
        work.
        """
        self.append((number, callback, kept))

    def make(self, number: int, callback: Callable[[], None]) -> None:
        """Run a due callback on demand; it stays due if an interrupt prevents it."""
        shielded(self._make, number, callback)

    def _make(self, number: int, callback: Callable[[], None]) -> None:
        try:
            callback()
        except BaseException as error:
            if isinstance(error, Exception):
                self._failed = callback
            self.append((number, callback, None))
            raise

    def sweep(self, completed: int) -> None:
        """Run the callbacks that are due when `number` pieces of work have passed."""
        items = self._items
        if not items or items[0][0] > completed or _THREAD.calling:
            return
        with self._turn:
            _THREAD.calling = True
            try:
                while items and items[0][0] <= completed:
                    shielded(self._call)
            finally:
                _THREAD.calling = False

    def _call(self) -> None:
        """Run the first callback without signals in between: what it raises is its own."""
        items = self._items
        callback = items[0][1]
        if callback is not None:
            try:
                callback()
            except Exception:
                if self._failed is callback:  # it is its own
                    items.popleft()
                self._failed = callback
                raise
        # Not before: a caller that finds no due callback may rely on it having run.
        items.popleft()
