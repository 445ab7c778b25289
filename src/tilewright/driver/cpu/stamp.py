"""Stamps of the CPU: jobs that note when the stream passes them."""

from __future__ import annotations

from ...base.forking import made_once
from ..protocol import Stamp
from .native import NativeFunction
from .record import SLOTS, Record
from .runtime.calls import compiled
from .runtime.stamping import TEXT


@made_once
def _kernel() -> NativeFunction:
    return compiled(TEXT, ("tw_stamp",), optimize=False)["tw_stamp"]


class CpuStamp:
    """The record of such a job: its only argument is the time."""

    __slots__ = ("record",)

    def __init__(self) -> None:
        self.record = Record(_kernel().address, (0,), (1,), 1)

    def host_time(self) -> int:
        """When it was passed. The clock is the host's."""
        return self.record.words[SLOTS]

    def since(self, earlier: Stamp) -> float:
        """Seconds since another one."""
        assert isinstance(earlier, CpuStamp)
        return (self.host_time() - earlier.host_time()) * 1e-9
