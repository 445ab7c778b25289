"""Runs a native kernel over a grid by the calling convention of base.cpu_abi."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.cpu_abi import MAX_GRID_RANK
from ...base.errors import DriverError
from .memory import Bytes, address_of, allocate
from .native import NativeFunction
from .pool import default
from .record import BUFFER, CAPACITY, FAILURE, STREAM, TAKEN, USED, Record

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


class Launcher:
    """A native kernel over one grid, checked once; runs any number of times, from any thread.

    `slots` are the arguments as `base.cpu_abi` lays them out; a run may have others in its record.
    A `streamed` launch writes its outputs past the caches where it can.
    """

    def __init__(
        self,
        function: NativeFunction,
        slots: Sequence[int],
        grid: Sequence[int],
        scratch_bytes: int = 0,
        print_capacity: int = PRINT_CAPACITY,
        *,
        streamed: bool = False,
    ) -> None:
        self._function = function  # keeps the code where it is
        self._blocks = _check(grid, scratch_bytes, print_capacity)
        self._slots, self._grid = tuple(slots), tuple(grid)
        self._scratch_bytes = scratch_bytes
        self._print_capacity = print_capacity
        self._streamed = streamed
        self._idle: list[Record] = []

    def record(self) -> Record:
        """The words of one run, to fill in what changes: slot i is at `SLOTS + i`."""
        try:
            return self._idle.pop()
        except IndexError:
            # Not one per thread: a launch may begin inside another one, in a signal handler.
            return self._new_record()

    def _new_record(self) -> Record:
        record = Record(self._function.address, self._slots, self._grid, self._blocks)
        record.words[STREAM] = self._streamed
        return record

    def run(self, record: Record) -> RawReport:
        """Run all blocks; give back what the kernel reported.

        What the arguments point to must stay where it is until this returns. KeyboardInterrupt may
        leave, with some of the blocks not run.
        """
        words, room = record.words, self._print_capacity
        buffer, address = NO_BUFFER
        if room:
            buffer, address = _print_buffer(room)
            words[BUFFER], words[CAPACITY] = address, room
        default().run(record, self._blocks, self._scratch_bytes)
        if words[TAKEN] or words[USED]:
            return self._report(record, buffer)
        # Only a record and a buffer that nothing was reported in are as good as new.
        self._idle.append(record)
        if room:
            _unused.buffer = buffer, address
        return QUIET

    def _report(self, record: Record, buffer: Bytes) -> RawReport:
        words = record.words
        failure = FailureWords(*words[FAILURE]) if words[TAKEN] else None
        printed = _written(buffer) if words[USED] else b""
        return RawReport(failure, printed, words[USED] > self._print_capacity)


def execute(
    function: NativeFunction,
    slots: Slots,
    grid: Sequence[int],
    scratch_bytes: int = 0,
    print_capacity: int = PRINT_CAPACITY,
    *,
    streamed: bool = False,
) -> RawReport:
    """Run all blocks of a grid, once."""
    if slots.dtype != np.uint64 or slots.ndim != 1:
        raise DriverError(
            "kernel arguments cannot be passed",
            expected="a one-dimensional array of uint64",
            got=f"{slots.dtype} of shape {slots.shape}",
        )
    launcher = Launcher(
        function, slots.tolist(), grid, scratch_bytes, print_capacity, streamed=streamed
    )
    return launcher.run(launcher.record())


NO_BUFFER: tuple[Bytes, int] = np.empty(0, np.uint8), 0


class _Unused(threading.local):
    """A print buffer of each thread, still all zero: making one takes longer than a launch."""

    def __init__(self) -> None:
        self.buffer = NO_BUFFER


_unused = _Unused()


def _print_buffer(capacity: int) -> tuple[Bytes, int]:
    """A zeroed buffer of that size, and its address."""
    found, _unused.buffer = _unused.buffer, NO_BUFFER
    if found[0].size != capacity:
        buffer = allocate(capacity, zeroed=True)
        found = buffer, address_of(buffer)
    return found


def _check(grid: Sequence[int], scratch_bytes: int, print_capacity: int) -> int:
    """Refuse what native code could not survive; give the number of blocks."""
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


def _written(buffer: Bytes) -> bytes:
    """The records that were written: up to the first that did not fit, where zeros remain."""
    words = buffer[: buffer.size // 8 * 8].view(np.int64)
    end = 0
    while end < words.size and words[end] > 0:
        end += int(words[end]) // 8
    return words[:end].tobytes()
