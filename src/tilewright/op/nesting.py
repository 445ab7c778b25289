"""Keeps starts from nesting: while a thread starts an op, its functions may only build ops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from ..base.errors import Error

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Thread(threading.local):
    starting: str | None = None


THREAD = _Thread()
"""The name of the op that this thread is starting; None while it waits for something."""


def refuse_nested(name: str) -> None:
    """Raise if this thread is inside another op's start, where ops may be built but not run."""
    outer = THREAD.starting
    if outer is not None:
        raise Error(
            f"`{name}` cannot be run here: `{outer}` is being started on this thread,"
            " and its function may only build ops",
            hint="return the op instead of running it",
        )


def unlocked(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that may run ops although this thread is starting one."""
    outer = THREAD.starting
    THREAD.starting = None
    try:
        return function(*args)
    finally:
        THREAD.starting = outer
