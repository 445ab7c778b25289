"""The devices that live in this process: "cpu" (native code) and "reference" (the interpreter).

Both share the host's memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..base.errors import ContextError
from .cpu.memory import HostMemory, HostPool
from .immediate import ImmediateStream
from .protocol import Device

STREAMS = 4
"""How many streams a device has for work that names none."""


class HostDevice:
    """A device in this process whose memory is the host's; compared by identity."""

    __slots__ = ("__weakref__", "_numbers", "_streams", "host_visible", "name", "pool")

    def __init__(self, name: str) -> None:
        self.name = name
        self.host_visible = True
        self.pool = HostPool()
        self._streams = [ImmediateStream(self, number) for number in range(STREAMS)]
        self._numbers = itertools.count(STREAMS)

    def allocate(self, nbytes: int, *, zeroed: bool) -> HostMemory:
        """Bytes of host memory, aligned for vector loads."""
        return self.pool.allocate(nbytes, zeroed=zeroed)

    def streams(self) -> Sequence[ImmediateStream]:
        """Its streams."""
        return self._streams

    def new_stream(self) -> ImmediateStream:
        """A stream of one's own."""
        return ImmediateStream(self, next(self._numbers))

    def synchronize(self) -> None:
        """Wait for all streams."""
        for stream in self._streams:
            stream.synchronize()

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
