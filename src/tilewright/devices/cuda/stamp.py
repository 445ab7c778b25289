"""Stamps of CUDA streams: events that note the time, by the clock of the device."""

from __future__ import annotations

from ..protocol import Stamp
from .context import Context


class CudaStamp:
    """An event with a time."""

    __slots__ = ("_context", "handle")

    def __init__(self, context: Context) -> None:
        self._context = context
        context.tidy()
        self.handle = context.call(context.calls.create_timer)

    def since(self, earlier: Stamp) -> float:
        """Return the seconds since another stamp of the same device."""
        assert isinstance(earlier, CudaStamp)
        context = self._context
        return context.call(context.calls.elapsed, earlier.handle, self.handle) * 1e-3

    def host_time(self) -> None:
        """Return None: the device has its own clock."""

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._context.leave(self._context.calls.destroy_event, self.handle, 0)
