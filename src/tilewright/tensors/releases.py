"""What waits to be given back: memory others are done with, and memory of theirs we are done with.

Finalizers and native deleters only leave a note; whoever next allocates, imports or exports sweeps.
"""

from __future__ import annotations

import atexit
import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter, call

from .borrow import LOCK

_call_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""Called without the interpreter's lock, as deleters expect."""
_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))

_DUE: deque[_Due] = deque()
"""Deleters of other libraries that must be called."""
_KEPT: set[_Due] = set()
"""Those that may have to be."""
_nothing = partial(int)
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

    def list(self) -> None:
        """Keep what it keeps until the other library is done with it."""
        with LOCK:
            _OUT.add(self)

    def is_over(self) -> bool:
        """Whether the other library is done with it. For who holds the lock."""
        return self._over or self._word.value != 0

    def finish(self) -> int:
        """Let go of what it kept; gives the block, to be freed. For who holds the lock."""
        self._over, self._keep = True, None
        return self._block


class _Due(weakref.ref["Imported"]):
    """Tells when what was imported is gone, and what is to be called then."""

    __slots__ = ("run",)
    run: Callable[[], object]


class Imported:
    """A managed tensor of another library, whose deleter is called once, after this object died.

    No Python runs when it dies, nor between that and the deleter: an interrupt would lose the call.
    """

    __slots__ = ("__weakref__", "due")

    def __init__(self) -> None:
        self.due = due = _Due(self, _DUE.append)
        due.run = _nothing
        _KEPT.add(due)
        _sweep_at_exit()


def deleting(deleter: int | None, managed: int) -> Callable[[], object]:
    """What calls a deleter of another library, if there is one."""
    return partial(_call_deleter(deleter), managed) if deleter else _nothing


def sweep() -> None:
    """Free what others are done with, and call the deleters of what we are done with."""
    if _OUT:
        with LOCK:
            over = list(filter(Exported.is_over, _OUT))
            _OUT.difference_update(over)
            blocks = [export.finish() for export in over]
        for block in blocks:
            _free(block)
    if _DUE:
        _KEPT.difference_update(list(_DUE))
        calls: Iterator[Callable[[], object]] = map(attrgetter("run"), iter(_DUE.popleft, None))
        try:
            deque(map(call, calls), maxlen=0)
        except IndexError:  # there are no more
            return


@cache
def _sweep_at_exit() -> None:
    atexit.register(sweep)
