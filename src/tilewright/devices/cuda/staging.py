"""Pinned memory of the host: what goes to a device or comes from it passes through here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..._core import PooledMemory
from ...base.shapes import row_major_strides, size
from ..cpu.caching import HostPool, Room
from ..cpu.memory import OutOfMemoryError
from ..protocol import Block
from .context import Context
from .results import OUT_OF_MEMORY, CallError

KEPT = 256 << 20
"""Unused bytes that are kept; pinning memory takes long."""


class Staging:
    """The pinned memory of one device."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.pool = HostPool(source=self._pin, release=self._unpin)
        self.pool.set_release_threshold(KEPT)

    def allocate(self, nbytes: int) -> PooledMemory:
        """Allocate pinned memory; its contents are arbitrary."""
        return self.pool.allocate(nbytes, zeroed=False)

    def like(self, block: Block) -> tuple[Block, PooledMemory]:
        """Return a block of the same shape in pinned memory, row by row, and that memory."""
        memory = self.allocate(size(block.shape) * block.itemsize)
        return packed(block, memory.address, host=True), memory

    def _pin(self, nbytes: int, zeroed: bool) -> tuple[object, int]:
        context = self._context
        try:
            address = context.call(context.calls.allocate_pinned, nbytes)
        except CallError as error:
            if error.status == OUT_OF_MEMORY:
                raise OutOfMemoryError(error.message, got=error.got) from None
            raise
        return None, address

    def _unpin(self, room: Room) -> None:
        self._context.call(self._context.calls.free_pinned, room.address)


def pieces(target: Block, source: Block, most: int) -> Iterator[tuple[Block, Block]]:
    """Divide two blocks of one shape alike into parts of at most `most` bytes, row by row."""
    nbytes = size(target.shape) * target.itemsize
    if nbytes <= max(most, target.itemsize):
        yield target, source
        return
    axis = next(number for number, extent in enumerate(target.shape) if extent > 1)
    extent = target.shape[axis]
    step = max(1, most * extent // nbytes)
    for start in range(0, extent, step):
        end = min(start + step, extent)
        yield from pieces(_cut(target, axis, start, end), _cut(source, axis, start, end), most)


def _cut(block: Block, axis: int, start: int, end: int) -> Block:
    """Return the part of a block between two indices along an axis."""
    shape = (*block.shape[:axis], end - start, *block.shape[axis + 1 :])
    return replace(block, address=block.address + start * block.strides[axis], shape=shape)


def packed(block: Block, address: int, *, host: bool) -> Block:
    """Return a block of the same shape at an address, row by row without gaps."""
    strides = tuple([n * block.itemsize for n in row_major_strides(block.shape)])
    return Block(address, block.itemsize, block.shape, strides, host)


def is_packed(block: Block) -> bool:
    """Return whether a block's elements follow each other row by row, without gaps."""
    expected = row_major_strides(block.shape)
    return all(
        n <= 1 or stride == step * block.itemsize
        for n, stride, step in zip(block.shape, block.strides, expected, strict=True)
    )
