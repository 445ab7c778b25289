"""The pool host memory comes from: freed memory is kept for the next allocation of its size.

The core keeps it (`native/cpu/block_cache.hpp`); what it does not have is asked of the system here.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from ..._core import BlockPool, PooledMemory
from ..._core import size_class as size_class  # for tests
from ..protocol import MemoryStats
from .memory import OutOfMemoryError, address_of, allocate, refuse_negative

KEPT_SHARE = 4
"""Of the machine's memory one part in so many is kept unused, at most, unless a program says so."""


class Room(NamedTuple):
    """Memory from the system."""

    memory: object
    address: int
    size: int


def _nothing() -> None:
    """Do nothing: there is nothing to reclaim."""


def _forget(room: Room) -> None:
    """Do nothing: the system reclaims memory with the last reference to it."""


def _of_system(nbytes: int, zeroed: bool) -> tuple[object, int]:
    memory = allocate(nbytes, zeroed=zeroed)
    return memory, address_of(memory)


def clear(address: int, nbytes: int) -> None:
    """Write zeros to memory, on this thread."""
    ctypes.memset(address, 0, nbytes)


class HostPool(BlockPool):
    """A caching allocator of host memory, safe for any number of threads.

    `reclaim` is called when memory runs out, before cached memory is returned to the system.
    `source` allocates memory of a size, zeroed if requested, and returns its owner and its address.
    `release` is called for memory that leaves the pool. A finalizer of the owner cannot do that:
    the garbage collector calls the finalizers of all objects of a cycle, hence also of memory that
    another finalizer returns to the pool.
    """

    def __init__(
        self,
        reclaim: Callable[[], None] = _nothing,
        zero: Callable[[int, int], None] = clear,
        source: Callable[[int, bool], tuple[object, int]] = _of_system,
        release: Callable[[Room], None] = _forget,
    ) -> None:
        self._reclaim, self._zero, self._source = reclaim, zero, source
        self._let_go = release
        self._threshold = default_threshold()

    def allocate(self, nbytes: int, *, zeroed: bool) -> PooledMemory:
        """Allocate memory of this size, at a multiple of 64; raise a DriverError if there is too
        little.
        """
        if self.unused > self._threshold:
            self._release(self._threshold)
        memory = self._take(nbytes)
        if memory is None:
            return self._new(nbytes, zeroed)
        if zeroed:
            self._zero(memory.address, nbytes)
        return memory

    def stats(self) -> MemoryStats:
        """Return how many bytes are in use, and how many the system has given."""
        self._release(self._threshold)
        used, unused, used_high, reserved_high = self._counts()
        return MemoryStats(used, used_high, used + unused, reserved_high)

    def set_release_threshold(self, nbytes: int) -> None:
        """Keep at most so many unused bytes."""
        self._threshold = min(nbytes, sys.maxsize)
        self._release(nbytes)

    def trim(self) -> None:
        """Return all unused memory to the system."""
        self._release(0)

    def _release(self, limit: int) -> None:
        """Return the least recently used free memory, until at most the limit is unused."""
        while self.unused > limit and (oldest := self._drop_oldest()) is not None:
            self._let_go(Room(*oldest))

    def _new(self, nbytes: int, zeroed: bool) -> PooledMemory:
        refuse_negative(nbytes)
        try:
            size = size_class(nbytes)
            memory, address = self._source(size, zeroed)
        except (OutOfMemoryError, OverflowError):
            size, memory, address = self._try_harder(nbytes, zeroed)
        return self._adopt(memory, address, nbytes, size)

    def _try_harder(self, nbytes: int, zeroed: bool) -> tuple[int, object, int]:
        self._reclaim()
        self.trim()
        try:
            size = size_class(nbytes)
            return size, *self._source(size, zeroed)
        except (OutOfMemoryError, OverflowError):
            used = self._counts()[0]
            raise OutOfMemoryError(
                f"out of memory: {nbytes} bytes ({nbytes / 2**30:.2f} GiB) could not be allocated",
                got=f"{used} bytes ({used / 2**30:.2f} GiB) in use on this device",
                hint="use smaller tensors or tiles, or free tensors that are no longer needed",
            ) from None


@cache
def default_threshold() -> int:
    """Return how many unused bytes are kept, unless a program sets another limit."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // KEPT_SHARE
