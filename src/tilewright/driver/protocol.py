"""What the run half asks of a machine: devices that give memory and streams, streams that order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, TypeVarTuple

import numpy as np

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Event(Protocol):
    """A point in a stream's work that can be waited for."""

    def done(self) -> bool:
        """Whether the device has passed this point."""
        ...

    def wait(self) -> None:
        """Block until the device has passed this point."""
        ...


class Stream(Protocol):
    """Work in order: what is put on one stream runs in the order it was put there."""

    @property
    def device(self) -> Device:
        """The device that runs this stream's work."""
        ...

    def submit(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run host work in its turn: after what is on the stream, before what comes later."""
        ...

    def synchronize(self) -> None:
        """Block until all work put on the stream so far is done."""
        ...


class Device(Protocol):
    """A place where tensors live and kernels run."""

    @property
    def name(self) -> str:
        """The name programs use, such as "cpu"."""
        ...

    @property
    def host_visible(self) -> bool:
        """Whether the host reads and writes this device's memory directly."""
        ...

    def allocate(self, nbytes: int, *, zeroed: bool) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Memory of this size, as bytes the host can address; contents arbitrary or zero."""
        ...

    def stream(self) -> Stream:
        """The stream for work that names none."""
        ...
