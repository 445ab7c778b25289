"""Borrow state of one piece of memory: dynamic borrows that the next conflicting use ends.

A shared borrow stands until its memory is borrowed exclusively; an exclusive one until any other
use, except those that come out of it. Borrows of parts end when a use meets them. Nothing is ever
locked: an ended borrow raises when it is *used*.

The core keeps the state and decides (`native/core/memory_state.hpp`); this explains.
"""

from __future__ import annotations

import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self

from .._core import BorrowLock, new_use, set_borrowing
from .._core import BorrowState as NativeState
from .._core import Ticket as Ticket  # for all who borrow
from ..base.errors import BorrowError
from ..base.messages import summary
from ..base.system import at_fork
from ..op.nesting import THREAD
from ..op.place import Location, place_of
from .extent import Extent

if TYPE_CHECKING:
    from .lease import Lease

LOCK = BorrowLock()
"""Guards all borrow state; held across no user, driver or allocator call."""


@cache
def hold_at_forks() -> None:
    """Hold the lock during forks, so that no child inherits it locked.

    Call it where memory is first used; the first call is enough.
    """
    at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)
    at_fork(after_in_child=THREAD.forget_others)


_MAIN, _MAIN_NAME = threading.main_thread().ident, threading.main_thread().name


class _Use(NamedTuple):
    what: str
    location: Location
    thread: str


class Use(_Use):
    """What was done to memory, as a phrase that follows "it was", where, and by which thread.

    A tuple, since native code makes one at each launch.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __new__(cls, what: str, location: Location) -> Self:
            """Note a use by this thread."""
            ...
    else:
        __new__ = new_use  # by this thread

    def __str__(self) -> str:
        thread = self.thread
        return self.what if thread == _thread() else f"{self.what} in the thread {thread!r}"


def _thread() -> str:
    return threading.current_thread().name


set_borrowing({
    "Use": Use, "main_thread": _MAIN or 0, "main_thread_name": _MAIN_NAME, "thread_name": _thread,
})  # fmt: skip


class Neighbour(NamedTuple):
    """A state of memory that overlaps another's, and all of that memory."""

    state: weakref.ref[BorrowState]
    extent: Extent


class BorrowState(NativeState):
    """Who may use a piece of memory. States of overlapping foreign memory are neighbours."""

    __slots__ = ()

    def lease(self, lent: Lease) -> None:
        """Note that memory has left our sight."""
        with LOCK:
            self.leases = (*_current(self.leases), lent)

    def live_leases(self) -> list[Lease]:
        """Return the live leases of this memory and of memory that overlaps it."""
        if not self.leases and not self.neighbours:
            return []
        with LOCK:
            states = [self, *[state for near in self.neighbours if (state := near.state())]]
            for state in states:
                state.leases = _current(state.leases)
            return [lent for state in states for lent in state.leases]

    def meet(self, other: BorrowState, mine: Extent, its: Extent) -> None:
        """Make two states neighbours: uses of the memory they share are uses of both."""
        with LOCK:
            self.extent, other.extent = mine, its
            self.neighbours = (*_alive(self.neighbours), Neighbour(weakref.ref(other), its))
            other.neighbours = (*_alive(other.neighbours), Neighbour(weakref.ref(self), mine))


def _alive(neighbours: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
    return tuple([near for near in neighbours if near.state() is not None])


def _current(leases: tuple[Lease, ...]) -> tuple[Lease, ...]:
    return tuple([lent for lent in leases if not lent.is_over()])


def refuse_ended(ticket: Ticket, op: str, thing: object) -> None:
    """Raise if an op's borrow has ended, naming where it was taken and what ended it."""
    ender = ticket.ended_by()
    if ender is None:
        return
    kind = "exclusive" if ticket.exclusive else "shared"
    raise BorrowError(
        f"`{op}` cannot run: its {kind} borrow of {summary(thing)} has ended",
        places=(
            ("taken", place_of(ticket.use.location)),
            (f"ended by (it was {ender})", place_of(ender.location)),
        ),
        hint="run the op before using the tensor in a conflicting way, or build it again",
    )
