"""The launch stub as Python callables, compiled at first use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ..cpu.native import NativeFunction
from ..cpu.runtime.calls import compiled
from .text import TEXT

NAMES = {"share": 4, "reserve": 5, "address": 4}
"""The functions, and how many arguments each takes."""


@dataclass(frozen=True, slots=True)
class Stub:
    """What the functions do stands with their texts; numbers and addresses in, a number out."""

    share: Callable[[bytes, int, int, int], int]
    reserve: Callable[[bytes, int, int, bytes, int], int]
    address: Callable[[bytes, int, int, int], int]
    code: tuple[NativeFunction, ...]
    """Kept while the functions may be called."""


@cache
def stub() -> Stub:
    """All of them."""
    # Addresses take half the time of numbers to hand over, and Python's bytes are addresses.
    found = compiled(TEXT, tuple(f"tw_{name}" for name in NAMES), optimize=True)
    calls = {
        name: ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * arity)(
            found[f"tw_{name}"].address
        )
        for name, arity in NAMES.items()
    }
    return Stub(**calls, code=tuple(found.values()))
