"""Stamps of the CPU: jobs that note when the stream passes them."""

from __future__ import annotations

from ..._core import TIME_KERNEL
from ..protocol import Stamp
from .record import SLOTS, Record


class CpuStamp:
    """The record of such a job: its only argument is the time."""

    __slots__ = ("record",)

    def __init__(self) -> None:
        self.record = Record(TIME_KERNEL, (0,), (1,), 1)

    def host_time(self) -> int:
        """Return when it was passed, by the clock of the host."""
        return self.record.words[SLOTS]

    def since(self, earlier: Stamp) -> float:
        """Return the seconds since another stamp."""
        assert isinstance(earlier, CpuStamp)
        return (self.host_time() - earlier.host_time()) * 1e-9
