"""Puts off Python's full garbage collections while much is allocated.

A full one looks at every object there is, and holds the interpreter's lock meanwhile: a tenth of a
second in a program of some size. Whoever allocates hundreds of thousands of objects has several of
them run. Collections of young objects, which are short, go on.
"""

from __future__ import annotations

import gc
import threading
from typing import ClassVar
from weakref import WeakSet

NEVER = 1 << 30
"""So many collections of the middle generation come before a full one."""


class PutOff:
    """That somebody wants no full collection; it counts no longer when it is gone."""


class _Process:
    """Who wants none, and how many collections there are otherwise before a full one."""

    lock = threading.RLock()
    wanted: ClassVar[WeakSet[PutOff]] = WeakSet()
    before = 0


def put_off_collections() -> PutOff:
    """Have no full collection until `take_up_collections` is given what this gives."""
    mine = PutOff()
    with _Process.lock:
        young, middle, full = gc.get_threshold()
        if full != NEVER:
            _Process.before = full
            gc.set_threshold(young, middle, NEVER)
        _Process.wanted.add(mine)
    return mine


def take_up_collections(mine: PutOff) -> None:
    """As before, once all who asked for it are done; what a program has set meanwhile stays."""
    with _Process.lock:
        _Process.wanted.discard(mine)
        young, middle, full = gc.get_threshold()
        if not _Process.wanted and full == NEVER:
            gc.set_threshold(young, middle, _Process.before)
