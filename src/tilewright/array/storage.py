"""Pieces of memory and who may use them: our own, foreign ones found by address, or none (meta)."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..driver.protocol import Device
from .borrow import LOCK, BorrowState


class Storage:
    """Memory with its borrow state. `owner` keeps it alive; a meta storage has no memory at all."""

    __slots__ = (
        "__weakref__", "address", "device", "initialized", "nbytes", "owner", "readonly", "state",
    )  # fmt: skip

    def __init__(
        self,
        device: Device,
        address: int,
        nbytes: int,
        owner: object,
        *,
        readonly: bool = False,
        initialized: bool = True,
    ) -> None:
        self.device = device
        self.address = address
        self.nbytes = nbytes
        self.owner = owner
        self.readonly = readonly
        self.initialized = initialized or nbytes == 0
        self.state = BorrowState()

    @property
    def is_meta(self) -> bool:
        """Whether there is no memory behind it, only a description."""
        return self.owner is None


def allocate(device: Device, nbytes: int, *, zeroed: bool) -> Storage:
    """New memory of our own; contents are zero, or arbitrary and to be written before read."""
    memory = device.allocate(nbytes, zeroed=zeroed)
    return Storage(device, _address(memory), nbytes, memory, initialized=zeroed)


def meta(device: Device, nbytes: int) -> Storage:
    """A storage without memory."""
    return Storage(device, 0, nbytes, None)


class Imports:
    """Foreign memory in use here, found by address, so that aliases share their borrow state."""

    def __init__(self) -> None:
        self._live: list[weakref.ref[Storage]] = []

    def find(self, device: Device, array: np.ndarray[Any, Any], start: int, end: int) -> Storage:
        """The storage for the bytes start .. end - 1, which `array` keeps alive."""
        writeable = bool(array.flags.writeable)
        with LOCK:
            live = [s for ref in self._live if (s := ref()) is not None]
            for s in live:
                same = s.address == start and s.nbytes == end - start and s.device is device
                if same and s.readonly != writeable:
                    return s
            found = Storage(device, start, end - start, array, readonly=not writeable)
            for s in live:
                if s.address < end and start < s.address + s.nbytes:
                    found.state.meet(s.state)
            self._live = [*map(weakref.ref, live), weakref.ref(found)]
        return found


IMPORTS = Imports()


def _address(memory: np.ndarray[Any, Any]) -> int:
    address: int = memory.__array_interface__["data"][0]
    return address
