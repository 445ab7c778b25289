"""The words of one launch as the driver takes it, and the pinned words that kernels report in."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum

from ..._core import PooledMemory
from ...base.cuda_abi import LAUNCH_WORDS, CudaLaunchWord
from ...base.shapes import Shape
from ..cpu.run import FailureWords, RawReport
from .calls import KernelNode


class Head(IntEnum):
    """Positions of the 64-bit words with which the record of a launch begins.

    `cuda::LaunchRecord` of the native core names the same.
    """

    CONTEXT = 0
    FUNCTION = 1
    GRID = 2
    BLOCK = 5
    SHARED = 8
    PARAMETERS = 9
    """The address of an array of addresses, one per parameter."""


HEAD_WORDS = 10

# Plain ints: looking up the members of an enum would take a part of a small launch.
TAKEN, USED = int(CudaLaunchWord.ERROR_TAKEN), int(CudaLaunchWord.PRINT_USED)
CAPACITY = int(CudaLaunchWord.PRINT_CAPACITY)
FAILURE = slice(int(CudaLaunchWord.ERROR_SITE), int(CudaLaunchWord.ERROR_EXTENT) + 1)
REPORT_BYTES = 8 * LAUNCH_WORDS


def first_slot(count: int) -> int:
    """Return the index of the first parameter among the words of a launch record."""
    return HEAD_WORDS + count + 1


class Record:
    """What is launched, over how many blocks, with which parameters; used by one thread at a time.

    The driver has read it when the call that launches it returns. Parameter i is the low end of
    the word at `slots + i`.
    """

    __slots__ = ("address", "report", "slots", "words")

    def __init__(
        self,
        context: int,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        slots: Sequence[int],
    ) -> None:
        count = len(slots)
        # The addresses of the parameters end with a zero, for who has to count them.
        words = (ctypes.c_int64 * (HEAD_WORDS + 2 * count + 1))()
        self.words: ctypes.Array[ctypes.c_int64] = words
        self.address = ctypes.addressof(words)
        self.slots = first_slot(count)
        self.report: PinnedReport | None = None
        """Where the kernel reports, if it does."""
        words[Head.CONTEXT], words[Head.FUNCTION] = context, function
        words[Head.GRID : Head.GRID + 3] = list(grid)
        words[Head.BLOCK : Head.BLOCK + 3] = list(block)
        words[Head.SHARED] = shared
        words[Head.PARAMETERS] = self.address + 8 * HEAD_WORDS
        first = self.address + 8 * self.slots
        words[HEAD_WORDS : self.slots - 1] = [first + 8 * i for i in range(count)]
        words[self.slots :] = [int(slot) for slot in slots]

    def refill(self, grid: Sequence[int], slots: Sequence[int]) -> None:
        """Launch it over other blocks, with other parameters."""
        self.words[Head.GRID : Head.GRID + 3] = list(grid)
        self.words[self.slots :] = list(slots)

    def kernel_node(self) -> KernelNode:
        """Return the launch as the node of a graph."""
        words = self.words
        return KernelNode(
            words[Head.FUNCTION], _three(words, Head.GRID), _three(words, Head.BLOCK),
            words[Head.SHARED], words[Head.PARAMETERS],
        )  # fmt: skip


def _three(words: ctypes.Array[ctypes.c_int64], at: int) -> Shape:
    return words[at], words[at + 1], words[at + 2]


class PinnedReport:
    """A launch record of `base.cuda_abi` in pinned memory, with room for prints behind it."""

    __slots__ = ("_capacity", "_memory", "_words", "address")

    def __init__(self, memory: PooledMemory, capacity: int) -> None:
        self._memory = memory
        self._capacity = capacity
        self.address = memory.address
        self._words = (ctypes.c_int64 * LAUNCH_WORDS).from_address(memory.address)
        ctypes.memset(memory.address, 0, REPORT_BYTES + capacity)
        self._words[CAPACITY] = capacity

    def read(self) -> RawReport | None:
        """Return the report of a finished launch, if it wrote one."""
        words = self._words
        taken, used = words[TAKEN], words[USED]
        if not taken and not used:
            return None
        failure = FailureWords(*words[FAILURE]) if taken else None
        printed = self._printed(min(used, self._capacity))
        return RawReport(failure, printed, truncated=used > self._capacity)

    def clear(self) -> None:
        """Forget that: it is as good as new then."""
        words = self._words
        if used := words[USED]:
            ctypes.memset(self.address + REPORT_BYTES, 0, min(used, self._capacity))
        words[TAKEN] = words[USED] = 0

    def _printed(self, nbytes: int) -> bytes:
        """Return the records up to the first that did not fit, where zeros remain."""
        start = self.address + REPORT_BYTES
        text = ctypes.string_at(start, nbytes)
        end = 0
        while end < nbytes and (length := int.from_bytes(text[end : end + 8], "little")) > 0:
            end += length
        return text[:end]
