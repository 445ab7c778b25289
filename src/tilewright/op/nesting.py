"""Keeps starts from nesting: while a thread starts an op, its functions may only build ops."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, Protocol, TypeVar, TypeVarTuple

from ..base.errors import DeviceError, SchedulingError
from ..base.messages import summary
from .place import here, place_of

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Threads:
    """What each thread is starting, in Python; the core reads this, too.

    What must be restored after an error is a direct operation on `names`: Python raises an
    interrupt when it enters a Python function, so that a property could be left without effect.
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
        """Drop the other threads' state in a child process, where they do not exist."""
        mine = self.starting
        self.names.clear()
        self.starting = mine


THREAD = _Threads()


class Recorder(Protocol):
    """A capture that a thread is in the middle of."""

    @property
    def name(self) -> str:
        """What is captured."""
        ...

    def promises(self, region: Any) -> bool:
        """Return whether the recorded work writes all of a region when the graph runs."""
        ...


RECORDERS: dict[int, Recorder] = {}
"""The captures under way, by thread."""


def refuse_reading(reader: str, thing: object) -> None:
    """Raise if this thread captures work: what that writes is not there before the graph runs."""
    recorder = RECORDERS.get(get_ident()) if RECORDERS else None
    if recorder is not None:
        raise DeviceError(
            f"{reader} cannot read {summary(thing)} here: `{recorder.name}` is being captured, and"
            " what is recorded has not run",
            places=(("here", place_of(here())),),
            hint="read it after graph.launch(), or before the capture; in the graph, a kernel or a"
            " copy reads it",
        )


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
    outer, recorder = names.pop(me, None), RECORDERS.get(me)
    if recorder is not None:
        RECORDERS[me] = _Apart(recorder.name)
    try:
        return function(*args)
    finally:
        if outer is not None:
            names[me] = outer
        if recorder is not None:
            RECORDERS[me] = recorder


class _Apart:
    """A capture, as work sees it that is not part of it: what it will write is not there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def promises(self, region: Any) -> bool:
        """Return False."""
        return False
