"""Keeps starts from nesting: while a thread starts an op, its functions may only build ops."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TypeVar, TypeVarTuple

from ..base.errors import SchedulingError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Threads:
    """What each thread is starting. Of most launches native code sees that no thread is.

    What must be so again after an error is done to `names` itself: Python raises an interrupt when
    it enters a function of its own, so that a property could be left with nothing done.
    """

    __slots__ = ("names",)

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    @property
    def starting(self) -> str | None:
        """The name of the op that this thread is starting; None while it waits for something."""
        return self.names.get(get_ident()) if self.names else None

    @starting.setter
    def starting(self, name: str | None) -> None:
        if name is None:
            self.names.pop(get_ident(), None)
        else:
            self.names[get_ident()] = name

    def forget_others(self) -> None:
        """This is a child process, in which no other thread goes on."""
        mine = self.starting
        self.names.clear()
        self.starting = mine


THREAD = _Threads()


def refuse_nested(name: str) -> None:
    """Raise if this thread is inside another op's start, where ops may be built but not run."""
    outer = THREAD.starting
    if outer is not None:
        raise SchedulingError(
            f"`{name}` cannot be run here: `{outer}` is being started on this thread,"
            " and its function may only build ops",
            hint="return the op instead of running it",
        )


def unlocked(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function that may run ops although this thread is starting one."""
    names, me = THREAD.names, get_ident()
    outer = names.pop(me, None)
    try:
        return function(*args)
    finally:
        if outer is not None:
            names[me] = outer
