"""What ops are given besides other ops: it is borrowed where the op is built, like all arguments.

Ops know nothing of tensors: how a value is borrowed, and whether it is, is the array's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from .place import Location

if TYPE_CHECKING:
    from .context import ExecutionContext


class Pledge(Protocol):
    """A borrow that began where an op was built, for work that comes later."""

    def check(self) -> None:
        """Raise if it has ended."""
        ...

    def borrows(self, given: Sequence[object], references: int) -> str | None:
        """What is borrowed, in words; None where the op owns it, or it is among what it is given.

        The op refers to it so many times.
        """
        ...

    def entrust(self, ctx: ExecutionContext) -> None:
        """The op passes it on: if what it is part of fails, it goes back to where it came from."""
        ...

    def give_back(self) -> None:
        """The op will not run: let what it was given be used again from where it came."""
        ...


Pledges = Sequence[Pledge]


def _none(values: tuple[Any, ...], op: str, location: Location) -> Pledges:
    return ()


def _none_lent(values: tuple[Any, ...], given: Sequence[object]) -> None:
    return None


class Pledging:
    """How values that are given to ops are borrowed."""

    begin: ClassVar[Callable[[tuple[Any, ...], str, Location], Pledges]] = staticmethod(_none)
    """Borrows what is memory among some values, for an op of this name, built there."""
    lent: ClassVar[Callable[[tuple[Any, ...], Sequence[object]], str | None]] = staticmethod(
        _none_lent
    )
    """What belongs to somebody else among some values that only a tuple holds, in words."""


def check_all(pledges: Pledges) -> None:
    """Raise if one of these borrows has ended."""
    for pledge in pledges:
        pledge.check()


def first_borrowed(pledges: Pledges, given: Sequence[object], references: int) -> str | None:
    """The first of these that belongs to somebody else, in words; None: none does."""
    for pledge in pledges:
        if (borrowed := pledge.borrows(given, references)) is not None:
            return borrowed
    return None
