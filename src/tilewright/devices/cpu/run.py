"""Native kernels over a grid, by the rules of base.cpu_abi: what is run, and what it reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.cpu_abi import MAX_GRID_RANK
from ...base.errors import DriverError
from .memory import Bytes
from .native import NativeFunction
from .record import CANCELLED, FAILURE, LASTED, STARVED, STREAM, TAKEN, USED, Record

PRINT_CAPACITY = 1 << 20
BRIEF = 50_000
"""Nanoseconds that a caller may spend on a run although others wait for the caller."""


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

    failure: FailureWords | None = None
    printed: bytes = b""
    truncated: bool = False
    """Whether print records were lost for lack of room."""
    problem: DriverError | None = None
    """Why it was not run to its end, if it was not."""


QUIET = RawReport()
"""Of a launch that failed no check and printed nothing."""


class Launcher:
    """A native kernel over one grid, checked once; runs any number of times, from any thread.

    `slots` are the arguments as `base.cpu_abi` lays them out; a run may have others in its record.
    A `streamed` launch writes its outputs with non-temporal stores where it can; if its blocks
    share work, a thread takes `together` of them at a time.

    To run: take a `record()`, set what changes, pass it to `CpuStream.launch`; when the stream has
    passed it, `report(record)` returns the outcome and recycles the record.
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
        together: int = 1,
    ) -> None:
        self._function = function  # keeps the code where it is
        self._blocks = _check(grid, scratch_bytes, print_capacity)
        self._slots, self._grid = tuple(slots), tuple(grid)
        self._scratch_bytes = scratch_bytes
        self._print_capacity = print_capacity
        self._streamed = streamed
        self._together = together
        self.idle: list[Record] = []
        """Records that are as good as new."""

    def record(self) -> Record:
        """Return the words of one run, to fill in what changes: slot i is at `SLOTS + i`."""
        try:
            return self.idle.pop()
        except IndexError:
            # Not one per thread: a launch may begin inside another one, in a signal handler.
            record = self.new_record()
            record.own_scratch()
            return record

    def is_brief(self) -> bool:
        """Return whether a run is known to be short, from an earlier run with other numbers."""
        return bool(self.idle) and 0 < self.idle[-1].words[LASTED] < BRIEF

    def new_record(self) -> Record:
        """Return the words of a run that is recorded and keeps them."""
        record = Record(
            self._function.address, self._slots, self._grid, self._blocks,
            self._scratch_bytes, self._print_capacity, self._together,
        )  # fmt: skip
        record.words[STREAM] = self._streamed
        return record

    def report(self, record: Record) -> RawReport:
        """Return the report of a finished run; its record may not be used again after this."""
        words = record.words
        if words[TAKEN] or words[USED] or words[CANCELLED] or words[STARVED]:
            return self._read(record)
        # Only a record and a buffer that nothing was reported in are as good as new.
        self.idle.append(record)
        return QUIET

    def report_again(self, run: list[Record]) -> RawReport:
        """Return the report of the one record in a list; this may be called again.

        The record leaves the list where it can be reused.
        """
        if not run:
            return QUIET
        record = run[0]
        words = record.words
        if words[TAKEN] or words[USED] or words[CANCELLED] or words[STARVED]:
            return self._read(record)
        self.idle.append(run.pop())
        return QUIET

    def _read(self, record: Record) -> RawReport:
        words = record.words
        failure = FailureWords(*words[FAILURE]) if words[TAKEN] else None
        printed = written(record.printed) if words[USED] and record.printed is not None else b""
        return RawReport(failure, printed, words[USED] > self._print_capacity, problem_of(record))


def problem_of(record: Record) -> DriverError | None:
    """Return why a job did not run to its end, if it did not."""
    if record.words[STARVED]:
        return DriverError(
            f"out of memory: {record.scratch_bytes} bytes of scratch could not be allocated",
            hint="use smaller tiles, or free tensors that are no longer needed",
        )
    if record.words[CANCELLED]:
        return DriverError(
            "a launch was cancelled before all its blocks had run",
            hint="wait for started work before the program ends",
        )
    return None


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


def written(buffer: Bytes) -> bytes:
    """Return the written records: up to the first that did not fit, where zeros remain."""
    words = buffer[: buffer.size // 8 * 8].view(np.int64)
    end = 0
    while end < words.size and words[end] > 0:
        end += int(words[end]) // 8
    return words[:end].tobytes()
