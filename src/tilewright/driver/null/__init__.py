"""A device that notes what is put on its streams and does nothing of it: for tests of programs."""

from __future__ import annotations

from .device import NullDevice
from .stream import Entry, NullEvent, NullStream

__all__ = ["Entry", "NullDevice", "NullEvent", "NullStream"]
