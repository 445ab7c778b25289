"""Native code on the processors of this machine: load it, run it, give it memory."""

from __future__ import annotations

from .memory import allocate
from .native import NativeFunction, load
from .record import SLOTS, Record
from .run import QUIET, FailureWords, Launcher, RawReport
from .stream import CpuEvent, CpuStream

__all__ = [
    "QUIET",
    "SLOTS",
    "CpuEvent",
    "CpuStream",
    "FailureWords",
    "Launcher",
    "NativeFunction",
    "RawReport",
    "Record",
    "allocate",
    "load",
]
