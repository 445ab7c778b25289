"""Leases: memory that left our sight, what may not be done to it meanwhile, and until when."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ..base.errors import BorrowError
from ..op.place import Spot, here, place_of
from .borrow import BorrowState


class Act(Enum):
    """What may be wanted of memory that is leased; the value is the word for it."""

    READ = "read"
    WRITE = "write"
    TAKE = "take over"


class Kind(NamedTuple):
    """What all leases of one kind have in common."""

    while_: str
    """In words that follow "while"."""
    label: str
    """What the place is called where it was made."""
    hint: str
    refuses: frozenset[Act]


_MAY_HOLD = "(in a notebook, Out[...] may hold it)"
_EVERYTHING = frozenset(Act)

VIEW = Kind(
    "a NumPy view of it is alive",
    "view",
    f"use .to_numpy() for a copy, or delete the view {_MAY_HOLD}",
    frozenset({Act.WRITE}),
)
"""Read-only, so reading goes on; whoever takes the tensor over cannot write it either."""

HOST_WRITE = Kind(
    "the host writes it through NumPy",
    "lent",
    "leave the `with` block first, and keep no part of the array",
    _EVERYTHING,
)

EXPORT = Kind(
    "another library uses it through DLPack",
    "exported",
    f"delete what the other library made of it {_MAY_HOLD}, or give it a copy: t.dup()",
    frozenset({Act.WRITE, Act.TAKE}),
)
"""The other library may write, whatever it was told; so nobody may rely on what is there."""

EXPORT_MUT = EXPORT._replace(while_="another library may write it", refuses=_EVERYTHING)


class Lease:
    """One lease of a piece of memory. Does not keep what it lent alive."""

    __slots__ = ("is_over", "kind", "spot")

    def __init__(self, kind: Kind, spot: Spot, is_over: Callable[[], bool]) -> None:
        self.kind = kind
        self.spot = spot
        self.is_over = is_over
        """Whether the last user is gone."""


class Holder:
    """Memory as NumPy takes it; the arrays made of it keep what it belongs to."""

    __slots__ = ("__array_interface__", "keep")

    def __init__(self, interface: dict[str, object], keep: object) -> None:
        self.__array_interface__ = interface
        self.keep = keep


def refuse_leased(state: BorrowState, act: Act, who: str, thing: object) -> None:
    """Raise if what is wanted of memory cannot be had while it is out of sight."""
    for lent in state.live_leases():
        if act in lent.kind.refuses:
            raise BorrowError(
                f"{who} would {act.value} {thing} while {lent.kind.while_}",
                places=(("here", place_of(here())), (lent.kind.label, place_of(lent.spot))),
                hint=lent.kind.hint,
            )
