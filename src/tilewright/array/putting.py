"""Puts copies on streams: ordered by the memory they use, which lives until they are done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..driver.protocol import Block, Device, Event, Stream
from .order import reserve, wait_on_host
from .region import Region


def put_copy(stream: Stream, target: Region, source: Region) -> Event:
    """Copy from one region to another of the same shape and element size; gives the end of it."""
    device = stream.device
    copy = partial(stream.copy, _block(target, device), _block(source, device))
    return _put(stream, copy, [target], [source], target.storage, source.storage)


def put_upload(stream: Stream, target: Region, source: np.ndarray[Any, Any]) -> Event:
    """Copy an array of the same shape and element size into a region; gives the end of it."""
    copy = partial(stream.copy, _block(target, stream.device), _block_of_array(source))
    return _put(stream, copy, [target], [], target.storage, source)


def put_download(stream: Stream, target: np.ndarray[Any, Any], source: Region) -> Event:
    """Copy a region into an array of the same shape and element size; gives the end of it."""
    copy = partial(stream.copy, _block_of_array(target), _block(source, stream.device))
    return _put(stream, copy, [], [source], target, source.storage)


def read_now(source: Region) -> np.ndarray[Any, Any]:
    """A copy of a region in a new array, when all that writes it is done."""
    device = source.storage.device
    wait_on_host([source])
    if device.host_visible:
        return source.array().copy(order="C")
    target = np.empty(source.shape, source.dtype.np)
    put_download(device.streams()[0], target, source).wait()
    return target


def _put(
    stream: Stream,
    work: Callable[[], None],
    writes: list[Region],
    reads: list[Region],
    *memory: object,
) -> Event:
    flight = reserve(stream, writes, reads)
    try:
        work()
    except BaseException:
        flight.put(None)
        raise
    event = stream.record()
    flight.put(event)
    stream.after(partial(_let_go, memory))
    return event


def _let_go(memory: tuple[object, ...]) -> None:
    """Nothing: to be called is enough, as it ends the life of what the call holds."""


def _block(region: Region, device: Device) -> Block:
    item = region.dtype.itemsize
    strides = tuple([s * item for s in region.strides])
    return Block(region.address, item, region.shape, strides, region.storage.device is not device)


def _block_of_array(array: np.ndarray[Any, Any]) -> Block:
    address = int(array.__array_interface__["data"][0])
    return Block(address, array.itemsize, array.shape, array.strides, host=True)
