"""What waits to be given back: memory others are done with, and memory of theirs we are done with.

Finalizers and native deleters only leave a note; whoever next allocates, imports or exports sweeps.
"""

from __future__ import annotations

import atexit
import ctypes
from collections import deque
from collections.abc import Callable
from functools import cache

from .borrow import LOCK

_call_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""Called without the interpreter's lock, as deleters expect."""
_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))

_DUE: deque[tuple[int, int]] = deque()
"""Deleters of other libraries that must be called, and what with."""
_OUT: set[Exported] = set()
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
        with LOCK:
            _OUT.add(self)

    def is_over(self) -> bool:
        """Whether the other library is done with it. For who holds the lock."""
        return self._over or self._word.value != 0

    def finish(self) -> int:
        """Let go of what it kept; gives the block, to be freed. For who holds the lock."""
        self._over, self._keep = True, None
        return self._block


class Imported:
    """A managed tensor of another library, whose deleter is called once, after this object died."""

    __slots__ = ("__weakref__", "_deleter", "_managed")

    def __init__(self, deleter: int, managed: int) -> None:
        self._deleter = deleter
        self._managed = managed
        _sweep_at_exit()

    def __del__(self, append: Callable[[tuple[int, int]], None] = _DUE.append) -> None:
        if self._deleter:
            append((self._deleter, self._managed))


def sweep() -> None:
    """Free what others are done with, and call the deleters of what we are done with."""
    if _OUT:
        with LOCK:
            over = [export for export in _OUT if export.is_over()]
            _OUT.difference_update(over)
            blocks = [export.finish() for export in over]
        for block in blocks:
            _free(block)
    while _DUE:
        try:
            deleter, managed = _DUE.popleft()
        except IndexError:  # another thread was faster
            return
        _call_deleter(deleter)(managed)


@cache
def _sweep_at_exit() -> None:
    atexit.register(sweep)
