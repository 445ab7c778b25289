"""How a launch borrows its arguments: all are checked before any is taken, and all are settled."""

from __future__ import annotations

import numpy as np

from ..array.borrow import LOCK, Ticket, Use, refuse_ended, refuse_leased
from ..array.ownership import Handle, refuse_unreadable
from ..array.region import Region
from ..base.errors import BorrowError
from ..op.place import Spot, here, place_of
from .arguments import Bound, OutputArg


def refuse_conflicts(kernel: str, bound: Bound) -> None:
    """Memory that is written is used once among the arguments of a launch."""
    memory = bound.memory
    for i in range(len(bound.outputs)):
        written = memory[i]
        start, end = written.start, written.end
        for other in memory[i + 1 :]:
            if other.start < end and start < other.end and _meet(written, other):
                raise _conflict(kernel, bound, i, memory.index(other, i + 1))


def _meet(a: Region, b: Region) -> bool:
    """Whether two regions that span common addresses share an element."""
    if a.storage.is_meta:
        return a.storage is b.storage
    return a.start < a.end and b.start < b.end and np.shares_memory(a.array(), b.array())


def _conflict(kernel: str, bound: Bound, i: int, j: int) -> BorrowError:
    form = bound.form
    one, other = sorted((form.memory[i], form.memory[j]), key=form.args.index)
    twice = isinstance(one, OutputArg) and isinstance(other, OutputArg)
    what = "write one tensor twice" if twice else "write and read one tensor"
    return BorrowError(
        f"`{kernel}` would {what}: `{one.parameter.name}` and `{other.parameter.name}`"
        " are the same storage",
        places=(("here", place_of(here())),),
        hint="give each output its own tensor" if twice else "give the output its own tensor",
    )


def check_usable(bound: Bound) -> None:
    """Raise for an argument that was moved away, or whose borrow has ended."""
    for partition in bound.outputs:
        partition.check_usable()
    for tensor in bound.inputs:
        tensor.check_usable()


def take(kernel: str, bound: Bound, spot: Spot) -> None:
    """Begin the borrows of a launch; nothing here can be refused any more."""
    bound.spot = spot
    epochs: list[int] = []
    tickets: list[Ticket] = []
    bound.epochs, bound.tickets = epochs, tickets
    with LOCK:
        for region in bound.memory[len(bound.outputs) :]:
            state = region.storage.state
            if state.exclusive is not None or state.neighbours:
                state.end_exclusive(_reading(kernel, bound))
            epochs.append(state.epoch)
        if bound.outputs:
            writing = Use(f"borrowed for writing by `{kernel}`", spot)
            for partition in bound.outputs:
                tickets.append(partition.ticket.reborrow_locked(writing))


def _reading(kernel: str, bound: Bound) -> Use:
    return Use(f"read by `{kernel}`", bound.spot)


def refuse_ended_borrows(kernel: str, bound: Bound) -> None:
    """Raise if a borrow has ended since the launch was built, or memory is not ready for it."""
    if _surely_ready(bound):
        return
    tensors = _tensors(bound)
    for ticket, tensor in zip(_all_tickets(kernel, bound), tensors, strict=True):
        if ticket.ended_by() is not None:
            refuse_ended(ticket, kernel, repr(tensor))
    for i, region in enumerate(bound.memory):
        storage, written = region.storage, i < len(bound.outputs)
        if storage.is_meta or not (written or storage.initialized):
            refuse_unreadable(storage, f"`{kernel}`", repr(tensors[i]))
        if written and storage.state.live_lease() is not None:
            refuse_leased(storage.state, kernel, repr(tensors[i]))


def _surely_ready(bound: Bound) -> bool:
    """Whether nothing needs a closer look: all borrows stand, and their memory can be used."""
    tickets, epochs = bound.tickets, bound.epochs
    written = len(tickets)
    for i, region in enumerate(bound.memory):
        storage = region.storage
        state = storage.state
        if storage.owner is None:
            return False
        if i >= written:
            if state.epoch != epochs[i - written] or not storage.initialized:
                return False
        elif state.exclusive is not tickets[i] or state.leases or state.neighbours:
            return False
    return True


def _all_tickets(kernel: str, bound: Bound) -> list[Ticket]:
    """One for each region, in the order of `bound.memory`."""
    found = list(bound.tickets)
    for region, epoch in zip(bound.memory[len(found) :], bound.epochs, strict=True):
        ticket = Ticket(region.storage.state, _reading(kernel, bound), shared=True)
        ticket.epoch = epoch
        found.append(ticket)
    return found


def _tensors(bound: Bound) -> list[Handle]:
    """In the order of `bound.memory`."""
    return [*[p.tensor for p in bound.outputs], *bound.inputs]


def settle(bound: Bound) -> None:
    """The launch has run: outputs hold values, and what was moved into it is gone for good."""
    for partition, region in zip(bound.outputs, bound.memory, strict=False):
        region.storage.initialized = True
        partition.settle(failed=False)
    for pointer in bound.pointers:
        pointer.region.storage.initialized = True
    for tensor in bound.inputs:
        tensor.settle(failed=False)
