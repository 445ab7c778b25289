"""Runs a native kernel over a grid by the calling convention of base.cpu_abi."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...base.cpu_abi import MAX_GRID_RANK, LaunchWord
from ...base.errors import DriverError
from .memory import Bytes, address_of, allocate
from .native import NativeFunction
from .pool import LaunchRecord, default

PRINT_CAPACITY = 1 << 20

Slots = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class FailureWords:
    """What the first failed check or assertion wrote down."""

    site: int
    block: int
    index: int
    extent: int


@dataclass(frozen=True, slots=True)
class RawReport:
    """What a launch left in its record: the first failure, the print records in written order."""

    failure: FailureWords | None
    printed: bytes
    truncated: bool
    """Whether print records were lost for lack of room."""


QUIET = RawReport(failure=None, printed=b"", truncated=False)
"""Of a launch that failed no check and printed nothing."""


def execute(
    function: NativeFunction,
    slots: Slots,
    grid: Sequence[int],
    scratch_bytes: int = 0,
    print_capacity: int = PRINT_CAPACITY,
    *,
    streamed: bool = False,
) -> RawReport:
    """Run all blocks of a grid; give back what the kernel reported.

    `slots` are the arguments as `base.cpu_abi` lays them out; what they point to must stay where it
    is until this returns. A `streamed` launch writes its outputs past the caches where it can.
    KeyboardInterrupt may leave, with some of the blocks not run.
    """
    blocks = _check(slots, grid, scratch_bytes, print_capacity)
    buffer, address = _print_buffer(print_capacity)
    record = LaunchRecord()
    record[:MAX_GRID_RANK] = [*grid, *ONES[len(grid) :]]
    record[BUFFER], record[CAPACITY] = address, print_capacity
    record[STREAM] = streamed
    default().run(function.address, _address(slots), record, blocks, scratch_bytes)
    if record[TAKEN] or record[USED]:
        return _report(record, buffer)
    _unused.buffer = buffer, address
    return QUIET


ONES = (1,) * MAX_GRID_RANK
# Plain ints: looking up the members of an enum would take a tenth of a small launch.
TAKEN, USED = int(LaunchWord.ERROR_TAKEN), int(LaunchWord.PRINT_USED)
BUFFER, CAPACITY = int(LaunchWord.PRINT_BUFFER), int(LaunchWord.PRINT_CAPACITY)
STREAM = int(LaunchWord.STREAM)
NO_BUFFER = np.empty(0, np.uint8), 0


class _Unused(threading.local):
    """A print buffer of each thread, still all zero: making one takes longer than a launch."""

    def __init__(self) -> None:
        self.buffer: tuple[Bytes, int] = NO_BUFFER


_unused = _Unused()


def _print_buffer(capacity: int) -> tuple[Bytes, int]:
    """A zeroed buffer of at least that size, and its address."""
    if capacity == 0:
        return NO_BUFFER
    found, _unused.buffer = _unused.buffer, NO_BUFFER
    if found[0].size != capacity:
        buffer = allocate(capacity, zeroed=True)
        found = buffer, address_of(buffer)
    return found


def _address(slots: Slots) -> int:
    """The address of the slots; through the buffer protocol, which is the fastest way."""
    if slots.size and slots.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, slots)))
    return address_of(slots)


def _check(slots: Slots, grid: Sequence[int], scratch_bytes: int, print_capacity: int) -> int:
    """Refuse what native code could not survive; give the number of blocks."""
    if slots.dtype != SLOT or slots.ndim != 1 or not slots.flags.c_contiguous:
        raise DriverError(
            "kernel arguments cannot be passed",
            expected="a contiguous one-dimensional array of uint64",
            got=f"{slots.dtype} of shape {slots.shape}",
        )
    blocks = math.prod(grid)
    if len(grid) > MAX_GRID_RANK or min(grid, default=0) < 0 or blocks >= 1 << 62:
        raise DriverError(
            "a grid cannot be launched",
            expected=f"at most {MAX_GRID_RANK} axes of 0 or more blocks, fewer than 2^62 in all",
            got=str(tuple(grid)),
        )
    if scratch_bytes < 0 or print_capacity < 0:
        raise DriverError(
            "a kernel cannot be launched",
            expected="sizes of 0 or more bytes",
            got=f"scratch {scratch_bytes}, print buffer {print_capacity}",
        )
    return blocks


SLOT = np.dtype(np.uint64)


def _report(record: ctypes.Array[ctypes.c_int64], buffer: Bytes) -> RawReport:
    failure = None
    if record[TAKEN]:
        failure = FailureWords(*record[LaunchWord.ERROR_SITE : LaunchWord.ERROR_EXTENT + 1])
    printed = _written(buffer) if record[USED] else b""
    return RawReport(failure, printed, record[USED] > record[CAPACITY])


def _written(buffer: Bytes) -> bytes:
    """The records that were written: up to the first that did not fit, where zeros remain."""
    words = buffer[: buffer.size // 8 * 8].view(np.int64)
    end = 0
    while end < words.size and words[end] > 0:
        end += int(words[end]) // 8
    return words[:end].tobytes()
