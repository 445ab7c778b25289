"""Who owns a tensor's memory: handles that can be taken over, and how they get it back.

The current owner holds a `Title`; a handle that was taken over remembers it weakly. Where the title
is gone without its owner's work ever having run, or was given up after a refusal or failure, the
handle has its tensor back. Once work of the new owner has run, the old handle keeps no memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from .._core import Handle as NativeHandle
from .._core import Title as NativeTitle
from .._core import borrow_exclusive, take_over, undo_lost
from ..base.errors import BorrowError
from ..base.messages import summary
from ..base.showing import Listed
from ..op.nesting import refuse_reading
from ..op.place import Location, here, place_of
from .borrow import LOCK, Ticket, Use
from .lease import Act, refuse_leased
from .region import Region
from .storage import Storage

if TYPE_CHECKING:
    from ..op.context import ExecutionContext
    from ..op.settling import Undo


class Title(NativeTitle):
    """Ownership of a tensor, held by its present owner."""

    __slots__ = ()

    def spend(self) -> None:
        """Note that the new owner's work has run: earlier handles keep the description only."""
        self.given_up = False
        former, self.former = self.former, []
        for ref in former:
            if (handle := ref()) is not None:
                handle.lose_for_good()

    def give_up(self) -> None:
        """Note that the new owner's work was refused or failed: the tensor returns."""
        self.given_up = bool(self.former)


class Unspent:
    """A tensor that work has used whose fate is not known yet: more follows, which may fail.

    Does not keep it: what is dropped before goes back to its former handle, unless all goes well.
    """

    __slots__ = ("_former", "_shared", "_spends", "_title")

    def __init__(self, title: Title, *, spends: bool, shared: bool) -> None:
        self._title = weakref.ref(title)
        self._former = title.former
        self._spends = spends
        self._shared = shared
        """Whether several may own it, from whom it is not taken back while they live."""

    def __call__(self, failed: bool) -> None:
        """Settle the move: the tensor belongs to its new owner, or returns after a failure."""
        title = self._title()
        if title is not None and title.revoked:
            return  # it went back before
        if failed:
            if title is not None and not self._shared:
                title.give_up()
        elif self._spends:
            if title is not None:
                title.spend()
            for ref in self._former:
                if (handle := ref()) is not None:
                    handle.lose_for_good(self._former)

    def undo(self) -> Undo:
        """Return how to give the tensor back after success, if no caller got the result."""
        former = (ref() for ref in self._former)
        states = [(handle, handle.moving()) for handle in former if handle is not None]
        return partial(_return_to_former, self._title, self._former, states)


def _return_to_former(
    owner: weakref.ref[Title],
    former: list[weakref.ref[Handle]],
    states: list[tuple[Handle, tuple[Moved | None, Region]]],
) -> None:
    """Return a tensor to those who gave it away, in the states that they had then."""
    for handle, state in states:
        handle.restore(state)
    title = owner()
    if title is not None:
        title.former = former
        title.give_up()


class Moved(NamedTuple):
    """Where a tensor went: what took it over, where, what to do instead.

    `title` is None once the new owner has used it.
    """

    what: str
    location: Location
    hint: str
    title: weakref.ref[Title] | None
    chain: list[weakref.ref[Handle]]
    """Who gave the tensor away, before and after this handle."""
    number: int
    """Which of them this handle is."""

    def is_undone(self) -> bool:
        """Return whether the tensor has come back, as all later owners are gone or gave it up."""
        if self.title is None:
            return False
        title = self.title()
        gone = title is None or title.given_up
        return gone and all(ref() is None for ref in self.chain[self.number + 1 :])


