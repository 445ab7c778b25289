"""What kernels wrote about themselves: the first failure, and print records in block order."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.shapes import Shape, size
from ..driver.cpu import FailureWords, RawReport
from ..ir.artifact import Artifact, Failure, Printed, Site
from ..ir.types import PtrType, TileType
from .report import Report

PRINT_CAPACITY = 1 << 20
"""Bytes of print records one launch may write."""


def print_room(artifact: Artifact) -> int:
    """Bytes that a launch needs for print records."""
    return PRINT_CAPACITY if any(site.kind == "print" for site in artifact.sites) else 0


def report_of(artifact: Artifact, grid: Shape, raw: RawReport) -> Report:
    """The report of a launch over a grid, from what it left in its record."""
    if raw.truncated:
        warnings.warn(
            f"`{artifact.name}` printed more than {PRINT_CAPACITY} bytes; the rest is lost",
            RuntimeWarning,
            stacklevel=2,
        )
    failure = _failure(artifact.sites, raw.failure, grid) if raw.failure else None
    printed = _printed(artifact.sites, raw.printed, grid) if raw.printed else ()
    return Report(failure, tuple(printed), error=raw.problem)


def _failure(sites: Sequence[Site], words: FailureWords, grid: Shape) -> Failure:
    return Failure(sites[words.site], _block(words.block, grid), words.index, words.extent)


def _block(number: int, grid: Shape) -> Shape:
    return tuple(int(i) for i in np.unravel_index(number, grid))


def _printed(sites: Sequence[Site], records: bytes, grid: Shape) -> list[Printed]:
    """The print records in block order; those of one block in the order they were written."""
    found: list[tuple[int, Printed]] = []
    at = 0
    while at < len(records):
        nbytes, number, block = (int(n) for n in np.frombuffer(records, np.int64, 3, at))
        site = sites[number]
        found.append((block, Printed(site, _block(block, grid), _values(site, records, at + 24))))
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
    return np.dtype(np.uint64) if isinstance(kind.elem, PtrType) else kind.elem.np
