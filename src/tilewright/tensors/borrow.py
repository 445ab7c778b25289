"""Borrow state of one piece of memory: dynamic borrows that the next conflicting use ends.

A shared borrow stands until its memory is borrowed exclusively; an exclusive one until any other
use, except those that come out of it. Borrows of parts end when a use meets them. Nothing is ever
locked: an ended borrow raises when it is *used*.

Most borrows are of all of the memory, and cheap: a shared one is no more than the epoch, which each
exclusive use moves on; of exclusive ones there is at most one with those it came out of. Borrows of
parts are listed, weakly, and ended one by one.
"""

from __future__ import annotations

import os
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from .._core import slot_offset
from ..base.errors import BorrowError
from ..base.forking import made_once
from ..devices.cpu.layouts import holds_of
from ..devices.stub.words import BORROW_WORDS, STORAGE_WORDS, Look, StorageWord, Words, new_words
from ..op.nesting import THREAD
from ..op.place import Spot, place_of
from .extent import Extent

if TYPE_CHECKING:
    from .lease import Lease

T = TypeVar("T")

LOCK = threading.RLock()
"""Guards all borrow state; held across no user, driver or allocator call."""

# Plain ints: each launch needs them.
EPOCH, LOOK, OWNER = int(StorageWord.EPOCH), int(StorageWord.LOOK), int(StorageWord.OWNER)


@cache
def hold_at_forks() -> None:
    """Let no thread be inside the lock when the process forks: the child would wait for it forever.

    To be called where memory is first known; the first call is enough.
    """
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )
    os.register_at_fork(after_in_child=THREAD.forget_others)


_MAIN, _MAIN_NAME = threading.main_thread().ident, threading.main_thread().name


class _Use(NamedTuple):
    what: str
    spot: Spot
    thread: str


class Use(_Use):
    """What was done to memory, in words that follow "it was", where, and by which thread.

    A tuple, since native code makes one at each launch.
    """

    __slots__ = ()

    def __new__(cls, what: str, spot: Spot) -> Self:
        """By this thread."""
        # The name of most is known: asking for it takes longer than the rest.
        thread = _MAIN_NAME if threading.get_ident() == _MAIN else _thread()
        return super().__new__(cls, what, spot, thread)

    def __str__(self) -> str:
        thread = self.thread
        return self.what if thread == _thread() else f"{self.what} in the thread {thread!r}"


def _thread() -> str:
    return threading.current_thread().name


_FOR_NATIVE_CODE = (LOCK.acquire, LOCK.release, Use, _MAIN_NAME, _thread)


@made_once
def borrow_words() -> Words:
    """What native code needs to borrow, as `BorrowWord` says."""
    acquire, release, use, main, thread = map(id, _FOR_NATIVE_CODE)
    words = new_words(BORROW_WORDS)
    words[:] = [
        acquire, release, use, _MAIN or 0, main, thread, holds_of(LOCK),
        slot_offset(BorrowState, "last_write"),
    ]  # fmt: skip
    return words


class Ticket:
    """One borrow, of an extent or (None) of all of the memory.

    One that came out of another (`parent`) does not end it by being used.
    """

    __slots__ = (
        "__weakref__", "by_epoch", "ended", "epoch", "exclusive", "extent", "parent", "state",
        "use",
    )  # fmt: skip

    def __init__(
        self,
        state: BorrowState,
        use: Use,
        extent: Extent | None = None,
        parent: Ticket | None = None,
        *,
        exclusive: bool = True,
        by_epoch: bool = False,
    ) -> None:
        self.state = state
        self.use = use
        self.extent = extent
        self.parent = parent
        self.exclusive = exclusive
        self.by_epoch = by_epoch or (not exclusive and extent is None)
        """Whether it stands while the epoch is the same: shared borrows of all of the memory, and
        those of launches that write all of it, which stand no longer than their parent."""
        self.ended: Use | None = None
        """What ended it, where that was noted."""
        self.epoch = state.words[EPOCH]

    def ended_by(self) -> Use | None:
        """The use that ended this borrow; None while it stands."""
        if not self.by_epoch:
            return self.ended
        state, parent = self.state, self.parent
        if self.exclusive and parent is not None and parent.ended is not None:
            return parent.ended
        return state.last_write if state.epoch != self.epoch else None

    def comes_from(self, other: Ticket) -> bool:
        """Whether it is the other borrow, or came out of it, directly or not."""
        ticket: Ticket | None = self
        while ticket is not None and ticket is not other:
            ticket = ticket.parent
        return ticket is not None

    def reborrow(self, use: Use, extent: Extent | None = None) -> Ticket:
        """An exclusive borrow out of this one, of all it is of or of a part.

        This one gets it back when the new one is done. For who holds the lock.
        """
        return self.state.reborrow(self, use, extent)

    def hand_back(self) -> None:
        """It will not be used any more: the borrow that it came out of stands again, if any."""
        state = self.state
        with LOCK:
            if state.exclusive is self:
                state.exclusive = self.parent