class Ours(Listed):
    """Base of what has or borrows memory: never taken for another library's array, never copied."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: its memory has one owner;"
            " to_numpy() gives the values, dup() another tensor"
        )


class Handle(NativeHandle, Ours):
    """A tensor as a variable holds it: a region, perhaps moved away, perhaps only borrowed."""

    __slots__ = ()

    rooted: bool = True
    """Whether work on it must run on its device."""

    region: Region
    _title: Title | None
    _view: Ticket | None
    ticket: Ticket | None
    """The borrow that a view or a part stands for, for launchers: `_view`."""
    _lender: Handle | None
    _moved: Moved | None
    _owners: Callable[[], int] | None

    @property
    def was_handed_over(self) -> bool:
        """Whether this handle took the tensor over from another one, and nothing has run since."""
        return self._title is not None and bool(self._title.former)

    def check_usable(self) -> None:
        """Raise if this tensor was moved away, or is a view whose borrow has ended."""
        if self.is_usable:
            return
        if self._moved is not None:
            undo_lost()  # it may have been taken for work whose result was lost a moment ago
            self._come_back(self._moved)
        if self._title is not None and self._title.revoked:
            raise BorrowError(
                "this tensor was returned to its former owner",
                places=(("here", place_of(here())),),
                hint="the op that took it was rejected or failed; use the former variable",
            )
        if self._view is not None and (ender := self._view.ended_by()) is not None:
            thing = "part" if self._view.exclusive else "view"
            raise BorrowError(
                f"this {thing} cannot be used any more: its borrow has ended",
                places=(
                    ("here", place_of(here())),
                    ("taken", place_of(self._view.use.location)),
                    (f"ended by (it was {ender})", place_of(ender.location)),
                ),
                hint=f"take the {thing} again",
            )

    def check_readable(self, reader: str) -> None:
        """Raise if the host cannot read it: no memory, unwritten memory, or a capture in progress
        here.
        """
        refuse_reading(reader, self)
        refuse_unreadable(self.region, reader, self)

    def check_writable(self) -> None:
        """Raise if this tensor cannot be written."""
        self.check_usable()
        if self._view is not None and not self._view.exclusive:
            raise BorrowError(
                "a view cannot be written or moved: it is a shared borrow of its tensor",
                places=(("here", place_of(here())), ("taken", place_of(self._view.use.location))),
                hint="use the tensor itself; a part of it is written through"
                " z.borrow_mut()[...].partition(tile_shape)",
            )
        if self._owners is not None:
            raise BorrowError(
                "this tensor is the content of an Arc and cannot be written or moved",
                places=(("here", place_of(here())),),
                hint="call try_partition(tile_shape) on the Arc's only handle",
            )
        if self.region.storage.readonly:
            raise BorrowError(
                "this tensor is read-only: it aliases an array that must not be written",
                places=(("here", place_of(here())),),
                hint="copy the array: tw.from_numpy(a)",
            )

    def check_takeable(self, what: str) -> None:
        """Raise if this tensor cannot be moved."""
        self.check_writable()
        if self._view is not None:
            raise BorrowError(
                "a part cannot be moved: it is borrowed from its tensor",
                places=(("here", place_of(here())), ("taken", place_of(self._view.use.location))),
                hint="move the whole tensor, or write the part in place",
            )
        self.refuse_kept(what)

    def refuse_kept(self, what: str) -> None:
        """Raise if the memory must stay where it is: others see it, or a graph will write it."""
        storage = self.region.storage
        if storage.state.leases or storage.state.neighbours:
            refuse_leased(storage.state, Act.TAKE, what, self)
        if storage.graphs:
            refuse_captured(storage, what, summary(self))

    def borrow_shared(self, what: str, reader: str = "an op", part: Region | None = None) -> Ticket:
        """Borrow for reading, all of it or a part, until the next exclusive use."""
        region = self.region if part is None else part
        state = region.storage.state
        with LOCK:
            self.check_usable()
            if state.leases or state.neighbours:
                refuse_leased(state, Act.READ, reader, self, region)
            return state.share(Use(what, here()), region.part, self._view)

    def borrow_exclusive(self, what: str) -> Ticket:
        """Borrow for writing, until the next use of any kind; for a method of the tensor."""
        ticket = borrow_exclusive(self, what, 2)
        if ticket is not None:
            return ticket
        region = self.region
        with LOCK:
            self.check_writable()
            use = Use(what, here(2))
            return region.storage.state.exclude(use, region.part, self._view)

    def take_over(self, what: str, hint: str) -> tuple[Title, Ticket]:
        """Move the tensor out of this handle; the new owner must keep the title."""
        taken = take_over(self, what, hint, 1)
        if taken is not None:
            return taken
        with LOCK:
            self.check_takeable(what)
            return self.hand_over(what, hint)

    def hand_over(self, what: str, hint: str, along: Iterable[Handle] = ()) -> tuple[Title, Ticket]:
        """Do as `take_over`, where the caller has checked the move and holds the lock.

        If the tensor had several forms, it moves out of all of them.
        """
        location = here()
        title = self._title or Title()
        title.given_up = False  # who gives it away has it
        chain, known = title.former, weakref.ref(title)
        for handle in (*along, self):
            handle._title = None
            handle._moved = Moved(what, location, hint, known, chain, len(chain))
            chain.append(weakref.ref(handle))
        region = self.region
        use = Use(f"consumed by {what}", location)
        return title, region.storage.state.exclude(use, region.part)

    def settle(
        self, *, failed: bool, within: ExecutionContext | None = None, spends: bool = True
    ) -> None:
        """Settle work that was given this tensor, and has run, was refused or failed.

        Work `within` more, which may still fail, is settled with that; some passes the tensor on
        and does not use it up (`spends`).
        """
        if self._lender is not None:
            self._lender.settle(failed=failed, within=within, spends=spends)
        title = self._title
        if title is None or not title.former:
            return
        if failed:
            title.give_up()
        elif within is not None and title.has_former:
            shared = self._owners is not None
            within.settle_later(Unspent(title, spends=spends, shared=shared))
        elif spends:
            title.spend()

    def lose_for_good(self, chain: list[weakref.ref[Handle]] | None = None) -> None:
        """Keep the description only; the tensor belongs to somebody else.

        If it was moved on in this chain, where one is named: it may have come back since.
        """
        if self._moved is not None and (chain is None or self._moved.chain is chain):
            self._moved = self._moved._replace(title=None)
            self.region = self.region.without_memory()

    def moving(self) -> tuple[Moved | None, Region]:
        """Return the new owner and the memory, for `lose_for_good`."""
        return self._moved, self.region

    def restore(self, state: tuple[Moved | None, Region]) -> None:
        """Undo that it was lost for good, if it was."""
        if self._moved is not None and self._moved.title is None:
            self._moved, self.region = state

    def mark_shared(self, owners: Callable[[], int]) -> None:
        """Mark this handle as the content of an Arc, which refuses writes."""
        self._owners = owners

    def owners(self) -> int:
        """Return the number of owners of the tensor."""
        return 1 if self._owners is None else self._owners()

    @property
    def moved(self) -> Moved | None:
        """Where the tensor went; None while it is here."""
        moved = self._moved
        return None if moved is None or moved.is_undone() else moved

    @property
    def state(self) -> str:
        """One of "", "moved", "view", "part", "meta" or "uninitialized"; never raises."""
        if self.moved is not None:
            return "moved"
        if self.region.storage.is_meta:
            return "meta"
        if not self.region.is_written:
            return "uninitialized"
        if self._view is None:
            return ""
        return "part" if self._view.exclusive else "view"

    def _come_back(self, moved: Moved) -> None:
        if not moved.is_undone():
            raise BorrowError(
                f"this tensor was moved: consumed by {moved.what}",
                places=(("here", place_of(here())), ("moved", place_of(moved.location))),
                hint=moved.hint,
            )
        assert moved.title is not None
        if (old := moved.title()) is not None:
            old.revoked = True
        self._moved, self._title = None, Title()
        self._title.former = moved.chain[: moved.number]
        for ref in self._title.former:
            if (handle := ref()) is not None:
                handle.follow(self._title)
        region = self.region
        use = Use("given back to the variable it came from", here())
        region.storage.state.exclude(use, region.part)

    def follow(self, title: Title) -> None:
        """Record the next owner of what this handle gave away."""
        if self._moved is not None:
            self._moved = self._moved._replace(title=weakref.ref(title), chain=title.former)


def refuse_captured(storage: Storage, what: str, thing: str) -> None:
    """Raise if a graph will write memory that is about to be given away."""
    graphs = storage.writers_to_come()
    if graphs:
        raise BorrowError(
            f"{what} would move {thing}, which the graph of `{graphs[0].name}` writes",
            places=(("here", place_of(here())),),
            hint="read it or copy it (t.dup()); or drop the graph first",
        )


def refuse_unreadable(region: Region, reader: str, thing: object) -> None:
    """Raise if a region has nothing to read."""
    if region.storage.is_meta and region.storage.nbytes:
        raise BorrowError(
            f"{reader} would use {summary(thing)}, which is a description without memory",
            places=(("here", place_of(here())),),
            hint="tw.meta(...) is for compiling only; make a tensor with memory to run",
        )
    if not region.is_written:
        raise BorrowError(
            f"{reader} would read {summary(thing)}, which nothing has written",
            places=(("here", place_of(here())),),
            hint="tw.empty(...) is uninitialized: a kernel must write it first;"
            " or use tw.zeros(...)",
        )
