"""Puts copies on streams, between regions and arrays of the host."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.shapes import size
from ..devices.protocol import Block, Device, Event, Stream
from ..op.context import ExecutionContext
from . import storage
from .layout import row_major
from .order import hosts_turn
from .region import Region
from .submission import release_kept, submit_work

if TYPE_CHECKING:
    from ..op.core import DeviceOp

LINE = 64
"""Bytes to which memory that stands for other memory is aligned in the same way; new memory begins
at a multiple."""


def put_copy(ctx: ExecutionContext, op: DeviceOp[Any], target: Region, source: Region) -> None:
    """Copy from one region to another of the same shape and element size."""
    device = ctx.device
    blocks = _block(target, device), _block(source, device)
    copy = partial(ctx.stream.copy, *blocks, inline=ctx.waits)
    submit_work(ctx, op, copy, writes=[target], reads=[source])


def put_upload(
    ctx: ExecutionContext, op: DeviceOp[Any], target: Region, source: np.ndarray[Any, Any]
) -> None:
    """Copy an array of the same shape and element size into a region."""
    blocks = _block(target, ctx.device), _block_of_array(source)
    copy = partial(ctx.stream.copy, *blocks, inline=ctx.waits)
    submit_work(ctx, op, copy, writes=[target], keep=source)


def put_download(
    ctx: ExecutionContext, op: DeviceOp[Any], target: np.ndarray[Any, Any], source: Region
) -> Event:
    """Copy a region into an array of the same shape and element size; gives the end of it."""
    blocks = _block_of_array(target), _block(source, ctx.device)
    copy = partial(ctx.stream.copy, *blocks, inline=ctx.waits)
    submit_work(ctx, op, copy, reads=[source], keep=target)
    return ctx.stream.record()


def put_zeros(ctx: ExecutionContext, op: DeviceOp[Any], target: Region) -> None:
    """Write zeros to new memory."""
    zero = bytes(target.dtype.itemsize)
    fill = partial(ctx.stream.fill, _block(target, ctx.device), zero, inline=ctx.waits)
    submit_work(ctx, op, fill, writes=[target])


def write_now(target: Region, source: np.ndarray[Any, Any]) -> None:
    """Write an array of the same shape and element size over memory that nothing uses."""
    device = target.storage.device
    if device.host_visible:
        np.copyto(target.array(), source)
        return
    blocks = _block(target, device), _block_of_array(source)
    _copy_now(device.streams()[0], *blocks, (target, source))


def read_now(source: Region) -> np.ndarray[Any, Any]:
    """Return a copy of a region in a new array, when all that writes it is done."""
    device = source.storage.device
    with hosts_turn([source]):
        if device.host_visible:
            return source.array().copy(order="C")
        target = np.empty(source.shape, source.dtype.np)
        blocks = _block_of_array(target), _block(source, device)
        _copy_now(device.streams()[0], *blocks, (target, source))
        return target


def copy_now(source: Region) -> Region:
    """Copy a region that no work writes into new memory of its device."""
    device = source.storage.device
    layout = row_major(source.dtype, source.shape)
    memory = storage.allocate(device, size(layout.shape) * layout.dtype.itemsize, zeroed=False)
    target = Region(memory, layout, memory.address)
    blocks = _block(target, device), _block(source, device)
    _copy_now(device.streams()[0], *blocks, (target, source))
    memory.initialized = True
    return target


def peeked(source: Region) -> np.ndarray[Any, Any]:
    """Copy a region that no work writes to the host, on a stream that has no other work."""
    device = source.storage.device
    target: np.ndarray[Any, Any] = np.empty(source.shape, source.dtype.np)
    blocks = _block_of_array(target), _block(source, device)
    _copy_now(device.new_stream(), *blocks, (target, source))
    return target


def _copy_now(stream: Stream, target: Block, source: Block, kept: object) -> None:
    """Copy, and wait for it; what it uses is kept until then, also if somebody interrupts that."""
    try:
        stream.copy(target, source, inline=True)
    finally:
        stream.after(partial(release_kept, kept))
    stream.synchronize()


def _block(region: Region, device: Device) -> Block:
    item = region.dtype.itemsize
    strides = tuple([s * item for s in region.strides])
    other = region.storage.device
    strange, seen = other is not device, other.host_visible
    return Block(
        region.address, item, region.shape, strides,
        host=strange and seen, elsewhere=strange and not seen,
    )  # fmt: skip


def _block_of_array(array: np.ndarray[Any, Any]) -> Block:
    address = int(array.__array_interface__["data"][0])
    return Block(address, array.itemsize, array.shape, array.strides, host=True)


def like_now(source: Region) -> Region:
    """Allocate memory of the same device, laid out and aligned like a region."""
    device, layout = source.storage.device, source.layout
    offset = (source.address + layout.low) % LINE
    memory = storage.allocate(device, offset + layout.high - layout.low, zeroed=False)
    return Region(memory, layout, memory.address + offset - layout.low)


def overwrite_now(target: Region, source: Region) -> None:
    """Copy a region into an otherwise unused one, when all that writes it is done."""
    device = source.storage.device
    with hosts_turn([source]):
        blocks = _block(target, device), _block(source, device)
        _copy_now(device.streams()[0], *blocks, (target, source))
    target.storage.initialized = True
