"""Leases: memory that left our sight, what may not be done to it meanwhile, and until when."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ..base.errors import BorrowError
from ..base.messages import summary
from ..op.place import Location, here, place_of
from .borrow import BorrowState
from .extent import Extent


class Act(Enum):
    """What may be wanted of memory that is leased; the value is the word for it."""

    READ = "read"
    WRITE = "write"
    TAKE = "take over"


class Kind(NamedTuple):
    """What all leases of one kind have in common."""

    while_: str
    """A phrase that follows "while"."""
    label: str
    """What the place is called where it was made."""
    hint: str
    refuses: frozenset[Act]


_MAY_HOLD = "(in a notebook, Out[...] may hold it)"
_EVERYTHING = frozenset(Act)

VIEW = Kind(
    "a NumPy view of it is alive",
    "view",
    f"use .to_numpy() for a copy, or delete the view {_MAY_HOLD};"
    " t = t.dup().sync() continues with a copy",
    frozenset({Act.WRITE}),
)
"""Read-only, so reads continue; a new owner of the tensor cannot write it either."""

HOST_WRITE = Kind(
    "the host writes it through NumPy",
    "lent",
    "leave the `with` block first, and keep nothing that was made of the array",
    _EVERYTHING,
)

EXPORT = Kind(
    "another library uses it through DLPack",
    "exported",
    f"delete the object of the other library {_MAY_HOLD}, or give it a copy: t.dup()",
    frozenset({Act.WRITE, Act.TAKE}),
)
"""The other library may write, also through a read-only export; so the contents are not known."""

EXPORT_MUT = EXPORT._replace(while_="another library may write it", refuses=_EVERYTHING)


class Lease:
    """One lease of a piece of memory, or of a part. Does not keep what it lent alive.

    An interrupt may come behind any line of its creator. So it is created when there is an object
    whose end also ends the lease, if no caller receives it.
    """

    __slots__ = ("extent", "is_over", "kind", "location")

    def __init__(
        self,
        kind: Kind,
        location: Location,
        is_over: Callable[[], bool],
        extent: Extent | None = None,
    ) -> None:
        self.kind = kind
        self.location = location
        self.is_over = is_over
        """Whether the last user is gone. Call it with the lock held."""
        self.extent = extent
        """The part that is lent; None: all of it."""

    @property
    def refuses_reading(self) -> bool:
        """Whether reads are refused meanwhile; the core reads this when the lease is noted."""
        return Act.READ in self.kind.refuses

    def meets(self, extent: Extent | None) -> bool:
        """Return whether it shares a byte with a part of the memory, or (None) with all of it."""
        return extent is None or self.extent is None or self.extent.meets(extent)


class Holder:
    """Memory as NumPy takes it; the arrays made of it keep what it belongs to.

    Only they keep it, so that it is dead when the last of them is.
    """

    __slots__ = ("__weakref__", "_interface", "_keep")

    def __init__(self, interface: dict[str, object], keep: object) -> None:
        self._interface = interface
        self._keep = keep

    @property
    def __array_interface__(self) -> dict[str, object]:
        return dict(self._interface)


def refuse_leased(
    state: BorrowState, act: Act, who: str, thing: object, extent: Extent | None = None
) -> None:
    """Raise if what is wanted of memory, or of a part, cannot be had while it is out of sight."""
    for lent in state.live_leases():
        if act in lent.kind.refuses and lent.meets(extent):
            raise BorrowError(
                f"{who} would {act.value} {summary(thing)} while {lent.kind.while_}",
                places=(("here", place_of(here())), (lent.kind.label, place_of(lent.location))),
                hint=lent.kind.hint,
            )
