"""Keeps threads and forks from tearing LLVM apart: who works with it holds a lock.

Threads do not survive a fork, but the locks they hold inside LLVM do; a child would then wait for
them forever. So a fork waits for the lock, too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar, cast

from .shield import shielded

P = ParamSpec("P")
R = TypeVar("R")

_LOCK = threading.RLock()


def llvm_lock() -> threading.RLock:
    """The lock to hold while LLVM compiles, links or is set up; one thread may take it twice."""
    _hold_at_forks()
    return _LOCK


@cache
def _hold_at_forks() -> None:
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


def made_once(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function be called once for the same arguments, and give all threads that object.

    `functools.cache` alone lets threads compute at once, and drops what all but one of them were
    given: native code that refers to it would be left with nothing.
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
