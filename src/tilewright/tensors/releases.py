"""Memory that waits to be released: ours that others have finished with, and theirs that we have.

Finalizers and native deleters only leave a note; the next allocation, import or export sweeps.
"""

from __future__ import annotations

import atexit
import ctypes
from functools import cache

from .._core import sweep_imports
from .borrow import LOCK

_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))

OUT: set[Exported] = set()
"""Exports whose deleter has not been called, as far as is known."""


class Exported:
    """A block of memory with a managed tensor in it, and what that keeps alive.

    The first word of the block tells whether the other library is done.
    """

    __slots__ = ("_block", "_keep", "_over", "_word")

    def __init__(self, block: int, keep: object) -> None:
        self._block = block
        self._keep = keep
        self._over = False
        self._word = ctypes.c_uint64.from_address(block)

    def list(self) -> None:
        """Keep what it keeps until the other library is done with it."""
        with LOCK:
            OUT.add(self)

    def is_over(self) -> bool:
        """Return whether the other library has released it. Call it with the lock held."""
        return self._over or self._word.value != 0

    def finish(self) -> int:
        """Release what it kept; return the block, to be freed. Call it with the lock held."""
        self._over, self._keep = True, None
        return self._block


def sweep() -> None:
    """Free what others are done with, and call the deleters of what we are done with."""
    if OUT:
        with LOCK:
            over = list(filter(Exported.is_over, OUT))
            OUT.difference_update(over)
            blocks = [export.finish() for export in over]
        for block in blocks:
            _free(block)
    sweep_imports()


@cache
def sweep_at_exit() -> None:
    """Register a sweep for the end of the interpreter; the first call is enough."""
    atexit.register(sweep)
