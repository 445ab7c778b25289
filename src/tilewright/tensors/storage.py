"""Pieces of memory and who may use them: our own, foreign ones found by address, or none (meta).

The core finds foreign ones (`native/python/imports.cpp`).
"""

from __future__ import annotations

from typing import Protocol

from .._core import Storage as NativeStorage
from .._core import set_import_classes, set_storage_classes
from ..devices.protocol import Device
from .borrow import LOCK, BorrowState, hold_at_forks
from .extent import Extent
from .layout import FARTHEST
from .order import Order
from .releases import sweep, sweep_at_exit
from .written import NOTHING, Runs, both, covers


class Capturer(Protocol):
    """A graph, as messages name it."""

    @property
    def name(self) -> str:
        """What was captured."""
        ...


class Storage(NativeStorage):
    """Memory with its borrow state. `owner` keeps it alive; a meta storage has no memory at all."""

    __slots__ = ()

    device: Device
    state: BorrowState

    def writers_to_come(self) -> list[Capturer]:
        """Return the graphs that write it at each launch."""
        return [graph for known in self.graphs if (graph := known()) is not None]

    def add_written(self, runs: Runs) -> None:
        """Note that these bytes have been written."""
        with LOCK:
            written = self._written = both(self._runs(), runs)
            if len(written) == 1 and written[0, 1] - written[0, 0] == self.nbytes:
                self.initialized, self._written = True, None

    def has_written(self, runs: Runs) -> bool:
        """Return whether all these bytes have been written."""
        return self.initialized or covers(self._runs(), runs)

    def _runs(self) -> Runs:
        return NOTHING if self._written is None else self._written


set_storage_classes({"BorrowState": BorrowState, "Order": Order, "Storage": Storage})


def allocate(device: Device, nbytes: int, *, zeroed: bool) -> Storage:
    """Allocate memory; it is zero, or arbitrary and must be written before it is read."""
    hold_at_forks()
    sweep()
    memory = device.allocate(nbytes, zeroed=zeroed)
    return Storage(device, memory.address, nbytes, memory, initialized=zeroed)


def meta(device: Device, nbytes: int) -> Storage:
    """Return a storage without memory."""
    return Storage(device, 0, min(nbytes, FARTHEST), None)


def _introduce(new: Storage, other: Storage) -> None:
    """Make two storages that overlap neighbours. The core calls this, under the lock."""
    mine = Extent(new.address, new.address + new.nbytes)
    its = Extent(other.address, other.address + other.nbytes)
    new.state.meet(other.state, mine, its)
    new.order.join(other.order)


def _prepare() -> None:
    """Get ready for memory of other libraries. The core calls this once."""
    hold_at_forks()
    sweep_at_exit()


set_import_classes({"introduce": _introduce, "prepare": _prepare})
