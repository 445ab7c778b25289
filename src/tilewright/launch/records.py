"""What kernels wrote about themselves: the first failure, and print records in block order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.messages import tell
from ..base.shapes import Shape, size
from ..devices.cpu.run import FailureWords, RawReport
from ..ir.artifact import Artifact, Failure, Printed, Site
from ..ir.signature import Signature
from .report import Report

if TYPE_CHECKING:
    from ..ir.types import TileType

PRINT_CAPACITY = 1 << 20
"""Bytes of print records one launch may write."""


def print_room(artifact: Artifact) -> int:
    """Return bytes that a launch needs for print records."""
    return PRINT_CAPACITY if any(site.kind == "print" for site in artifact.sites) else 0


def report_of(artifact: Artifact, grid: Shape, raw: RawReport) -> Report:
    """Return the report of a launch over a grid, from its record."""
    if raw.truncated:
        tell(
            f"`{artifact.name}` printed more than {PRINT_CAPACITY} bytes; the rest is lost",
            stacklevel=2,
        )
    places = Places(grid, artifact.signature)
    failure = _failure(artifact.sites, raw.failure, places) if raw.failure else None
    printed = _printed(artifact.sites, raw.printed, places) if raw.printed else ()
    return Report(failure, tuple(printed), error=raw.problem)


class Places:
    """What the numbers in a report stand for: blocks, or the threads of a SIMT kernel."""

    def __init__(self, grid: Shape, signature: Signature) -> None:
        self._simt = signature.block is not None
        self._whole = (*grid, *reversed(signature.block_dims)) if self._simt else grid

    def of(self, number: int) -> tuple[Shape, Shape | None]:
        """Return the block, and the thread in it; SIMT kernels count along x, y and z."""
        found = tuple(int(i) for i in np.unravel_index(number, self._whole))
        return (found[2::-1], found[:2:-1]) if self._simt else (found, None)


def _failure(sites: Sequence[Site], words: FailureWords, places: Places) -> Failure:
    block, thread = places.of(words.block)
    return Failure(sites[words.site], block, words.index, words.extent, thread)


def _printed(sites: Sequence[Site], records: bytes, places: Places) -> list[Printed]:
    """Return the print records in block order, and in the order of writing within a block."""
    found: list[tuple[int, Printed]] = []
    at = 0
    while at < len(records):
        nbytes, number, block = (int(n) for n in np.frombuffer(records, np.int64, 3, at))
        site = sites[number]
        values = _values(site, records, at + 24)
        found.append((block, Printed(site, places.of(block)[0], values)))
        at += nbytes
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def _values(site: Site, records: bytes, at: int) -> tuple[Any, ...]:
    values: list[Any] = []
    for kind in site.types:
        dtype = _memory_dtype(kind)
        count = size(kind.shape)
        values.append(np.frombuffer(records, dtype, count, at).reshape(kind.shape))
        at += -(-count * dtype.itemsize // 8) * 8
    return tuple(values)


def _memory_dtype(kind: TileType) -> np.dtype[Any]:
    return np.dtype(np.uint64) if kind.is_pointer else kind.dtype.np
