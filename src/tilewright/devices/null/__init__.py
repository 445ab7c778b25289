"""A device that notes what is enqueued on its streams and runs nothing: for tests of programs."""

from __future__ import annotations

from .device import NullDevice
from .happens_before import HappensBefore, MemoryUse, Race
from .stream import Entry, NullEvent, NullStream

__all__ = [
    "Entry", "HappensBefore", "MemoryUse", "NullDevice", "NullEvent", "NullStream", "Race",
]  # fmt: skip
