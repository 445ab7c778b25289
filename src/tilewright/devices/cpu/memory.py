"""Host memory: so many bytes, aligned for vector loads."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ...base.cpu_abi import SCRATCH_ALIGNMENT
from ...base.errors import DriverError

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

ALIGNMENT = SCRATCH_ALIGNMENT


class OutOfMemoryError(DriverError):
    """There is not enough memory."""


def allocate(nbytes: int, *, zeroed: bool = False) -> Bytes:
    """Allocate bytes at a multiple of 64; their contents are arbitrary or zero.

    >>> allocate(100).size
    100
    """
    refuse_negative(nbytes)
    try:
        # One line more than needed, to have a place to start at.
        room = (np.zeros if zeroed else np.empty)(nbytes + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        raise OutOfMemoryError(
            f"out of memory: {nbytes} bytes ({nbytes / 2**30:.2f} GiB) could not be allocated",
            hint="use smaller tensors or tiles, or free tensors that are no longer needed",
        ) from None
    start = -address_of(room) % ALIGNMENT
    return room[start:][:nbytes]  # in two steps: an empty slice forgets where it starts


def refuse_negative(nbytes: int) -> None:
    """Raise for a size that is none."""
    if nbytes < 0:
        raise DriverError("cannot allocate memory", expected="a size of 0 or more", got=str(nbytes))


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's first byte."""
    return int(array.__array_interface__["data"][0])
