"""Native code on the processors of this machine: load it, run it, give it memory."""

from __future__ import annotations

from .memory import allocate
from .native import NativeFunction, load
from .run import FailureWords, RawReport, execute

__all__ = ["FailureWords", "NativeFunction", "RawReport", "allocate", "execute", "load"]
