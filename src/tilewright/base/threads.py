"""Start threads where they may be refused, and keep others running beside lengthy Python code.

A system, a user and a container may have so many threads.
"""

from __future__ import annotations

import _thread
import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakSet

from .shield import shielded

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

P = ParamSpec("P")
R = TypeVar("R")

NO_THREAD = "new thread"
"""What Python says where none can be started, among other words."""


def called_apart(function: Callable[P, None], *args: P.args, **named: P.kwargs) -> bool:
    """Call a function on a separate thread and wait for it; False: there is no thread for it.

    It is for starting threads and keeping count of them. What is raised in the caller, by trace
    functions or other threads, may come between the two, or in the middle of `Thread.start`: a
    thread would be there and not be known, or end at once. It does not reach a thread of which
    Python code knows nothing. Handlers of signals run behind it, as one may fork, and a child would
    wait for a thread that it has not. The function must not raise.
    """
    return shielded(_call_apart, partial(function, *args, **named))


def _call_apart(function: Callable[[], None]) -> bool:
    over = _thread.allocate_lock()

    def call() -> None:
        try:
            function()
        finally:
            over.release()

    over.acquire()
    try:
        _thread.start_new_thread(call, ())
    except RuntimeError:
        return False
    over.acquire()
    return True


class Crew:
    """A pool of threads, made when it is first needed, and anew where it could have no thread."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads, self._name = threads, name
        self._pool: ThreadPoolExecutor | None = None
        """Of which each has a thread, once something was submitted."""

    def take(self, function: Callable[[], object]) -> bool:
        """Have a thread call a function some time; False: there is none."""
        from concurrent.futures import ThreadPoolExecutor

        pool = self._pool or ThreadPoolExecutor(self._threads, self._name)
        try:
            pool.submit(function)
        except RuntimeError as error:
            if NO_THREAD not in str(error):
                raise
            # A pool with threads has taken it: one of them will call it.
            return self._pool is not None
        self._pool = pool
        return True

    def submit(self, function: Callable[P, R], *args: P.args, **named: P.kwargs) -> Future[R]:
        """Have a thread call a function; if there is none, the caller has called it by the end."""
        from concurrent.futures import Future

        future: Future[R] = Future()
        call = partial(_fill, future, partial(function, *args, **named))
        if not self.take(call):
            call()
        return future

    def close(self, *, wait: bool = True) -> None:
        """End the threads, behind what was submitted; without waiting, behind what has begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=not wait)


def _fill(future: Future[Any], function: Callable[[], Any]) -> None:
    """Call a function and note how it ended."""
    try:
        result = function()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


# -------------------------------------------------------------------------------------------------
# Lengthy Python code, such as a compilation, beside which other threads go on.
#
# Three habits of Python would stop an event loop in another thread for long:
#
# - A thread that wants the GIL waits until the switch interval is over, 5 ms by default, each time.
#   Lengthy work shortens it.
# - A full collection visits every object and holds the GIL meanwhile: a tenth of a second in a
#   large program. Allocating hundreds of thousands of objects triggers several of them. Lengthy
#   work defers them; collections of young objects, which are short, go on.
# - An object that outlives two collections counts as old, and a full collection is due once old
#   objects are a quarter more. The intermediate representation of a kernel would age so, and be
#   freed, and leave a full collection to the next allocation. So no object ages while work makes
#   `temporaries`: these are freed young, and the collection behind such work visits what it leaves.

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
