"""Borrows of what an op is given, from where it is built, though others must run before it.

Such a borrow stands until its memory is used in a conflicting way, as that of any op; it is checked
when the op runs, and what the op is part of borrows again out of what it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from .._core import Pledge as NativePledge
from ..base.errors import ContextError, ShapeError
from ..base.messages import summary
from ..devices.host import CPU
from ..op.place import Location
from .arc import Arc
from .belonging import is_among, is_borrowed
from .borrow import LOCK, Ticket, Use, refuse_ended
from .foreign import aliased, is_array
from .gpu_imports import memory_on_gpu
from .ownership import Handle, Ours
from .partition import Partition
from .region import Region, region_of_array
from .tensor import BorrowMut, Tensor

if TYPE_CHECKING:
    from ..op.context import ExecutionContext


class ForeignValue:
    """An array that an op was given and that is not inspected before the op runs."""

    __slots__ = ("_given",)

    def __init__(self, given: object) -> None:
        self._given = given

    def check(self) -> None:
        """Do nothing: its memory is unknown."""

    def borrows(self, given: Sequence[object], references: int) -> str | None:
        """Describe what is borrowed; None if it is among what the op is given."""
        return (
            None if is_among(self._given, given) else f"it borrows a {type(self._given).__name__}"
        )

    def entrust(self, ctx: ExecutionContext) -> None:
        """Do nothing: the value was not moved."""

    def give_back(self) -> None:
        """Do nothing: the value was not moved."""


class Pledge(NativePledge):
    """The borrow of one thing that an op was given.

    The core makes those of tensors that launches read.
    """

    __slots__ = ()

    region: Region
    ticket: Ticket

    def __init__(
        self, given: object, region: Region, ticket: Ticket, op: str, *, alone: bool = False
    ) -> None:
        self.ends_nothing, self.given, self._op = alone, given, op
        self.region, self.ticket = region, ticket

    def check(self) -> None:
        """Raise if the borrow has ended."""
        if self.ticket.ended_by() is not None:
            refuse_ended(self.ticket, self._op, self._described())

    def borrows(self, given: Sequence[object], references: int) -> str | None:
        """Describe what is borrowed; None if the op owns it or is given it.

        `references` is how often the op refers to it, besides this.
        """
        lent = is_lent(self.given, references + 1)
        if not lent or is_among(behind(self.given), given):
            return None
        return f"it borrows {self._described()}"

    def entrust(self, ctx: ExecutionContext) -> None:
        """Pass the value on within the work of `ctx`: it returns to its origin if that fails."""
        if _is_given(self.given):
            self.given.settle(failed=False, within=ctx, spends=False)

    def give_back(self) -> None:
        """Return the value to its origin, as the op will not run."""
        if _is_given(self.given):
            self.given.settle(failed=True)

    def _described(self) -> str:
        thing = behind(self.given)
        if isinstance(thing, Ours):
            return summary(thing)
        return f"an array of shape {self.region.shape}"


def _is_lender(x: object) -> TypeGuard[Partition[Any] | BorrowMut[Any]]:
    return isinstance(x, Partition | BorrowMut)


def _is_given(x: object) -> TypeGuard[Partition[Any] | Handle]:
    """Return whether x may have been moved."""
    return isinstance(x, Partition | Handle)


def _is_arc(x: object) -> TypeGuard[Arc[Any]]:
    return isinstance(x, Arc)


def lent_among(values: tuple[Any, ...], given: Sequence[object]) -> str | None:
    """Describe the borrowed value among some that only a tuple holds."""
    for i in range(len(values)):
        if is_lent(values[i], 1) and not is_among(behind(values[i]), given):
            return f"it borrows {summary(behind(values[i]))}"
    return None


def behind(given: object) -> object:
    """Return the tensor of an argument of an op, or the argument itself."""
    if _is_lender(given):
        return given.tensor
    return given.content if _is_arc(given) else given


def is_lent(given: object, references: int) -> bool:
    """Return whether an op that refers to a value `references` times does not own it."""
    if isinstance(given, Ours):
        # This function refers to it as well.
        return isinstance(given, BorrowMut) or is_borrowed(given, references + 1)
    return is_strange(given)


def is_strange(value: object) -> bool:
    """Return whether a value is an array of another library, which may be changed at any time."""
    kind = type(value)
    known = _STRANGE.get(kind)
    if known is None:
        ours = issubclass(kind, np.generic | Ours)
        known = not ours and any(hasattr(kind, name) for name in _PROTOCOLS)
        _STRANGE[kind] = known
    return known


_PROTOCOLS = ("__array_interface__", "__dlpack__", "__cuda_array_interface__")
_STRANGE: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
"""Which classes are those of arrays, as far as they were asked for: looking takes longer."""


def pledged(values: Sequence[Any], op: str, location: Location) -> list[Pledge | ForeignValue]:
    """Borrow what is memory among some values; of tuples, what is in them."""
    found: list[Pledge | ForeignValue] = []
    for value in values:
        several: Any = value
        if type(value) is tuple:
            found += pledged(several, op, location)
        elif is_strange(value) and not is_array(value):
            found.append(ForeignValue(value))
        elif (pledge := pledge_of(value, op, location)) is not None:
            found.append(pledge)
    return found


def pledge_of(value: Any, op: str, location: Location, *, writes: bool = False) -> Pledge | None:
    """Borrow a value for an op, for writing where that is what it is for; None: it is no memory.

    A tensor is borrowed for reading, unless the op `writes` it.
    """
    tensor: Any = value
    if type(value) is Tensor:
        ticket, alone = _borrowed(tensor, op, location, writes=writes)
        return Pledge(tensor, tensor.region, ticket, op, alone=alone)
    if _is_lender(value):
        with LOCK:
            value.check_usable()
            ticket = value.ticket.state.rewrite(value.ticket, _writing(op, location))
        return Pledge(value, value.tensor.region, ticket, op)
    handle: Any = value.content if _is_arc(value) else value
    if isinstance(handle, Handle):
        ticket, alone = _borrowed(handle, op, location, writes=writes)
        return Pledge(value, handle.region, ticket, op, alone=alone)
    region = _seen(value) if is_strange(value) else None
    if region is None:
        return None
    use = Use(f"read by `{op}`", location)
    return Pledge(value, region, region.storage.state.share(use, region.part), op)


def _borrowed(handle: Handle, op: str, location: Location, *, writes: bool) -> tuple[Ticket, bool]:
    """Return the borrow of a tensor, and whether it has ended no other."""
    region = handle.region
    state = region.storage.state
    with LOCK:
        if not handle.is_usable:
            handle.check_usable()  # says what is wrong
        if writes:
            handle.check_writable()
            return state.exclude(_writing(op, location), region.part, handle.ticket), False
        use = Use(f"read by `{op}`", location)
        alone = state.exclusive is None and not (state.writers or state.neighbours)
        return state.share(use, region.part, handle.ticket), alone


def _writing(op: str, location: Location) -> Use:
    return Use(f"borrowed for writing by `{op}`", location)


def _seen(array: Any) -> Region | None:
    """Return the memory of another library's array; None if kernels cannot use it.

    A kernel that is given it raises with the reason when it runs; other ops may use it freely.
    """
    try:
        there = memory_on_gpu(array)
        if there is not None:
            return there
        found = aliased(array)
        return None if found is None else region_of_array(found, CPU)
    except (BufferError, ContextError, RuntimeError, ShapeError, TypeError, ValueError):
        return None
