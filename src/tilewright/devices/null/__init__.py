"""A device that notes what is put on its streams and does nothing of it: for tests of programs."""

from __future__ import annotations

from .device import NullDevice
from .happens_before import HappensBefore, MemoryUse, Race
from .stream import Entry, NullEvent, NullStream

__all__ = [
    "Entry", "HappensBefore", "MemoryUse", "NullDevice", "NullEvent", "NullStream", "Race",
]  # fmt: skip
