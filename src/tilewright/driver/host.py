"""The devices that live in this process: "cpu" (native code) and "reference" (the interpreter).

Both share the host's memory. Each has one stream, which runs its work on the calling thread before
the call that puts it there returns, so there is never anything in flight to wait for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from ..base.errors import ContextError
from .cpu.memory import allocate
from .protocol import Device

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class HostStream:
    """A stream whose work is done when the call that starts it returns.

    Work from several threads runs one after the other: that is what makes it one stream.
    """

    __slots__ = ("_turn", "device")

    def __init__(self, device: HostDevice) -> None:
        self.device = device
        self._turn = threading.RLock()

    def submit(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run work here, when no other thread's is running."""
        with self._turn:
            return work(*args)

    def synchronize(self) -> None:
        """Nothing is ever in flight, so there is nothing to wait for."""

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r})"


class HostDevice:
    """A device in this process whose memory is the host's; compared by identity."""

    __slots__ = ("_stream", "host_visible", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.host_visible = True
        self._stream = HostStream(self)

    def allocate(self, nbytes: int, *, zeroed: bool) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Bytes of host memory, aligned for vector loads."""
        return allocate(nbytes, zeroed=zeroed)

    def stream(self) -> HostStream:
        """The device's only stream."""
        return self._stream

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


CPU = HostDevice("cpu")
REFERENCE = HostDevice("reference")

DEVICES: Mapping[str, Device] = MappingProxyType({d.name: d for d in (CPU, REFERENCE)})


def get_device(name: str) -> Device:
    """The device of that name; a ContextError lists the names there are.

    >>> get_device("cpu").name
    'cpu'
    """
    if name not in DEVICES:
        raise ContextError(
            f"there is no device {name!r}",
            expected=" or ".join(f'"{n}"' for n in DEVICES),
            got=repr(name),
        )
    return DEVICES[name]
