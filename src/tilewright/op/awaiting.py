"""Suspends a coroutine until something calls back, under whichever async library runs it.

The libraries are looked up among the modules that are loaded, never imported: who runs under one
has imported it. anyio runs under one of the two.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any, TypeAlias

Register: TypeAlias = Callable[[Callable[[], None]], None]
"""Takes what is to be called, once, from any thread."""
Suspension: TypeAlias = Generator[Any, Any, None]

LONGEST_TURN = 1e-3
"""Seconds that a task may go on without suspension; others on its loop want their turn."""


class _Thread(threading.local):
    suspended: float = 0.0
    """When a task of this thread's loop was last suspended here."""


_THREAD = _Thread()


def running_library() -> ModuleType | None:
    """Return trio or asyncio, whichever runs the calling task; None: neither."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        return trio
    asyncio = sys.modules.get("asyncio")
    # As `get_running_loop`, which raises where there is none.
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return asyncio
    return None


def current_task() -> Any:
    """Return the task that runs the caller."""
    library = running_library()
    assert library is not None, "only tasks ask"
    return (
        library.current_task() if library.__name__ == "asyncio" else library.lowlevel.current_task()
    )


def suspend_until(register: Register) -> Suspension:
    """Suspend the calling task until what `register` is given has been called."""
    _THREAD.suspended = time.monotonic()
    library = running_library()
    assert library is not None, "the caller has asked before"
    yield from _WAYS[library.__name__][0](library, register)


def give_way(library: ModuleType | None = None) -> Suspension:
    """Let other tasks run, unless this one was suspended recently.

    `library` is the one that runs the task, if the caller knows it.
    """
    library = library or running_library()
    assert library is not None, "the caller has asked before"
    now = time.monotonic()
    if library.__name__ == "trio" or now - _THREAD.suspended > LONGEST_TURN:
        _THREAD.suspended = now
        yield from _WAYS[library.__name__][1](library)


def _suspend_in_asyncio(asyncio: ModuleType, register: Register) -> Suspension:
    loop = asyncio.get_running_loop()
    arrival = loop.create_future()

    def arrive() -> None:
        if not arrival.done():  # the waiting may have been cancelled
            arrival.set_result(None)

    register(lambda: _call_in_loop(loop.call_soon_threadsafe, arrive))
    yield from arrival.__await__()


def _give_way_in_asyncio(asyncio: ModuleType) -> Suspension:
    yield from asyncio.sleep(0).__await__()


def _suspend_in_trio(trio: ModuleType, register: Register) -> Suspension:
    task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()
    waiting = [task]

    def arrive() -> None:
        if waiting:  # the waiting may have been cancelled
            trio.lowlevel.reschedule(waiting.pop())

    def stop_waiting(raise_cancel: object) -> Any:
        waiting.clear()
        return trio.lowlevel.Abort.SUCCEEDED

    register(lambda: _call_in_loop(token.run_sync_soon, arrive))
    yield from trio.lowlevel.wait_task_rescheduled(stop_waiting).__await__()


def _give_way_in_trio(trio: ModuleType) -> Suspension:
    yield from trio.lowlevel.checkpoint().__await__()


_WAYS: dict[str, tuple[Callable[[ModuleType, Register], Suspension],
                       Callable[[ModuleType], Suspension]]] = {
    "asyncio": (_suspend_in_asyncio, _give_way_in_asyncio),
    "trio": (_suspend_in_trio, _give_way_in_trio),
}  # fmt: skip
"""By library: how to suspend a task until a call, and how to let others run."""


def _call_in_loop(
    call: Callable[[Callable[[], None]], object], function: Callable[[], None]
) -> None:
    """Schedule a function in a loop, from any thread; a closed loop needs no call."""
    try:
        call(function)
    except RuntimeError:  # asyncio: the loop is closed; trio.RunFinishedError is one too
        return
