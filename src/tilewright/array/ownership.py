"""Who owns a tensor's memory: handles that can be taken over, and how they get it back.

The current owner holds a `Title`; a handle that was taken over remembers it weakly. Where the title
is gone without its owner's work ever having run, or was given up after a refusal or failure, the
handle has its tensor back. Once work of the new owner has run, the old handle keeps no memory.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

from ..base.errors import BorrowError
from ..op.place import Spot, here, place_of
from .borrow import Ticket, Use
from .region import Region
from .storage import Storage


class Title:
    """Ownership of a tensor, held by whoever owns it now."""

    __slots__ = ("__weakref__", "former", "given_up", "revoked")

    def __init__(self) -> None:
        self.given_up = False
        """The owner was refused or failed: the handle before it may take the tensor back."""
        self.revoked = False
        """The handle before it did."""
        self.former: list[weakref.ref[Handle]] = []
        """Who gave the tensor away, until work of the owner has run."""

    def leave(self, handle: Handle) -> None:
        """Note that `handle` gave the tensor away."""
        self.former.append(weakref.ref(handle))

    def spend(self) -> None:
        """The owner's work has run: those before keep the description, not the memory."""
        self.given_up = False
        former, self.former = self.former, []
        for ref in former:
            if (handle := ref()) is not None:
                handle.lose_for_good()

    def give_up(self) -> None:
        """The owner's work was refused or failed: let the handle before it have the tensor."""
        self.given_up = bool(self.former)


class Moved(NamedTuple):
    """Where a tensor went: what took it over, where, what to do instead.

    `title` is None once the new owner has used it.
    """

    what: str
    spot: Spot
    hint: str
    title: weakref.ref[Title] | None


class Handle:
    """A tensor as a variable holds it: a region, perhaps moved away, perhaps only a view."""

    __slots__ = ("__weakref__", "_moved", "_shared", "_title", "_view", "region")

    rooted: bool = True
    """Whether work on it must run on its device."""

    def __init__(self, region: Region, title: Title | None, view: Ticket | None = None) -> None:
        self.region = region
        """The memory behind the tensor, for launchers and drivers."""
        self._title = title
        self._view = view
        self._moved: Moved | None = None
        self._shared = False

    def check_usable(self) -> None:
        """Raise if this tensor was moved away, or is a view whose borrow has ended."""
        if self._moved is not None:
            self._come_back(self._moved)
        if self._title is not None and self._title.revoked:
            raise BorrowError(
                "this tensor went back to the variable it came from",
                places=(("here", place_of(here())),),
                hint="an op that was given it was refused or failed; use that variable",
            )
        if self._view is not None and (ender := self._view.ended_by()) is not None:
            raise BorrowError(
                "this view cannot be used any more: its borrow has ended",
                places=(
                    ("here", place_of(here())),
                    ("taken", place_of(self._view.use.spot)),
                    (f"ended by (it was {ender.what})", place_of(ender.spot)),
                ),
                hint="take the view again",
            )

    def check_readable(self, reader: str) -> None:
        """Raise if there is nothing to read: no memory, or memory nobody has written."""
        refuse_unreadable(self.region.storage, reader, repr(self))

    def check_writable(self) -> None:
        """Raise if nobody may write or take over this tensor."""
        self.check_usable()
        if self._view is not None:
            raise BorrowError(
                "a view cannot be written or given away: it is a shared borrow of its tensor",
                places=(("here", place_of(here())), ("taken", place_of(self._view.use.spot))),
                hint="use the tensor itself",
            )
        if self._shared:
            raise BorrowError(
                "this tensor is the content of an Arc and cannot be written or given away",
                places=(("here", place_of(here())),),
                hint="call try_partition(tile_shape) on the Arc's only handle",
            )
        if self.region.storage.readonly:
            raise BorrowError(
                "this tensor is read only: it aliases a NumPy array that must not be written",
                places=(("here", place_of(here())),),
                hint="copy the array: tw.from_numpy(a)",
            )

    def borrow_shared(self, what: str) -> Ticket:
        """Borrow for reading, until the next exclusive use."""
        self.check_usable()
        return self.region.storage.state.share(Use(what, here()))

    def borrow_exclusive(self, what: str) -> Ticket:
        """Borrow for writing, until the next use of any kind; for a method of the tensor."""
        self.check_writable()
        return self.region.storage.state.exclude(Use(what, here(2)))

    def take_over(self, what: str, hint: str) -> tuple[Title, Ticket]:
        """Move the tensor out of this handle; the new owner must keep the title."""
        self.check_writable()
        spot = here()
        title = self._title or Title()
        self._title = None
        title.leave(self)
        self._moved = Moved(what, spot, hint, weakref.ref(title))
        return title, self.region.storage.state.exclude(Use(f"consumed by {what}", spot))

    def settle(self, *, failed: bool) -> None:
        """Work that was given this tensor has run, or was refused or failed."""
        title = self._title
        if title is not None and title.former:
            if failed:
                title.give_up()
            else:
                title.spend()

    def lose_for_good(self) -> None:
        """Keep the description only; the tensor belongs to somebody else."""
        if self._moved is not None:
            self._moved = self._moved._replace(title=None)
            self.region = self.region.without_memory()

    def mark_shared(self, *, shared: bool = True) -> None:
        """This handle is the content of an Arc: nobody writes through it."""
        self._shared = shared

    @property
    def state(self) -> str:
        """In words: "", "moved", "view", "meta" or "uninitialized"; never raises."""
        if self._moved is not None and not _reclaimable(self._moved):
            return "moved"
        if self.region.storage.is_meta:
            return "meta"
        if not self.region.storage.initialized:
            return "uninitialized"
        return "view" if self._view is not None else ""

    def _come_back(self, moved: Moved) -> None:
        if not _reclaimable(moved):
            raise BorrowError(
                f"this tensor was moved: consumed by {moved.what}",
                places=(("here", place_of(here())), ("moved", place_of(moved.spot))),
                hint=moved.hint,
            )
        assert moved.title is not None
        if (title := moved.title()) is not None:
            title.revoked = True
        self._moved, self._title = None, Title()
        self.region.storage.state.exclude(Use("given back to the variable it came from", here()))


def _reclaimable(moved: Moved) -> bool:
    if moved.title is None:
        return False
    title = moved.title()
    return title is None or title.given_up


def refuse_unreadable(storage: Storage, reader: str, thing: str) -> None:
    """Raise if a storage has nothing to read."""
    if storage.is_meta and storage.nbytes:
        raise BorrowError(
            f"{reader} would use {thing}, which is a description without memory",
            places=(("here", place_of(here())),),
            hint="tw.meta(...) is for compiling only; make a tensor with memory to run",
        )
    if not storage.initialized:
        raise BorrowError(
            f"{reader} would read {thing}, which nothing has written",
            places=(("here", place_of(here())),),
            hint="tw.empty(...) gives memory that a kernel must write first; or use tw.zeros(...)",
        )
