"""Memory of a CUDA device, from a driver's pool, cached when freed.

Every user of memory keeps it alive until the device has passed that use, so freed memory is in no
pending use: the core caches it (`native/cpu/block_cache.hpp`) and reuses it for the same size
without a driver call. Other memory is allocated from the driver's pool, and freed, on one stream
with no other work: what is allocated there is available at once.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable

from ..._core import BlockPool
from ..._core import PooledMemory as DeviceMemory
from ...base.errors import DriverError
from ..cpu.memory import refuse_negative
from ..protocol import MemoryStats
from .context import Context
from .results import OUT_OF_MEMORY, CallError

KEPT_SHARE = 4
"""Of a device's memory one part in so many is kept unused, at most, unless a program says so."""
GIB = 2.0**30

__all__ = ["DeviceMemory", "DevicePool"]


class Allocation:
    """Bytes of the driver's pool, given back to that with this object."""

    __slots__ = ("_returned", "address")

    def __init__(self, address: int, returned: deque[int]) -> None:
        self.address = address
        self._returned = returned

    def __del__(self) -> None:
        # Nothing but this: it may run anywhere, in the middle of anything.
        if hasattr(self, "_returned"):  # else an interrupt kept it from being made
            self._returned.append(self.address)


class DevicePool(BlockPool):
    """An allocator of a device's memory; `reclaim` releases what finished work has kept alive."""

    def __init__(self, context: Context, reclaim: Callable[[], None]) -> None:
        calls = context.calls
        self._exact = True  # tools that look for wild accesses go by what the driver was asked for
        self._context, self._reclaim = context, reclaim
        self._returned: deque[int] = deque()
        self._stream = context.call(calls.create_stream)
        self._pool = context.call(calls.create_pool, context.ordinal)
        self.set_release_threshold(calls.total_memory(context.ordinal) // KEPT_SHARE)

    def allocate(self, nbytes: int, *, zeroed: bool) -> DeviceMemory:
        """Allocate memory of this size, at a multiple of 256; raise a DriverError if there is too
        little.
        """
        if self.unused > self._threshold:
            self._release(self._threshold)
        memory = self._take(nbytes) if self._context.is_fine else None
        if memory is None:
            return self._new(nbytes, zeroed)
        if zeroed and nbytes:
            self._context.call(self._clear, memory.address, nbytes)
        return memory

    @property
    def handle(self) -> int:
        """The driver's own pool."""
        return self._pool

    def stats(self) -> MemoryStats:
        """Return how many bytes are in use, and how many the pool holds of the device."""
        self._release(self._threshold)
        self._context.call(self._take_back)
        used, _, used_high, _ = self._counts()
        driver = self._context.call(self._context.calls.pool_numbers, self._pool)
        return MemoryStats(used, used_high, driver.reserved, driver.reserved_high)

    def set_release_threshold(self, nbytes: int) -> None:
        """Keep at most so many unused bytes."""
        self._threshold = min(nbytes, sys.maxsize)
        self._context.call(self._context.calls.set_pool_threshold, self._pool, nbytes)

    def share(self, ordinal: int) -> None:
        """Let another device access all memory of the pool directly."""
        self._context.call(self._context.calls.share_pool, self._pool, ordinal)

    def trim(self) -> None:
        """Return all unused memory to the device."""
        context = self._context
        self._release(0)
        context.call(self._take_back)
        context.call(context.calls.synchronize, self._stream)
        context.call(context.calls.trim_pool, self._pool)

    def _release(self, limit: int) -> None:
        """Return the least recently used free memory, until at most the limit is unused."""
        while self.unused > limit and self._drop_oldest() is not None:
            pass

    def _new(self, nbytes: int, zeroed: bool) -> DeviceMemory:
        refuse_negative(nbytes)
        try:
            made = self._context.call(self._ask_driver, nbytes, zeroed)
        except CallError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            made = self._try_harder(nbytes, zeroed)
        return self._adopt(made, made.address, nbytes, nbytes)

    def _ask_driver(self, nbytes: int, zeroed: bool) -> Allocation:
        """Allocate from the driver's pool. Call it with the context current."""
        self._take_back()
        # An allocation of no bytes has no memory, but it needs a unique address.
        address = self._context.calls.allocate(max(nbytes, 1), self._pool, self._stream)
        try:
            if zeroed and nbytes:
                self._clear(address, nbytes)
            else:
                self._context.calls.synchronize(self._stream)
            return Allocation(address, self._returned)
        except BaseException:  # an interrupt, say
            self._returned.append(address)
            raise

    def _clear(self, address: int, nbytes: int) -> None:
        calls, stream = self._context.calls, self._stream
        calls.fill(address, 0, 1, nbytes, stream)
        calls.synchronize(stream)

    def _take_back(self) -> None:
        returned, calls = self._returned, self._context.calls
        while returned:
            try:
                address = returned.popleft()
            except IndexError:  # another thread was faster
                return
            calls.free(address, self._stream)

    def _try_harder(self, nbytes: int, zeroed: bool) -> Allocation:
        self._reclaim()
        self.trim()
        try:
            return self._context.call(self._ask_driver, nbytes, zeroed)
        except CallError as error:
            if error.status != OUT_OF_MEMORY:
                raise
        context = self._context
        free, total = context.call(context.calls.free_memory)
        used = self._counts()[0]
        raise DriverError(
            f"out of memory: {nbytes} bytes ({nbytes / GIB:.2f} GiB) could not be allocated"
            f" on {context.name}",
            got=f"{used} bytes ({used / GIB:.2f} GiB) in use here; {free / GIB:.2f} GiB of"
            f" {total / GIB:.2f} GiB free",
            hint="use smaller tensors, or free tensors that are no longer needed",
        ) from None
