"""Keep other threads running beside lengthy Python code, such as a compilation.

Three habits of Python would stop an event loop in another thread for long:

- A thread that wants the GIL waits until the switch interval is over, 5 ms by default, each time.
  Lengthy work shortens it.
- A full collection visits every object and holds the GIL meanwhile: a tenth of a second in a large
  program. Allocating hundreds of thousands of objects triggers several of them. Lengthy work defers
  them; collections of young objects, which are short, go on.
- An object that outlives two collections counts as old, and a full collection is due once old
  objects are a quarter more. The intermediate representation of a kernel would age so, and be
  freed, and leave a full collection to the next allocation. So no object ages while work makes
  `temporaries`: these are freed young, and the collection behind such work visits what it leaves.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from weakref import WeakSet

NEVER = 1 << 30
"""So many collections of one generation come before one of the next."""
TURN = 1e-3
"""Seconds after which lengthy work gives the GIL to a thread that waits for it."""


class LengthyWork:
    """Lengthy work that has begun; it ends when the object is deleted."""


class _Setting:
    """A setting of the interpreter that is kept low or high while some lengthy work needs that."""

    def __init__(
        self,
        read: Callable[[], float],
        write: Callable[[float], None],
        meanwhile: float,
        does: Callable[[float], bool],
    ) -> None:
        self._read, self._write, self._meanwhile, self._does = read, write, meanwhile, does
        self._before: float | None = None
        self._needed_by: WeakSet[LengthyWork] = WeakSet()

    def need(self, work: LengthyWork) -> None:
        """Change it until the work has ended, unless the value of now does."""
        now = self._read()
        if not self._does(now):
            self._before = now
            self._write(self._meanwhile)
        self._needed_by.add(work)

    def release(self, work: LengthyWork) -> None:
        """Restore it if nothing needs it any more; keep what a program has set since."""
        self._needed_by.discard(work)
        if self._needed_by:
            return
        if self._before is not None and self._read() == self._meanwhile:
            self._write(self._before)
        self._before = None


def _turn() -> _Setting:
    """Return how long a thread keeps the GIL that another one wants."""
    return _Setting(
        sys.getswitchinterval, sys.setswitchinterval, TURN, lambda seconds: seconds <= TURN
    )


def _threshold(generation: int) -> _Setting:
    """Return how many collections of a generation come before one of the next."""

    def write(count: float) -> None:
        young, middle, full = gc.get_threshold()
        if generation == 1:
            middle = int(count)
        else:
            full = int(count)
        gc.set_threshold(young, middle, full)

    return _Setting(
        lambda: gc.get_threshold()[generation], write, NEVER, lambda count: count == NEVER
    )


class _Process:
    """What lengthy work changes in this process."""

    lock = threading.RLock()
    turn, middle, full = _turn(), _threshold(1), _threshold(2)


def begin_lengthy_work(*, temporaries: bool = False) -> LengthyWork:
    """Prevent full collections and long turns until `end_lengthy_work` gets the returned value.

    No object ages meanwhile if the work makes `temporaries`. Such work should not load modules:
    their objects stay, and the collection behind it would visit all of them at once.
    """
    mine = LengthyWork()
    with _Process.lock:
        for setting in (_Process.turn, _Process.full, *[_Process.middle] * temporaries):
            setting.need(mine)
    return mine


def end_lengthy_work(mine: LengthyWork) -> None:
    """Restore the settings that no lengthy work needs any more; keep what a program has set."""
    with _Process.lock:
        for setting in (_Process.middle, _Process.full, _Process.turn):
            setting.release(mine)
