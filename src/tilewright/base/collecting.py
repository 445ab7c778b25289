"""Defer Python's full garbage collections while much is allocated.

A full collection visits every object and holds the interpreter's lock meanwhile: a tenth of a
second in a large program. Allocating hundreds of thousands of objects triggers several of them.
Collections of young objects, which are short, go on.
"""

from __future__ import annotations

import gc
import threading
from typing import ClassVar
from weakref import WeakSet

NEVER = 1 << 30
"""So many collections of the middle generation come before a full one."""


class PutOff:
    """A request for no full collection; it ends when the object is deleted."""


class _Process:
    """The requests in effect, and the original threshold of full collections."""

    lock = threading.RLock()
    wanted: ClassVar[WeakSet[PutOff]] = WeakSet()
    before = 0


def put_off_collections() -> PutOff:
    """Prevent full collections until `take_up_collections` gets the returned value."""
    mine = PutOff()
    with _Process.lock:
        young, middle, full = gc.get_threshold()
        if full != NEVER:
            _Process.before = full
            gc.set_threshold(young, middle, NEVER)
        _Process.wanted.add(mine)
    return mine


def take_up_collections(mine: PutOff) -> None:
    """Restore full collections once all requests have ended; keep what a program has set since."""
    with _Process.lock:
        _Process.wanted.discard(mine)
        young, middle, full = gc.get_threshold()
        if not _Process.wanted and full == NEVER:
            gc.set_threshold(young, middle, _Process.before)
