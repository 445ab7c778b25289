"""Tensors lent to ops: the borrow begins where the op is built and is checked when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..op.core import is_op
from .belonging import is_among
from .borrow import Ticket, refuse_ended
from .lease import Act, refuse_leased
from .ownership import Handle, refuse_unreadable
from .region import Region

if TYPE_CHECKING:
    from ..op.context import ExecutionContext


class Lender(Protocol):
    """An exclusive borrow, out of which another one can be made."""

    def lend(self, what: str) -> tuple[Handle, Ticket]:
        """Return the tensor that is borrowed, and a borrow of it for an op."""
        ...


class OpBorrow:
    """A tensor that an op was given, and the borrow it has of it."""

    __slots__ = ("_op", "_reborrowed", "handle", "region", "ticket", "written")

    def __init__(
        self, handle: Handle, ticket: Ticket, op: str, *, written: bool, reborrowed: bool = False
    ) -> None:
        """Borrow for an op; `reborrowed`: it was given a borrow instead of the tensor."""
        self._reborrowed = reborrowed
        self.handle = handle
        self.region: Region = handle.region
        self.ticket = ticket
        self.written = written
        self._op = op

    def check(self, ctx: ExecutionContext) -> None:
        """Raise if the borrow has ended, or the memory is not ready to be used."""
        handle, storage = self.handle, self.region.storage
        self.entrust(ctx)
        refuse_ended(self.ticket, self._op, handle)
        if not self.written or storage.is_meta:
            refuse_unreadable(self.region, f"`{self._op}`", handle)
        act = Act.WRITE if self.written else Act.READ
        refuse_leased(storage.state, act, f"`{self._op}`", handle, self.region)

    def entrust(self, ctx: ExecutionContext) -> None:
        """Pass the tensor on within `ctx`: it returns to its origin if that work fails."""
        self.handle.settle(failed=False, within=ctx, spends=False)

    def check_standing(self) -> None:
        """Raise if the borrow has ended."""
        refuse_ended(self.ticket, self._op, self.handle)

    def borrows(self, given: Sequence[object]) -> str | None:
        """Describe what is borrowed; None if the op is given it anyway, or for good."""
        if is_among(self.handle, given) or self._is_owned():
            return None
        return "it borrows the tensor it " + ("writes" if self.written else "reads")

    def _is_owned(self) -> bool:
        borrowed = self._reborrowed or self.handle.ticket is not None
        return not borrowed and self.handle.was_handed_over

    def give_back(self) -> None:
        """Return what the op was given, as the op will not run."""
        self.handle.settle(failed=True)

    def settle(self, ctx: ExecutionContext) -> None:
        """Note that the work has started: what it writes holds values from now on.

        The borrow gives no result, so it ends here; otherwise later launches that read the memory
        would take the slow path.
        """
        if self.written:
            if not ctx.is_capturing:
                self.region.mark_written()
            self.ticket.hand_back()
        self.handle.settle(failed=False, within=ctx)


def borrow_to_read(handle: Handle, op: str) -> OpBorrow:
    """Begin a shared borrow for an op."""
    return OpBorrow(handle, handle.borrow_shared(f"read by `{op}`", f"`{op}`"), op, written=False)


def borrow_to_write(target: Handle | Lender, op: str) -> OpBorrow:
    """Begin an exclusive borrow for an op, of a tensor or out of another exclusive borrow."""
    what = f"borrowed for writing by `{op}`"
    if isinstance(target, Handle):
        return OpBorrow(target, target.borrow_exclusive(what), op, written=True)
    return OpBorrow(*target.lend(what), op, written=True, reborrowed=True)


def written_region(target: object, op: str) -> Region:
    """Return the memory that an op writes, if it was given memory."""
    lender = getattr(target, "borrowed", target)
    if not isinstance(lender, Handle):
        kind = "an op: chain with .then(...)" if is_op(target) else type(target).__name__
        raise TypeError(f"`{op}` writes a tensor, got {kind}")
    return lender.region
