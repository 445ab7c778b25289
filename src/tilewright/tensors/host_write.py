"""Writing a tensor from the host: its memory as a NumPy array, for the length of a `with` block."""

from __future__ import annotations

import weakref
from typing import Any, TypeAlias

import numpy as np

from ..base.errors import BorrowError
from ..op.place import Location, here, place_of
from .borrow import LOCK, Ticket, Use, refuse_ended
from .lease import HOST_WRITE, Act, Holder, Lease, refuse_leased
from .names import is_held_elsewhere
from .order import wait_on_host
from .region import Region
from .storage import Storage

Array: TypeAlias = np.ndarray[Any, Any]


class _Seen(weakref.ref[Array]):
    """An emptied array, and its memory, which earlier exports of the array may still see.

    Compared by identity; no Python runs when the array dies, which an interrupt could stop.
    """

    __slots__ = ("__weakref__", "storage")
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    storage: Storage


_SEEN: set[_Seen] = set()


class HostWrite:
    """`with t.borrow_mut().numpy() as a:` writes `t` in place, without a copy.

    Nothing else can use the tensor meanwhile. After the block the array is empty, so the name
    that is left of it sees nothing; what was made of it must not be kept.
    """

    __slots__ = ("__weakref__", "_location", "_region", "_thing", "_ticket", "_visit")

    def __init__(self, region: Region, ticket: Ticket, thing: object) -> None:
        self._region = region
        self._ticket = ticket
        self._thing = thing
        self._location: Location = None
        self._visit: _Visit | None = None

    def __enter__(self) -> Array:
        region = self._region
        if not region.storage.device.host_visible:
            raise TypeError(
                f"the host cannot write the memory of {region.storage.device.name} directly;"
                " use t.copy_from(array)"
            )
        location, holder = here(), Holder(region.interface(readonly=False), region.storage)
        # Wherever an interrupt comes, the lease is over when the array is gone.
        array = region.array_over(holder)
        visit = _Visit(self, array, holder, region.storage)
        try:
            del holder
            self._claim(Lease(HOST_WRITE, location, visit.is_over, region.footprint()))
        except BaseException:
            del array  # which a traceback would keep
            raise
        self._location, self._visit = location, visit
        return array

    def is_in(self, visit: _Visit) -> bool:
        """Return whether the block was last entered by this visit."""
        return self._visit is visit

    def _claim(self, lent: Lease) -> None:
        region, state = self._region, self._region.storage.state
        with LOCK:
            refuse_ended(self._ticket, "numpy", self._thing)
            refuse_leased(state, Act.WRITE, "numpy()", self._thing, region)
            state.lease(lent)
        wait_on_host([region], writes=True)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        visit, region = self._visit, self._region
        assert visit is not None, "the block was not entered"
        visit.left = True
        with LOCK:
            is_over = visit.is_over(error)
            region.mark_written()
            use = Use("written by the host through NumPy", self._location)
            standing = self._ticket if self._ticket.ended_by() is None else None
            region.storage.state.exclude(use, region.part, standing)
        if not is_over and error is None:
            raise BorrowError(
                "the array, or an object derived from it, outlives the `with` block",
                places=(("here", place_of(here())), ("lent", place_of(self._location))),
                hint="copy the data: a[1:].copy(); the tensor is usable when all derived objects"
                " are deleted",
            )


class _Visit:
    """One time that a block was entered: its array, and whether somebody can still see its memory.

    It keeps neither the array nor the memory.
    """

    __slots__ = ("_array", "_holder", "_over", "_seen", "_storage", "_writer", "left")

    def __init__(self, writer: HostWrite, array: Array, holder: Holder, storage: Storage) -> None:
        self._writer = weakref.ref(writer)
        self._array = weakref.ref(array)
        self._holder = weakref.ref(holder)
        self._storage = weakref.ref(storage)
        self._seen: weakref.ref[_Seen] | None = None
        self._over = False
        self.left = False
        """Whether the block was left, or can no longer be left."""

    def is_over(self, error: BaseException | None = None) -> bool:
        """Return whether no reference to the memory is left. Call it with the lock held.

        Inside the block the array may have references. After it, any export whose parts keep the
        holder counts as well as the array.
        """
        if not self._over:
            array, writer = self._array(), self._writer()
            if not self.left and writer is not None and (array is not None or writer.is_in(self)):
                return False
            self._over = self._holder() is None if array is None else self._let_go(array, error)
        return self._over

    def _let_go(self, array: Array, error: BaseException | None) -> bool:
        """Return whether only variables refer to the array, which has no memory any more."""
        self._empty(array)
        if is_held_elsewhere(array, error, depth=2):
            return False
        if self._seen is not None and (seen := self._seen()) is not None:
            _SEEN.discard(seen)
        return self._holder() is None

    def _empty(self, array: Array) -> None:
        """Return an array cannot be taken back from the variable that holds it, but it can be
        emptied.
        """
        storage = self._storage()
        if storage is not None and (self._seen is None or self._seen() is None):
            seen = _Seen(array, _SEEN.discard)
            seen.storage, self._seen = storage, weakref.ref(seen)
            _SEEN.add(seen)
        nothing: Any = (1, (0,), array.dtype, False, b"")
        array.__setstate__(nothing)
