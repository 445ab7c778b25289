"""Where the words of a launch record stand: on the CPU, and on CUDA devices."""

from __future__ import annotations

from dataclasses import dataclass

from ....base import cpu_abi, cuda_abi


@dataclass(frozen=True, slots=True)
class RecordWords:
    """Positions of 64-bit words; `cancel` and `buffer` are None where a record has none.

    Without `buffer`, print records follow the launch record at once.
    """

    taken: int
    site: int
    block: int
    index: int
    extent: int
    capacity: int
    used: int
    end: int
    cancel: int | None = None
    buffer: int | None = None


CPU = RecordWords(
    cpu_abi.LaunchWord.ERROR_TAKEN, cpu_abi.LaunchWord.ERROR_SITE, cpu_abi.LaunchWord.ERROR_BLOCK,
    cpu_abi.LaunchWord.ERROR_INDEX, cpu_abi.LaunchWord.ERROR_EXTENT,
    cpu_abi.LaunchWord.PRINT_CAPACITY, cpu_abi.LaunchWord.PRINT_USED, cpu_abi.LAUNCH_WORDS,
    cpu_abi.LaunchWord.CANCEL, cpu_abi.LaunchWord.PRINT_BUFFER,
)  # fmt: skip
CUDA = RecordWords(
    cuda_abi.LaunchWord.ERROR_TAKEN, cuda_abi.LaunchWord.ERROR_SITE,
    cuda_abi.LaunchWord.ERROR_BLOCK, cuda_abi.LaunchWord.ERROR_INDEX,
    cuda_abi.LaunchWord.ERROR_EXTENT, cuda_abi.LaunchWord.PRINT_CAPACITY,
    cuda_abi.LaunchWord.PRINT_USED, cuda_abi.LAUNCH_WORDS,
)  # fmt: skip
