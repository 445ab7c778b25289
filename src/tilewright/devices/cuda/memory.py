"""Memory of a CUDA device, out of a pool of the driver's: kept when freed, given back when asked.

Whoever uses memory keeps it alive until the device has passed that use, so memory that is freed is
used by nothing under way. All allocations and frees go through one stream with no other work: what
is asked for there is there at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ...base.errors import DriverError
from ..cpu.memory import refuse_negative
from ..protocol import MemoryStats
from .context import Context
from .results import OUT_OF_MEMORY, CallError

KEPT_SHARE = 4
"""Of a device's memory one part in so many is kept unused, at most, unless a program says so."""
GIB = 2.0**30


class DeviceMemory:
    """Bytes of a device, given back to their pool with this object."""

    __slots__ = ("__weakref__", "_returned", "address", "nbytes")

    def __init__(self, address: int, nbytes: int, returned: deque[int]) -> None:
        self.address = address
        self.nbytes = nbytes
        self._returned = returned

    def __del__(self) -> None:
        # Nothing but this: it may run anywhere, in the middle of anything.
        if hasattr(self, "_returned"):  # else an interrupt kept it from being made
            self._returned.append(self.address)


class DevicePool:
    """Gives memory of a device; `reclaim` lets go of what finished work has kept alive."""

    def __init__(self, context: Context, reclaim: Callable[[], None]) -> None:
        calls = context.calls
        self._context, self._reclaim = context, reclaim
        self._returned: deque[int] = deque()
        self._stream = context.call(calls.create_stream)
        self._pool = context.call(calls.create_pool, context.ordinal)
        self.set_release_threshold(calls.total_memory(context.ordinal) // KEPT_SHARE)

    def allocate(self, nbytes: int, *, zeroed: bool) -> DeviceMemory:
        """Memory of this size, at a multiple of 256; a DriverError if there is not enough."""
        refuse_negative(nbytes)
        try:
            return self._context.call(self._new, nbytes, zeroed)
        except CallError as error:
            if error.status != OUT_OF_MEMORY:
                raise
        return self._try_harder(nbytes, zeroed)

    @property
    def handle(self) -> int:
        """The driver's own pool."""
        return self._pool

    def stats(self) -> MemoryStats:
        """What is in use, and what the pool has of the device."""
        self._context.call(self._take_back)
        return MemoryStats(*self._context.call(self._context.calls.pool_numbers, self._pool))

    def set_release_threshold(self, nbytes: int) -> None:
        """Keep at most so many unused bytes."""
        self._context.call(self._context.calls.set_pool_threshold, self._pool, nbytes)

    def trim(self) -> None:
        """Give all unused memory back to the device."""
        context = self._context
        context.call(self._take_back)
        context.call(context.calls.synchronize, self._stream)
        context.call(context.calls.trim_pool, self._pool)

    def _new(self, nbytes: int, zeroed: bool) -> DeviceMemory:
        """New memory. For who has made the context current."""
        self._take_back()
        calls, stream = self._context.calls, self._stream
        # There is no memory of no bytes, but it needs an address of its own.
        address = calls.allocate(max(nbytes, 1), self._pool, stream)
        try:
            if zeroed and nbytes:
                calls.fill(address, 0, 1, nbytes, stream)
            calls.synchronize(stream)
            return DeviceMemory(address, nbytes, self._returned)
        except BaseException:  # an interrupt, say
            self._returned.append(address)
            raise

    def _take_back(self) -> None:
        returned, calls = self._returned, self._context.calls
        while returned:
            try:
                address = returned.popleft()
            except IndexError:  # another thread was faster
                return
            calls.free(address, self._stream)

    def _try_harder(self, nbytes: int, zeroed: bool) -> DeviceMemory:
        self._reclaim()
        self.trim()
        try:
            return self._context.call(self._new, nbytes, zeroed)
        except CallError as error:
            if error.status != OUT_OF_MEMORY:
                raise
        context = self._context
        free, total = context.call(context.calls.free_memory)
        used = context.call(context.calls.pool_numbers, self._pool).used
        raise DriverError(
            f"out of memory: {nbytes} bytes ({nbytes / GIB:.2f} GiB) could not be allocated"
            f" on {context.name}",
            got=f"{used} bytes ({used / GIB:.2f} GiB) in use here; {free / GIB:.2f} GiB of"
            f" {total / GIB:.2f} GiB free",
            hint="use smaller tensors, or free tensors that are no longer needed",
        ) from None
