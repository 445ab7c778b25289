"""Explains why a launch is refused: what is wrong with its arguments, or with their borrows.

The core decides, and asks when it has refused; see `core/borrow.cpp`.
"""

from __future__ import annotations

from .._core import ticket_of_epoch
from ..base.errors import BorrowError
from ..op.context import ExecutionContext
from ..tensors.borrow import Ticket, Use, refuse_ended
from ..tensors.lease import Act, refuse_leased
from ..tensors.ownership import Handle, refuse_unreadable
from .arguments import Bound, OutputArg
from .pledging import conflict


def refuse_conflicts(kernel: str, bound: Bound) -> None:
    """Refuse arguments of which one writes memory that another uses."""
    memory = bound.memory
    for i, written in enumerate(bound.written):
        start, end = written.start, written.end
        for other in memory[i + 1 :]:
            if other.start < end and start < other.end and written.meets(other):
                raise _conflict(kernel, bound, i, memory.index(other, i + 1))


def _conflict(kernel: str, bound: Bound, i: int, j: int) -> BorrowError:
    form = bound.form
    one, other = sorted((form.memory[i], form.memory[j]), key=form.args.index)
    twice = isinstance(one, OutputArg) and isinstance(other, OutputArg)
    return conflict(kernel, one.parameter.name, other.parameter.name, twice=twice)


def refuse_unusable(bound: Bound) -> None:
    """Raise for an argument that was moved away, or whose borrow has ended."""
    for partition in bound.outputs:
        partition.check_usable()
    for tensor in bound.inputs:
        if not tensor.is_simply_owned:
            tensor.check_usable()


def _reading(kernel: str, bound: Bound) -> Use:
    return Use(f"read by `{kernel}`", bound.location)


def refuse_ended_borrows(kernel: str, bound: Bound) -> None:
    """Raise if a borrow has ended since the launch was built, or memory is not ready for it.

    Hold the lock if no other thread may come between this and the reservation of the memory.
    """
    if _surely_ready(bound):
        return
    refuse_ended_tickets(kernel, bound)
    tensors, written = _tensors(bound), len(bound.written)
    for i, region in enumerate(bound.memory):
        if region.storage.is_meta or not (i < written or region.is_written):
            refuse_unreadable(region, f"`{kernel}`", tensors[i])
        if region.storage.state.live_leases():
            act = Act.WRITE if i < written else Act.READ
            refuse_leased(region.storage.state, act, f"`{kernel}`", tensors[i], region)


def refuse_ended_tickets(kernel: str, bound: Bound) -> None:
    """Raise if a borrow has ended since the launch was built."""
    for ticket, tensor in zip(_all_tickets(kernel, bound), _tensors(bound), strict=True):
        if ticket.ended_by() is not None:
            refuse_ended(ticket, kernel, tensor)


def _surely_ready(bound: Bound) -> bool:
    """Return whether a look says that all borrows hold and their memory can be used."""
    written, read = bound.written, bound.read
    for i, ticket in enumerate(bound.tickets):
        storage, state = written[i].storage, ticket.state
        ended = ticket.ended_by() is not None
        if storage.owner is None or ended or state.leases or state.neighbours:
            return False
    for i, share in enumerate(bound.shares):
        storage = read[i].storage
        state = storage.state
        if state.epoch != share or not storage.initialized or storage.owner is None:
            return False
        if state.leases or state.neighbours:
            return False
    return True


def _all_tickets(kernel: str, bound: Bound) -> list[Ticket]:
    """Return one ticket for each region, in the order of `bound.memory`."""
    found = list(bound.tickets)
    for region, share in zip(bound.read, bound.shares, strict=True):
        if isinstance(share, Ticket):
            found.append(share)
        else:
            state = region.storage.state
            found.append(ticket_of_epoch(state, _reading(kernel, bound), None, share))
    return found


def _tensors(bound: Bound) -> list[Handle]:
    """Return the tensors in the order of `bound.memory`."""
    return [*[p.tensor for p in bound.outputs], *bound.inputs]


def mark_written(bound: Bound) -> None:
    """Note that the launch has started: later readers of its outputs follow it."""
    for partition in bound.outputs:
        if not partition.tensor.region.storage.initialized:
            partition.tensor.region.mark_written()
    for pointer in bound.pointers:
        pointer.region.storage.initialized = True


def settle(bound: Bound, within: ExecutionContext | None = None, *, is_over: bool = True) -> None:
    """Settle a finished launch: what was moved into it is gone, unless `within` fails.

    If the launch has only been started (not `is_over`), this only notes that.
    """
    for partition in bound.outputs:
        partition.settle(failed=False, within=within, spends=is_over)
    if not bound.reads_own:
        for tensor in bound.inputs:
            tensor.settle(failed=False, within=within, spends=is_over)
