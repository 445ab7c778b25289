"""Borrow state of one piece of memory: dynamic borrows that the next conflicting use ends.

A shared borrow stands until memory is borrowed exclusively; an exclusive one until any other use.
So a state is an epoch, which each exclusive use moves on, and a slot with the exclusive borrow in
force, which each read clears. Nothing is ever locked: an ended borrow raises when it is *used*.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TypeVar

from ..base.errors import BorrowError
from ..op.place import Spot, here, place_of

T = TypeVar("T")

LOCK = threading.RLock()
"""Guards all borrow state; held across no user, driver or allocator call."""


class Use:
    """What was done to memory, in words that follow "it was", and where."""

    __slots__ = ("spot", "what")

    def __init__(self, what: str, spot: Spot) -> None:
        self.what = what
        self.spot = spot


class Lease:
    """Memory that left our sight, read-only, for as long as this object lives (NumPy holds it)."""

    __slots__ = ("__array_interface__", "__weakref__", "keep", "spot")

    def __init__(self, interface: dict[str, object], keep: object, spot: Spot) -> None:
        self.__array_interface__ = interface
        self.keep = keep
        self.spot = spot


class Ticket:
    """One borrow. A ticket made from another (`parent`) ends with it, not the other way round."""

    __slots__ = ("epoch", "exclusive", "parent", "state", "use")

    def __init__(
        self, state: BorrowState, use: Use, parent: Ticket | None = None, *, shared: bool = False
    ) -> None:
        self.state = state
        self.use = use
        self.exclusive = not shared
        self.parent = parent
        self.epoch = state.epoch

    def ended_by(self) -> Use | None:
        """The use that ended this borrow; None while it stands."""
        state = self.state
        if not self.exclusive:
            return state.last_write if state.epoch != self.epoch else None
        ticket = state.exclusive
        while ticket is not None:
            if ticket is self:
                return None
            ticket = ticket.parent
        # Cleared by a read, or replaced by a later exclusive borrow.
        return state.last_write if state.exclusive or self.epoch != state.epoch else state.last_read

    def reborrow(self, use: Use) -> Ticket:
        """An exclusive borrow out of this one, which gets it back when the new one is done."""
        with LOCK:
            return self.reborrow_locked(use)

    def reborrow_locked(self, use: Use) -> Ticket:
        """As `reborrow`, for who holds the lock."""
        state = self.state
        child = state.exclusive = Ticket(state, use, self)
        state.last_write = use
        return child


class BorrowState:
    """Who may use a piece of memory. States of overlapping foreign memory are neighbours."""

    __slots__ = (
        "__weakref__", "epoch", "exclusive", "last_read", "last_write", "leases", "neighbours",
    )  # fmt: skip

    def __init__(self) -> None:
        self.epoch = 0
        self.exclusive: Ticket | None = None
        self.last_read: Use | None = None
        self.last_write: Use | None = None
        self.leases: tuple[weakref.ref[Lease], ...] = ()
        self.neighbours: tuple[weakref.ref[BorrowState], ...] = ()

    def share(self, use: Use) -> Ticket:
        """Borrow for reading: ends exclusive borrows."""
        with LOCK:
            self.end_exclusive(use)
            return Ticket(self, use, shared=True)

    def exclude(self, use: Use) -> Ticket:
        """Borrow for writing, or take over: ends every other borrow."""
        with LOCK:
            for state in self._group():
                state.epoch += 1
                state.exclusive = None
                state.last_write = use
            self.exclusive = Ticket(self, use)
            return self.exclusive

    def end_exclusive(self, use: Use) -> None:
        """A read: exclusive borrows end. For who holds the lock."""
        for state in self._group():
            if state.exclusive is not None:
                state.exclusive = None
                state.last_read = use

    def lease(self, lease: Lease) -> None:
        """Note that memory has left our sight until `lease` is collected."""
        with LOCK:
            self.leases = (*_alive(self.leases), weakref.ref(lease))

    def live_lease(self) -> Use | None:
        """Where memory that is still out of sight was handed out, here or on overlapping memory.

        Not the lease itself: a traceback would keep it alive.
        """
        with LOCK:
            for state in self._group():
                state.leases = _alive(state.leases)
                for ref in state.leases:
                    if (lease := ref()) is not None:
                        return Use("handed out", lease.spot)
        return None

    def meet(self, other: BorrowState) -> None:
        """Make two states neighbours: what is done to one is done to both."""
        with LOCK:
            self.neighbours = (*_alive(self.neighbours), weakref.ref(other))
            other.neighbours = (*_alive(other.neighbours), weakref.ref(self))

    def _group(self) -> Sequence[BorrowState]:
        """This state and its neighbours. For who holds the lock."""
        if not self.neighbours:
            return (self,)
        self.neighbours = _alive(self.neighbours)
        return [self, *[state for ref in self.neighbours if (state := ref()) is not None]]


def _alive(refs: tuple[weakref.ref[T], ...]) -> tuple[weakref.ref[T], ...]:
    return tuple([ref for ref in refs if ref() is not None])


def refuse_ended(ticket: Ticket, op: str, thing: str) -> None:
    """Raise if an op's borrow has ended, naming where it was taken and what ended it."""
    ender = ticket.ended_by()
    if ender is None:
        return
    kind = "exclusive" if ticket.exclusive else "shared"
    raise BorrowError(
        f"`{op}` cannot run: its {kind} borrow of {thing} has ended",
        places=(
            ("taken", place_of(ticket.use.spot)),
            (f"ended by (it was {ender.what})", place_of(ender.spot)),
        ),
        hint="run the op before using the tensor in a conflicting way, or build it again",
    )


def refuse_leased(state: BorrowState, op: str, thing: str) -> None:
    """Raise if memory that is about to be written can be seen from outside."""
    lease = state.live_lease()
    if lease is not None:
        raise BorrowError(
            f"`{op}` would write {thing} while a NumPy view of it is alive",
            places=(("here", place_of(here())), ("view", place_of(lease.spot))),
            hint="use .to_numpy() for a copy, or delete the view"
            " (in a notebook, Out[...] may hold it)",
        )
