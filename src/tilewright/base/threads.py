"""Start threads where they may be refused: a system, a user and a container may have so many."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

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
