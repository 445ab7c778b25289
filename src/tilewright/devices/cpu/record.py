"""The memory of one launch as native code reads it: the job, the launch record, the arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ..._core import JOB_LAYOUT, JOB_WORDS
from ...base.cpu_abi import LAUNCH_WORDS, MAX_GRID_RANK, CpuLaunchWord
from .memory import Bytes, address_of, allocate

THREADS, LONG = JOB_LAYOUT["threads"], JOB_LAYOUT["was_long"]
CANCELLED, STARVED = JOB_LAYOUT["cancelled"], JOB_LAYOUT["starved"]
LASTED = JOB_LAYOUT["lasted"]

LAUNCH = JOB_WORDS
"""Where the launch words of base.cpu_abi begin."""
CANCEL, TAKEN = LAUNCH + int(CpuLaunchWord.CANCEL), LAUNCH + int(CpuLaunchWord.ERROR_TAKEN)
BUFFER, CAPACITY = (
    LAUNCH + int(CpuLaunchWord.PRINT_BUFFER),
    LAUNCH + int(CpuLaunchWord.PRINT_CAPACITY),
)
USED, STREAM = LAUNCH + int(CpuLaunchWord.PRINT_USED), LAUNCH + int(CpuLaunchWord.STREAM)
FAILURE = slice(
    LAUNCH + int(CpuLaunchWord.ERROR_SITE), LAUNCH + int(CpuLaunchWord.ERROR_EXTENT) + 1
)

OWN_SCRATCH = 64 << 10
"""The most scratch memory that a record allocates for itself."""

SLOTS = LAUNCH + LAUNCH_WORDS
"""Where the argument slots begin."""


class Record:
    """One launch: the thread that runs it needs nothing else, and uses it alone."""

    __slots__ = ("address", "blocks", "printed", "scratch", "scratch_bytes", "words")

    def __init__(
        self,
        kernel: int,
        slots: Sequence[int],
        grid: Sequence[int],
        blocks: int,
        scratch_bytes: int = 0,
        print_capacity: int = 0,
        together: int = 1,
    ) -> None:
        words = (ctypes.c_int64 * (SLOTS + len(slots)))()
        self.words: ctypes.Array[ctypes.c_int64] = words
        self.address = ctypes.addressof(words)
        self.blocks = blocks
        self.scratch_bytes = scratch_bytes
        self.scratch: tuple[int, Bytes | None] | None = None if scratch_bytes else (0, None)
        """The scratch memory of the thread that enqueues it: its address, and its owner; None: the
        record has scratch memory.
        """
        self.printed: Bytes | None = None
        words[JOB_LAYOUT["kernel"]] = kernel
        words[JOB_LAYOUT["arguments"]] = self.address + 8 * SLOTS
        words[JOB_LAYOUT["launch"]] = self.address + 8 * LAUNCH
        words[JOB_LAYOUT["blocks"]] = blocks
        words[JOB_LAYOUT["scratch_bytes"]] = scratch_bytes
        words[THREADS] = 1
        words[JOB_LAYOUT["together"]] = together
        words[LAUNCH : LAUNCH + MAX_GRID_RANK] = [*grid, *[1] * (MAX_GRID_RANK - len(grid))]
        words[SLOTS:] = [int(slot) for slot in slots]
        if print_capacity:
            self._make_room(print_capacity)

    def _make_room(self, print_capacity: int) -> None:
        self.printed = allocate(print_capacity, zeroed=True)
        self.words[BUFFER], self.words[CAPACITY] = address_of(self.printed), print_capacity

    def own_scratch(self) -> None:
        """Allocate separate scratch memory if it is small, since reserving a thread's is slower."""
        if 0 < self.scratch_bytes <= OWN_SCRATCH:
            memory = allocate(self.scratch_bytes)
            self.scratch = address_of(memory), memory

    def forget_prints(self) -> None:
        """Clear the print buffer."""
        if self.printed is not None and self.words[USED]:
            self.printed[:] = 0
            self.words[USED] = 0

    def give_up(self) -> None:
        """Start no further block; the thread that runs the job does the rest."""
        self.words[CANCELLED] = self.words[CANCEL] = 1
