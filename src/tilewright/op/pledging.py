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
        """Describe what is borrowed; None if the op owns it or is given it.

        `references` is how often the op refers to it.
        """
        ...

    def entrust(self, ctx: ExecutionContext) -> None:
        """Pass the value on within the work of `ctx`: it returns to its origin if that fails."""
        ...

    def give_back(self) -> None:
        """Return the value to its origin, as the op will not run."""
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
    """Describe the borrowed value among some that only a tuple holds."""


def check_all(pledges: Pledges) -> None:
    """Raise if one of these borrows has ended."""
    for pledge in pledges:
        pledge.check()


def first_borrowed(pledges: Pledges, given: Sequence[object], references: int) -> str | None:
    """Describe the first borrowed value among these; None: there is none."""
    for pledge in pledges:
        if (borrowed := pledge.borrows(given, references)) is not None:
            return borrowed
    return None
