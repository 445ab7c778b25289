"""The memory of one launch as native code reads it: the job, the launch record, the arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ...base.cpu_abi import LAUNCH_WORDS, MAX_GRID_RANK, LaunchWord
from .worker import JOB_WORDS, Job

# Plain ints: looking up the members of an enum would take a tenth of a small launch.
BLOCKS, THREADS, COUNTER = int(Job.BLOCKS), int(Job.THREADS), int(Job.COUNTER)
SCRATCH, STRIDE = int(Job.SCRATCH), int(Job.STRIDE)

LAUNCH = JOB_WORDS
"""Where the launch words of base.cpu_abi begin."""
CANCEL, TAKEN = LAUNCH + int(LaunchWord.CANCEL), LAUNCH + int(LaunchWord.ERROR_TAKEN)
BUFFER, CAPACITY = LAUNCH + int(LaunchWord.PRINT_BUFFER), LAUNCH + int(LaunchWord.PRINT_CAPACITY)
USED, STREAM = LAUNCH + int(LaunchWord.PRINT_USED), LAUNCH + int(LaunchWord.STREAM)
FAILURE = slice(LAUNCH + int(LaunchWord.ERROR_SITE), LAUNCH + int(LaunchWord.ERROR_EXTENT) + 1)

SLOTS = LAUNCH + LAUNCH_WORDS
"""Where the argument slots begin."""


class Record:
    """One launch: whoever runs it needs nothing else, and has it for itself.

    One that `is_long` had work for helpers when it ran before.
    """

    __slots__ = ("address", "is_long", "words")

    def __init__(self, kernel: int, slots: Sequence[int], grid: Sequence[int], blocks: int) -> None:
        words = (ctypes.c_int64 * (SLOTS + len(slots)))()
        self.words: ctypes.Array[ctypes.c_int64] = words
        self.address = ctypes.addressof(words)
        self.is_long = False
        words[Job.KERNEL] = kernel
        words[Job.ARGUMENTS] = self.address + 8 * SLOTS
        words[Job.LAUNCH] = self.address + 8 * LAUNCH
        words[BLOCKS] = blocks
        words[THREADS] = 1
        words[LAUNCH : LAUNCH + MAX_GRID_RANK] = [*grid, *[1] * (MAX_GRID_RANK - len(grid))]
        words[SLOTS:] = [int(slot) for slot in slots]
