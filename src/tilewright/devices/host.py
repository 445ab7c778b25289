"""The devices on the host: "cpu" (native code), "reference" (the interpreter), "null" (notes).

All share the host's memory.
"""

from __future__ import annotations

import itertools
import platform
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from .._core import PooledMemory
from ..base.errors import DriverError
from ..base.system import at_fork
from .cpu.caching import HostPool, clear
from .cpu.module import CpuModule, check_object
from .cpu.pool import default, streams
from .cpu.progress import CpuProgress
from .cpu.stream import CpuStream
from .immediate import ImmediateStream
from .null import NullDevice
from .pictures import ShownDevice
from .progress import HostProgress
from .protocol import Block, Module, Progress, Stream

S = TypeVar("S", bound=Stream)

_MAKING = threading.Lock()
"""Held while a device makes its first streams."""

LARGE = 1 << 20
"""Bytes from which on memory is made zero by several threads."""
STREAMS = 4
"""How many streams a device has for work that names none."""
BLOCKS = 4
"""How many blocks share the tiles of a mapped partition where none run at the same time."""


CPUINFO = Path("/proc/cpuinfo")
MODEL_NAME = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)


@cache
def processor_name() -> str:
    """Return the processor's name by its maker, or the architecture if it is unknown."""
    try:
        found = MODEL_NAME.search(CPUINFO.read_text(errors="replace"))
    except OSError:
        found = None
    return found[1].strip() if found else platform.machine()


class HostDevice(ShownDevice, ABC, Generic[S]):
    """A device in this process whose memory is the host's; compared by identity."""

    __slots__ = (
        "__weakref__", "_numbers", "_streams", "host_visible", "name", "pool", "progress",
        "target",
    )  # fmt: skip

    ordinal = None

    def __init__(self, name: str, progress: Progress, pool: HostPool) -> None:
        self.name = name
        self.target = name
        self.progress = progress
        self.host_visible = True
        self.pool = pool
        self._fresh()

    def _fresh(self) -> None:
        self._streams: list[S] = []
        self._numbers = itertools.count(STREAMS)

    @property
    def model(self) -> str:
        """The name of the processor."""
        return processor_name()

    @property
    def blocks_at_once(self) -> int:
        """None run at the same time; some all the same, so that kernels meet more than one."""
        return BLOCKS

    @abstractmethod
    def _make(self, number: int) -> S:
        """Return a new stream."""

    @abstractmethod
    def load_module(self, code: bytes, *, trusted: bool = False) -> Module:
        """Load code made for this device."""

    def allocate(self, nbytes: int, *, zeroed: bool) -> PooledMemory:
        """Return bytes of host memory, aligned for vector loads."""
        return self.pool.allocate(nbytes, zeroed=zeroed)

    def prepare(self) -> None:
        """Create the streams."""
        self.streams()

    def streams(self) -> Sequence[S]:
        """Return the streams of the device; create them at the first call."""
        return self._streams or self._first_streams()

    def _first_streams(self) -> Sequence[S]:
        with _MAKING:
            if not self._streams:
                self._streams = [self._make(number) for number in range(STREAMS)]
        return self._streams

    def new_stream(self) -> S:
        """Return a new stream, which no policy hands out."""
        return self._make(next(self._numbers))

    def synchronize(self) -> None:
        """Wait for all streams."""
        for stream in self._all_streams():
            stream.synchronize()

    def _all_streams(self) -> Iterable[S]:
        return self._streams

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


class CpuDevice(HostDevice[CpuStream]):
    """The processors of this machine, running native code."""

    __slots__ = ()

    def __init__(self, name: str = "cpu") -> None:
        super().__init__(name, CpuProgress(), HostPool(self._sweep, self._zero))
        self.target = "cpu"

    def _sweep(self) -> None:
        """Release what finished work has kept alive."""
        for stream in streams():
            stream.sweep()

    def _zero(self, address: int, nbytes: int) -> None:
        """Write zeros to memory, on all processors where that pays."""
        if nbytes < LARGE:
            clear(address, nbytes)
        else:
            stream = self.new_stream()
            stream.fill(Block(address, 1, (nbytes,), (1,), host=True), b"\0")
            stream.synchronize()

    @property
    def blocks_at_once(self) -> int:
        """One per thread that a launch may use."""
        return default().threads()

    def load_module(self, code: bytes, *, trusted: bool = False) -> CpuModule:
        """Load an object file whose functions follow base.cpu_abi."""
        if not trusted:
            check_object(code)
        return CpuModule(code)

    def _make(self, number: int) -> CpuStream:
        if number == 0 and self not in _FORGETFUL:
            # Threads do not survive a fork, so a child makes its own streams when it needs them.
            _FORGETFUL.append(self)
            at_fork(after_in_child=self._fresh)
        return CpuStream(self, number)

    def _all_streams(self) -> Iterable[CpuStream]:
        return [stream for stream in streams() if stream.device is self]


class ReferenceDevice(HostDevice[ImmediateStream]):
    """The interpreter that defines the language, on the calling thread."""

    __slots__ = ()

    def load_module(self, code: bytes, *, trusted: bool = False) -> Module:
        """Raise: this device interprets kernels and loads no code."""
        raise DriverError(
            "the reference device runs no raw code",
            hint="load it on the device it was made for",
        )

    def _make(self, number: int) -> ImmediateStream:
        return ImmediateStream(self, number)


_FORGETFUL: list[CpuDevice] = []
"""Devices that begin anew in child processes."""

CPU = CpuDevice()
REFERENCE = ReferenceDevice("reference", HostProgress(), HostPool())
NULL = NullDevice()
