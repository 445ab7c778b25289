"""Keep other threads running beside lengthy Python code, such as a compilation.

Two habits of Python would stop an event loop in another thread for long:

- A thread that wants the GIL waits until the switch interval is over, 5 ms by default, each time.
  Lengthy work shortens it.
- A full collection visits every object and holds the GIL meanwhile: a tenth of a second in a large
  program. Allocating hundreds of thousands of objects triggers several of them. Lengthy work defers
  them; collections of young objects, which are short, go on.
"""

from __future__ import annotations

import gc
import sys
import threading
from typing import ClassVar
from weakref import WeakSet

NEVER = 1 << 30
"""So many collections of the middle generation come before a full one."""
TURN = 1e-3
"""Seconds after which lengthy work gives the GIL to a thread that waits for it."""


class LengthyWork:
    """Lengthy work that has begun; it ends when the object is deleted."""


class _Process:
    """The lengthy work under way, and the settings of before."""

    lock = threading.RLock()
    under_way: ClassVar[WeakSet[LengthyWork]] = WeakSet()
    full_before = 0
    interval_before = 0.0


def begin_lengthy_work() -> LengthyWork:
    """Prevent full collections and long turns until `end_lengthy_work` gets the returned value."""
    mine = LengthyWork()
    with _Process.lock:
        young, middle, full = gc.get_threshold()
        if full != NEVER:
            _Process.full_before = full
            gc.set_threshold(young, middle, NEVER)
        interval = sys.getswitchinterval()
        if interval > TURN:
            _Process.interval_before = interval
            sys.setswitchinterval(TURN)
        _Process.under_way.add(mine)
    return mine


def end_lengthy_work(mine: LengthyWork) -> None:
    """Restore the settings once all lengthy work has ended; keep what a program has set since."""
    with _Process.lock:
        _Process.under_way.discard(mine)
        if _Process.under_way:
            return
        young, middle, full = gc.get_threshold()
        if full == NEVER:
            gc.set_threshold(young, middle, _Process.full_before)
        if sys.getswitchinterval() == TURN and _Process.interval_before:
            sys.setswitchinterval(_Process.interval_before)
        _Process.interval_before = 0.0
