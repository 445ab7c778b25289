"""How a launch borrows its arguments: all are checked before any is taken, and all are settled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..array.borrow import Use, refuse_ended, refuse_leased
from ..array.ownership import refuse_unreadable
from ..array.region import Region
from ..base.errors import BorrowError, LaunchError
from ..driver.protocol import Device
from ..op.ambient import default_device
from ..op.place import Spot, here, place_of
from .arguments import Arg, OutputArg, PointerArg, TensorArg, described


def refuse_conflicts(kernel: str, args: Sequence[Arg]) -> None:
    """Memory that is written is used once among the arguments of a launch."""
    memory = [a for a in args if isinstance(a, OutputArg | TensorArg)]
    for i, one in enumerate(memory):
        for other in memory[:i]:
            both_read = isinstance(one, TensorArg) and isinstance(other, TensorArg)
            if not both_read and _meet(one.region, other.region):
                raise _conflict(kernel, other, one)


def _conflict(kernel: str, one: TensorArg | OutputArg, other: TensorArg | OutputArg) -> BorrowError:
    twice = isinstance(one, OutputArg) and isinstance(other, OutputArg)
    what = "write one tensor twice" if twice else "write and read one tensor"
    return BorrowError(
        f"`{kernel}` would {what}: `{one.parameter.name}` and `{other.parameter.name}`"
        " are the same storage",
        places=(("here", place_of(here())),),
        hint="give each output its own tensor" if twice else "give the output its own tensor",
    )


def _meet(a: Region, b: Region) -> bool:
    s, t = a.storage, b.storage
    if s is not t and (s.address + s.nbytes <= t.address or t.address + t.nbytes <= s.address):
        return False
    if s.is_meta:
        return s is t
    return a.overlaps(b) and np.shares_memory(a.array(), b.array())


def check_usable(args: Sequence[Arg]) -> None:
    """Raise for an argument that was moved away, or whose borrow has ended."""
    for a in args:
        if isinstance(a, OutputArg):
            a.partition.check_usable()
        elif isinstance(a, TensorArg) and a.handle is not None:
            a.handle.check_usable()


def device_of(kernel: str, args: Sequence[Arg]) -> Device:
    """Where a launch runs: where its tensors live. Host arrays follow them."""
    homes: dict[str, Device] = {}
    for a in args:
        if isinstance(a, OutputArg) or (isinstance(a, TensorArg) and a.handle is not None):
            homes[a.parameter.name] = a.region.storage.device
        elif isinstance(a, PointerArg):
            homes[a.parameter.name] = a.pointer.region.storage.device
    found = list(dict.fromkeys(homes.values()))
    if len(found) > 1:
        raise LaunchError(
            f"the tensors of `{kernel}` live on different devices",
            got=", ".join(f"`{name}` on {device.name}" for name, device in homes.items()),
            hint="make them on one device: tw.zeros(..., device=...)",
        )
    return found[0] if found else default_device()


def take(kernel: str, args: Sequence[Arg], spot: Spot) -> None:
    """Begin the borrows of a launch; nothing here can be refused any more."""
    reading = Use(f"read by `{kernel}`", spot)
    writing = Use(f"borrowed for writing by `{kernel}`", spot)
    for a in args:
        if isinstance(a, TensorArg):
            a.ticket = a.region.storage.state.share(reading)
    for a in args:
        if isinstance(a, OutputArg):
            a.ticket = a.partition.ticket.reborrow(writing)


def refuse_ended_borrows(kernel: str, args: Sequence[Arg]) -> None:
    """Raise if a borrow has ended since the launch was built, or memory is not ready for it."""
    for a in args:
        if not isinstance(a, TensorArg | OutputArg):
            continue
        assert a.ticket is not None
        if a.ticket.ended_by() is not None:
            refuse_ended(a.ticket, kernel, described(a))
        storage = a.region.storage
        if isinstance(a, OutputArg):
            if storage.is_meta:
                refuse_unreadable(storage, f"`{kernel}`", described(a))
            if storage.state.live_lease() is not None:
                refuse_leased(storage.state, kernel, described(a))
        elif storage.is_meta or not storage.initialized:
            refuse_unreadable(storage, f"`{kernel}`", described(a))


def settle(args: Sequence[Arg]) -> None:
    """The launch has run: outputs hold values, and what was moved into it is gone for good."""
    for a in args:
        if isinstance(a, OutputArg):
            a.region.storage.initialized = True
            a.partition.settle(failed=False)
        elif isinstance(a, PointerArg):
            a.pointer.region.storage.initialized = True
        elif isinstance(a, TensorArg) and a.handle is not None:
            a.handle.settle(failed=False)