def mark(words: Words, what: Look, is_so: bool) -> None:
    """Tell launches whether something about memory needs a closer look."""
    look = words[LOOK]
    now = look | what if is_so else look & ~what
    if now != look:
        words[LOOK] = now


class Neighbour(NamedTuple):
    """A state of memory that overlaps another's, and all of that memory."""

    state: weakref.ref[BorrowState]
    extent: Extent


class BorrowState:
    """Who may use a piece of memory. States of overlapping foreign memory are neighbours."""

    __slots__ = (
        "__weakref__", "_exclusive", "_leases", "_neighbours", "_readers", "_writers", "extent",
        "last_write", "words",
    )  # fmt: skip

    def __init__(self, words: Words | None = None) -> None:
        self.words = words or new_words(STORAGE_WORDS)
        """The record of the memory, which tells launches whether all of this is empty."""
        self._exclusive: Ticket | None = None
        self._writers: list[weakref.ref[Ticket]] = []
        self._leases: tuple[Lease, ...] = ()
        self._neighbours: tuple[Neighbour, ...] = ()
        self._readers: list[weakref.ref[Ticket]] = []
        self.last_write: Use | None = None
        """Who last borrowed it exclusively; native code writes it too."""
        self.extent: Extent | None = None
        """All of the memory; known where there are neighbours."""

    @property
    def epoch(self) -> int:
        """How often the memory was borrowed exclusively."""
        return self.words[EPOCH]

    @property
    def exclusive(self) -> Ticket | None:
        """The latest exclusive borrow of all of the memory that stands."""
        return self._exclusive

    @exclusive.setter
    def exclusive(self, ticket: Ticket | None) -> None:
        self._exclusive = ticket
        self.words[OWNER] = 0 if ticket is None else id(ticket)
        mark(self.words, Look.EXCLUSIVE, ticket is not None)

    @property
    def writers(self) -> list[weakref.ref[Ticket]]:
        """Exclusive borrows of parts; some may have ended."""
        return self._writers

    @writers.setter
    def writers(self, tickets: list[weakref.ref[Ticket]]) -> None:
        self._writers = tickets
        mark(self.words, Look.WRITERS, bool(tickets))

    @property
    def readers(self) -> list[weakref.ref[Ticket]]:
        """Shared borrows of parts; some may have ended."""
        return self._readers

    @readers.setter
    def readers(self, tickets: list[weakref.ref[Ticket]]) -> None:
        self._readers = tickets
        mark(self.words, Look.READERS, bool(tickets))

    @property
    def leases(self) -> tuple[Lease, ...]:
        """Who sees the memory; some may be gone."""
        return self._leases

    @leases.setter
    def leases(self, leases: tuple[Lease, ...]) -> None:
        self._leases = leases
        mark(self.words, Look.LEASES, bool(leases))

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """The states of memory that overlaps it; some may be gone."""
        return self._neighbours

    @neighbours.setter
    def neighbours(self, neighbours: tuple[Neighbour, ...]) -> None:
        self._neighbours = neighbours
        mark(self.words, Look.NEIGHBOURS, bool(neighbours))

    def share(self, use: Use, extent: Extent | None = None, parent: Ticket | None = None) -> Ticket:
        """Borrow for reading: ends exclusive borrows, but for those the parent came out of."""
        with LOCK:
            return self.share_locked(use, extent, parent)

    def share_locked(
        self, use: Use, extent: Extent | None = None, parent: Ticket | None = None
    ) -> Ticket:
        """As `share`, for who holds the lock."""
        ticket = Ticket(self, use, extent, parent, exclusive=False)
        if extent is None:
            self._use(use, None, parent, writes=False)
        elif extent.start < extent.end:
            self._use(use, extent, parent, writes=False)
            self.readers = _with(ticket, self.readers)
        return ticket

    def exclude(
        self, use: Use, extent: Extent | None = None, parent: Ticket | None = None
    ) -> Ticket:
        """Borrow for writing, or take over: ends all others, but for those the parent came from."""
        with LOCK:
            return self.exclude_locked(use, extent, parent)

    def exclude_locked(
        self, use: Use, extent: Extent | None = None, parent: Ticket | None = None
    ) -> Ticket:
        """As `exclude`, for who holds the lock."""
        ticket = Ticket(self, use, extent, parent)
        if extent is None:
            self._use(use, None, parent, writes=True, heir=ticket)
        elif extent.start < extent.end:
            self._use(use, extent, parent, writes=True)
            self.writers = _with(ticket, self.writers)
        return ticket

    def reborrow(self, parent: Ticket, use: Use, extent: Extent | None = None) -> Ticket:
        """As `Ticket.reborrow`, for who holds the lock."""
        return self.exclude_locked(use, parent.extent if extent is None else extent, parent)

    def rewrite(self, parent: Ticket, use: Use) -> Ticket:
        """As `reborrow`, for a launch, out of whose borrow nothing comes. For who holds the lock.

        One of all of the memory is known by its epoch: native code makes such borrows too.
        """
        if parent.extent is not None:
            return self.reborrow(parent, use)
        self._use(use, None, parent, writes=True)
        return Ticket(self, use, None, parent, by_epoch=True)

    def write_all(self, use: Use) -> None:
        """All of the memory is written: all borrows end. For who holds the lock."""
        self._use(use, None, None, writes=True)

    def read_all(self, use: Use, parent: Ticket | None = None) -> None:
        """All of the memory is read: exclusive borrows end. For who holds the lock."""
        self._use(use, None, parent, writes=False)

    def lease(self, lent: Lease) -> None:
        """Note that memory has left our sight."""
        with LOCK:
            self.leases = (*_current(self.leases), lent)

    def live_leases(self) -> list[Lease]:
        """What is still out of sight, of this memory or of some that overlaps it."""
        if not self.leases and not self.neighbours:
            return []
        with LOCK:
            states = [self, *[state for near in self.neighbours if (state := near.state())]]
            for state in states:
                state.leases = _current(state.leases)
            return [lent for state in states for lent in state.leases]

    def meet(self, other: BorrowState, mine: Extent, its: Extent) -> None:
        """Make two states neighbours: uses of what their memory has in common are uses of both."""
        with LOCK:
            self.extent, other.extent = mine, its
            self.neighbours = (*_alive(self.neighbours), Neighbour(weakref.ref(other), its))
            other.neighbours = (*_alive(other.neighbours), Neighbour(weakref.ref(self), mine))

    def _use(
        self, use: Use, extent: Extent | None, spare: Ticket | None, *, writes: bool,
        heir: Ticket | None = None,
    ) -> None:  # fmt: skip
        """End what a use conflicts with, here and next door; all of this is the heir's then."""
        self._end(use, extent, spare, writes=writes, heir=heir)
        if not self._neighbours:
            return
        self.neighbours = _alive(self.neighbours)
        used = self.extent if extent is None else extent
        for near in self.neighbours:
            state = near.state()
            if state is not None and used is not None and used.meets(near.extent):
                state._end(use, used, spare, writes=writes)

    def _end(
        self, use: Use, extent: Extent | None, spare: Ticket | None, *, writes: bool,
        heir: Ticket | None = None,
    ) -> None:  # fmt: skip
        ticket = self._exclusive
        while ticket is not None and (spare is None or not spare.comes_from(ticket)):
            ticket.ended = use
            ticket = ticket.parent
        if heir is not None or ticket is not self._exclusive:
            self.exclusive = heir or ticket
        if self._writers:
            self.writers = _without_ended(self._writers, use, extent, spare)
        if writes:
            self.words[EPOCH] += 1
            self.last_write = use
            if self._readers:
                self.readers = _without_ended(self._readers, use, extent, spare)


