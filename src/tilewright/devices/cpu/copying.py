"""Copies and fills of blocks of host memory as native jobs: how a copy is cut into blocks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..._core import COPY_KERNEL
from ...base.shapes import ceil_div, row_major_strides, size
from ..blocks import check_element
from ..protocol import Block
from .memory import Bytes, address_of, allocate
from .record import SLOTS, Record

PIECE = 128 << 10
"""Bytes that one block moves, about."""
SOURCE = 1
"""Which of a copy's words, laid out as native/cpu/copy.hpp says, is the address of the source."""
SQUARE = 64
"""Elements each way of a tile whose rows lie side by side in one block and columns in the other."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a copy: how long, and how far apart its elements are, in bytes."""

    extent: int
    target: int
    source: int


ONE = Axis(1, 0, 0)
"""An axis that is not there."""


def copy_record(target: Block, source: Block, *more: int) -> Record | None:
    """Return the job that copies one block to another; None if there is nothing to copy.

    The last words of the job are `more`, as unsigned 64-bit numbers.
    """
    if 0 in target.shape:
        return None
    rows, columns, outer = axes_of(target, source)
    itemsize = target.itemsize
    tile_rows, tile_columns = tile_of(rows, columns, itemsize)
    tiles = ceil_div(rows.extent, tile_rows), ceil_div(columns.extent, tile_columns)
    slots = [
        target.address, source.address, itemsize, rows.extent, columns.extent,
        rows.target, columns.target, rows.source, columns.source, tile_rows, tile_columns, *tiles,
        len(outer), *(n for axis in outer for n in (axis.extent, axis.target, axis.source)),
        *more,
    ]  # fmt: skip
    blocks = math.prod(tiles) * math.prod(axis.extent for axis in outer)
    return Record(COPY_KERNEL, slots, (blocks,), blocks)


def fill_record(target: Block, element: bytes) -> Record | None:
    """Return the job that writes one element everywhere in a block; None if it is empty."""
    check_element(target, element)
    # The element lies in the record, behind the other words.
    source = replace(target, address=0, strides=(0,) * len(target.shape))
    record = copy_record(target, source, int.from_bytes(element, sys.byteorder))
    if record is not None:
        record.words[SLOTS + SOURCE] = record.address + 8 * (len(record.words) - 1)
    return record


def axes_of(target: Block, source: Block) -> tuple[Axis, Axis, list[Axis]]:
    """Return the axes of a copy: of rows, along a row, and the others, the fastest first.

    Along a row the target's elements are adjacent. If the source's are not, rows follow each other
    where the source's are adjacent, so that a cache line is read once.
    """
    axes = _merged(
        Axis(*axis) for axis in zip(target.shape, target.strides, source.strides, strict=True)
    )
    columns = axes.pop() if axes else ONE
    crosses = columns.source not in (0, target.itemsize)
    rows = min(axes, key=lambda a: abs(a.source if crosses else a.target), default=ONE)
    return rows, columns, [axis for axis in reversed(axes) if axis is not rows]


def _merged(axes: Iterable[Axis]) -> list[Axis]:
    """Merge the axes that are adjacent in memory, drop those of extent 1; the nearest is last."""
    ordered = sorted((a for a in axes if a.extent > 1), key=lambda a: abs(a.target), reverse=True)
    found: list[Axis] = []
    for axis in ordered:
        if found and _continue(found[-1], axis):
            found[-1] = Axis(found[-1].extent * axis.extent, axis.target, axis.source)
        else:
            found.append(axis)
    return found


def _continue(outer: Axis, inner: Axis) -> bool:
    n = inner.extent
    return outer.target == n * inner.target and outer.source == n * inner.source


def tile_of(rows: Axis, columns: Axis, itemsize: int) -> tuple[int, int]:
    """Return how many rows, and how many elements of each, one block copies."""
    if columns.source not in (0, itemsize):
        return min(rows.extent, SQUARE), min(columns.extent, SQUARE)
    wide = min(columns.extent, max(1, PIECE // itemsize))
    return min(rows.extent, max(1, PIECE // (wide * itemsize))), wide


def overlap(a: Block, b: Block) -> bool:
    """Return whether two blocks may have bytes in common."""
    (start, end), (other, other_end) = _span(a), _span(b)
    return start < other_end and other < end


def _span(block: Block) -> tuple[int, int]:
    reach = [(n - 1) * stride for n, stride in zip(block.shape, block.strides, strict=True)]
    low = block.address + sum(r for r in reach if r < 0)
    return low, block.address + sum(r for r in reach if r > 0) + block.itemsize


def between(block: Block) -> tuple[Block, Bytes]:
    """Return a block of the same shape in new memory, and that memory."""
    shape, itemsize = block.shape, block.itemsize
    memory = allocate(size(shape) * itemsize)
    strides = tuple(itemsize * n for n in row_major_strides(shape))
    return Block(address_of(memory), itemsize, shape, strides, host=True), memory
