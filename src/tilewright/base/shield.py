"""Shield steps from signals and forks that would interrupt them."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

# -------------------------------------------------------------------------------------------------
# Signals: their handlers run before or after a shielded step, never in the middle.
#
# Python runs signal handlers on its main thread, wherever that enters or leaves a function, and
# what they raise (Ctrl-C: KeyboardInterrupt) is raised there. Work that was noted but not yet
# enqueued would be lost, and an error during error handling cannot be handled. So such a step is
# `shielded`: meanwhile the interpreter believes that no thread is the main one, and defers
# handlers. `lifted` and `listen` are for waiting inside of a step, which users may want to
# interrupt. A step after which an unshared result is returned is `concluded`: its caller gets the
# result before any handler runs.
#
# The word in which the interpreter stores its main thread is located once and tested; if it is not
# found, nothing is shielded.
from .system import at_fork

P = ParamSpec("P")
R = TypeVar("R")

_SEARCHED = 128
"""Words of the interpreter's state that are looked through; there are thousands."""
_NOBODY = 0
"""The main thread, while there is a shield."""

_check_signals: Callable[[], int] = ctypes.PYFUNCTYPE(ctypes.c_int)(
    ("PyErr_CheckSignals", ctypes.pythonapi)
)
"""Runs the handlers of signals that have come, on the main thread; raises what they raise."""

_add_pending_call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(
    ("Py_AddPendingCall", ctypes.pythonapi)
)


class _Handlers:
    """The handlers of signals that have come."""

    __slots__ = ()

    due = property(
        partial(_add_pending_call, ctypes.cast(_check_signals, ctypes.c_void_p)),  # type: ignore[arg-type]
        doc="""Asking has the main thread run them where it enters a function or comes back from one
        next. A step under a shield may have put the mark out that they wait. No handler runs behind
        an attribute, as one does behind a call.""",
    )


_HANDLERS = _Handlers()

_UNKNOWN = ctypes.c_ulong(_NOBODY)

LISTENER: ctypes.Array[ctypes.c_int64] = (ctypes.c_int64 * 3)(0, ctypes.addressof(_UNKNOWN), 0)
"""What native code knows of the main thread, which runs the handlers of signals: its number, where
the interpreter notes that, and whether native code has it run them just now."""


class _Here(threading.local):
    """The word that each thread writes to be shielded; it has an effect in the main thread only."""

    def __init__(self) -> None:
        self.find()

    def find(self) -> None:
        """Find the word of the calling thread, and its value without a shield."""
        is_main = threading.current_thread() is threading.main_thread()
        found = _word_of_main_thread() if is_main else None
        if found is None:
            self.word, self.unshielded = ctypes.c_ulong(_NOBODY), _NOBODY
        else:
            self.word, self.unshielded = found, threading.get_ident()
            LISTENER[:] = [threading.get_ident(), ctypes.addressof(found), 0]


def _word_of_main_thread() -> ctypes.c_ulong | None:
    """Return the address where the interpreter stores its main thread; call it there."""
    try:
        state = ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")
    except ValueError:
        return None
    begin, size = ctypes.addressof(state), ctypes.sizeof(ctypes.c_ulong)
    words = [ctypes.c_ulong.from_address(begin + size * i) for i in range(_SEARCHED)]
    me = threading.get_ident()
    return next((word for word in words if word.value == me and _decides(word)), None)


def _decides(word: Any) -> bool:
    """Return whether Python identifies the main thread by this word."""
    before, word.value = word.value, _NOBODY
    try:
        # It asks that first, and then rejects the number.
        signal.signal(0, signal.SIG_DFL)
    except ValueError as error:
        return "main thread" in str(error)
    finally:
        word.value = before
    return False


HERE = _Here()
"""Of the calling thread. `HERE.word.value = 0` calls nothing, so that a signal's error cannot come
before it: that is how a step is shielded which handles one."""


@cache
def _find_in_children() -> None:
    """Update the main thread in a child process: it is the thread that forked."""
    at_fork(after_in_child=HERE.find)


def shielded(function: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
    """Call a function during which no handler of a signal runs; those that wait run behind it.

    It must be short, or `listen`.
    """
    _find_in_children()
    word = HERE.word
    before = word.value
    try:
        word.value = _NOBODY
        return function(*args, **named)
    finally:
        word.value = before
        if before:
            _check_signals()


def concluded(function: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
    """Call a function as `shielded` does, and run no handler before the caller has returned.

    They must do so next, and call nothing.
    """
    _find_in_children()
    word = HERE.word
    before = word.value
    try:
        word.value = _NOBODY
        return function(*args, **named)
    finally:
        word.value = before
        if before:
            _ = _HANDLERS.due


def lifted(function: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
    """Call a function that takes its time, as if there were no shield."""
    word, whose = HERE.word, HERE.unshielded
    before = word.value
    try:
        word.value = whose
        if whose:
            _check_signals()
        return function(*args, **named)
    finally:
        word.value = before


def listen() -> None:
    """Run the handlers of pending signals, whose exceptions propagate from here."""
    word, whose = HERE.word, HERE.unshielded
    before = word.value
    if before != whose:
        try:
            word.value = whose
            _check_signals()
        finally:
            word.value = before


# -------------------------------------------------------------------------------------------------
# Forks: a lock protects LLVM.
#
# Threads do not survive a fork, but the locks they hold inside LLVM do, and a child would wait for
# them forever. So a fork waits for the lock, too.

_LOCK = threading.RLock()


def llvm_lock() -> threading.RLock:
    """Return the (reentrant) lock to hold while LLVM compiles, links or is set up."""
    _hold_at_forks()
    return _LOCK


@cache
def _hold_at_forks() -> None:
    at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def made_once(function: Callable[P, R]) -> Callable[P, R]:
    """Cache a function such that all threads get the one object of its only call.

    `functools.cache` alone lets threads compute at once, and drops all results but one: native code
    that refers to a dropped one would refer to freed memory.
    """
    made: dict[tuple[object, ...], R] = {}

    @wraps(function)
    def make(*args: P.args, **named: P.kwargs) -> R:
        key = (*args, *named.items())
        with llvm_lock():
            if key not in made:
                made[key] = shielded(function, *args, **named)
            return made[key]

    return cast("Callable[P, R]", cache(make))