def _with(ticket: Ticket, tickets: list[weakref.ref[Ticket]]) -> list[weakref.ref[Ticket]]:
    count = len(tickets)
    if count >= 16 and count & (count - 1) == 0:  # now and then, so that the dead do not pile up
        tickets = [ref for ref in tickets if (found := ref()) is not None and found.ended is None]
    tickets.append(weakref.ref(ticket))
    return tickets


def _without_ended(
    tickets: list[weakref.ref[Ticket]], use: Use, extent: Extent | None, spare: Ticket | None
) -> list[weakref.ref[Ticket]]:
    """End those that a use conflicts with; gives the others."""
    kept: list[weakref.ref[Ticket]] = []
    for ref in tickets:
        ticket = ref()
        if ticket is None or ticket.ended is not None:
            continue
        assert ticket.extent is not None
        apart = extent is not None and not extent.meets(ticket.extent)
        if apart or (spare is not None and spare.comes_from(ticket)):
            kept.append(ref)
        else:
            ticket.ended = use
    return kept


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
        f"`{op}` cannot run: its {kind} borrow of {thing} has ended",
        places=(
            ("taken", place_of(ticket.use.spot)),
            (f"ended by (it was {ender})", place_of(ender.spot)),
        ),
        hint="run the op before using the tensor in a conflicting way, or build it again",
    )
