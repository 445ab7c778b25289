"""The pool host memory comes from: freed memory is kept for the next allocation of its size.

What the system gives anew must be mapped page by page when it is first touched, which takes longer
than most kernels; what is kept is there. Sizes are rounded up by an eighth at most, so that nearly
equal ones share what is kept.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ...base.shapes import ceil_div
from ..protocol import MemoryStats
from .memory import ALIGNMENT, OutOfMemoryError, address_of, allocate, refuse_negative

KEPT_SHARE = 4
"""Of the machine's memory one part in so many is kept unused, at most, unless a program says so."""


class Room(NamedTuple):
    """Memory from the system."""

    memory: object
    address: int
    size: int


class HostMemory:
    """Bytes of the host, given back to their pool with this object."""

    __slots__ = ("__weakref__", "_pool", "_room", "address", "nbytes")

    def __init__(self, room: Room, nbytes: int, pool: HostPool) -> None:
        self._room = room
        self._pool = pool
        self.address = room.address
        self.nbytes = nbytes

    def __del__(self) -> None:
        # Nothing but this: it may run anywhere, in the middle of anything.
        if hasattr(self, "_pool"):  # else an interrupt came before it had any memory
            self._pool.returned.append(self._room)


def _nothing() -> None:
    """Where there is nothing to reclaim."""


def _forget(room: Room) -> None:
    """The system takes memory back with the last reference to it."""


def _of_system(nbytes: int, zeroed: bool) -> tuple[object, int]:
    memory = allocate(nbytes, zeroed=zeroed)
    return memory, address_of(memory)


def clear(address: int, nbytes: int) -> None:
    """Make memory zero, on this thread."""
    ctypes.memset(address, 0, nbytes)


class HostPool:
    """Gives memory of the host, and keeps what comes back; for any number of threads.

    `reclaim` is called when memory runs out, before what is kept is given back to the system.
    `source` gives new memory of a size, zeroed if asked: what keeps it, and its address. `release`
    is told of memory the pool lets go of. That cannot be left to a finalizer of what keeps it: the
    garbage collector calls the finalizers of all objects of a cycle, hence also of memory that
    comes back here by that of another.
    """

    def __init__(
        self,
        reclaim: Callable[[], None] = _nothing,
        zero: Callable[[int, int], None] = clear,
        source: Callable[[int, bool], tuple[object, int]] = _of_system,
        release: Callable[[Room], None] = _forget,
    ) -> None:
        self.returned: deque[Room] = deque()
        """Memory that is used no more, not yet looked at."""
        self._reclaim, self._zero, self._source = reclaim, zero, source
        self._let_go = release
        # A signal's handler may allocate in the middle of an allocation.
        self._lock = threading.RLock()
        self._survives_fork = False
        self._kept: dict[int, deque[tuple[int, Room]]] = {}
        """Unused memory by size, each with its turn to go, the oldest first."""
        self._turns = itertools.count()
        self._threshold: int | None = None
        self._used = self._used_high = self._unused = self._reserved_high = 0

    def allocate(self, nbytes: int, *, zeroed: bool) -> HostMemory:
        """Memory of this size, at a multiple of 64; a DriverError if there is not enough."""
        refuse_negative(nbytes)
        size = size_class(nbytes)
        if self.returned:
            self._take_back()
        with self._lock:
            known = self._kept.get(size)
            found = known.pop()[1] if known else None
            if found is not None:
                self._unused -= size
                self._count(size)
        memory = HostMemory(found or self._new(nbytes, size, zeroed), nbytes, self)
        if zeroed and found is not None:
            self._zero(memory.address, nbytes)
        return memory

    def stats(self) -> MemoryStats:
        """What is in use, and what the system gave in all."""
        self._take_back()
        reserved = self._used + self._unused
        return MemoryStats(self._used, self._used_high, reserved, self._reserved_high)

    def set_release_threshold(self, nbytes: int) -> None:
        """Keep at most so many unused bytes."""
        self._threshold = nbytes
        self._take_back()

    def trim(self) -> None:
        """Give all unused memory back to the system."""
        self._take_back()
        self._release(0)

    def _count(self, size: int) -> None:
        self._used += size
        self._used_high = max(self._used_high, self._used)
        self._reserved_high = max(self._reserved_high, self._used + self._unused)

    def _take_back(self) -> None:
        """Keep what has come back, as far as the threshold allows."""
        with self._lock:
            while self.returned:
                room = self.returned.popleft()
                self._used -= room.size
                self._unused += room.size
                self._kept.setdefault(room.size, deque()).append((next(self._turns), room))
        threshold = self._threshold
        self._release(default_threshold() if threshold is None else threshold)

    def _release(self, limit: int) -> None:
        """Give the memory back that was not used for longest, until so little is unused."""
        gone: list[Room] = []
        with self._lock:
            if self._unused > limit:  # an interrupt may have come before what was counted was kept
                self._unused = sum([size * len(kept) for size, kept in self._kept.items()])
            while self._unused > limit:
                oldest = min((kept for kept in self._kept.values() if kept), key=_turn_of_first)
                gone.append(oldest.popleft()[1])
                self._unused -= gone[-1].size
        for room in gone:
            self._let_go(room)

    def _new(self, nbytes: int, size: int, zeroed: bool) -> Room:
        if not self._survives_fork:
            self._prepare_for_fork()
        try:
            memory, address = self._source(size, zeroed)
        except OutOfMemoryError:
            memory, address = self._try_harder(nbytes, size, zeroed)
        with self._lock:
            self._count(size)
        return Room(memory, address, size)

    def _try_harder(self, nbytes: int, size: int, zeroed: bool) -> tuple[object, int]:
        self._reclaim()
        self.trim()
        try:
            return self._source(size, zeroed)
        except OutOfMemoryError:
            raise OutOfMemoryError(
                f"out of memory: {nbytes} bytes ({nbytes / 2**30:.2f} GiB) could not be allocated",
                got=f"{self._used} bytes ({self._used / 2**30:.2f} GiB) in use on this device",
                hint="use smaller tensors or tiles, or free tensors that are no longer needed",
            ) from None

    def _prepare_for_fork(self) -> None:
        """Have no thread in the middle of an allocation when a child process is made."""
        with self._lock:
            if not self._survives_fork:
                self._survives_fork = True
                let_go = self._lock.release
                os.register_at_fork(
                    before=self._lock.acquire, after_in_parent=let_go, after_in_child=let_go
                )


def _turn_of_first(kept: deque[tuple[int, Room]]) -> int:
    return kept[0][0]


def size_class(nbytes: int) -> int:
    """The size that is allocated for a size that is asked for: 8 steps to each power of two.

    >>> [size_class(n) for n in (0, 1, 64, 65, 1000, 1025)]
    [64, 64, 64, 128, 1024, 1152]
    """
    if nbytes <= ALIGNMENT:
        return ALIGNMENT
    step = max(ALIGNMENT, 1 << ((nbytes - 1).bit_length() - 4))
    return ceil_div(nbytes, step) * step


@cache
def default_threshold() -> int:
    """How much unused memory is kept unless a program says otherwise."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // KEPT_SHARE
