"""Copies and fills on CUDA streams: by the copy engines where memory has no gaps, else by kernels.

What is on the host goes through pinned memory: its bytes have been read when the call that puts the
copy there returns; and what comes from the device is written to its place on the host by a call
that falls due. Much of it goes in pieces. In a capture, the host does its part before or after each
run.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ...base.errors import ContextError, DriverError
from ...base.shapes import size
from ..blocks import check_element, copy_on_host
from ..cpu.copying import overlap
from ..protocol import Block
from .memory import DeviceMemory
from .record import Record
from .scatter import THREADS, walk
from .staging import is_packed, packed, pieces

if TYPE_CHECKING:
    from .event import CudaEvent
    from .stream import CudaStream

Copy: TypeAlias = "Callable[[CudaStream, Block, Block], None]"

PIECE, AT_ONCE = 16 << 20, 4
"""Bytes that pass through pinned memory at a time, and how many such pieces are on their way."""
MEMSET_SIZES = (1, 2, 4)
"""Sizes of elements that the driver itself fills memory with."""


def put_copy(stream: CudaStream, target: Block, source: Block) -> None:
    """Enqueue a copy on a stream."""
    if 0 in target.shape:
        return
    _refuse_elsewhere(stream, *[block for block in (target, source) if not block.host])
    copy = _COPIES[target.host, source.host]
    if target.host == source.host or stream.is_capturing:
        copy(stream, target, source)
    else:
        _put_pieces(copy, stream, target, source)


def _refuse_elsewhere(stream: CudaStream, *blocks: Block) -> None:
    """Raise if a stream has no part in this: all memory is of other devices."""
    if blocks and all(block.elsewhere for block in blocks):
        raise ContextError(
            f"{stream!r} cannot be used for memory of another device",
            expected="a stream of the device that the memory is on",
            hint="leave the stream out: one of the right device is chosen then",
            device_id=stream.device.ordinal,
        )


def _put_pieces(copy: Copy, stream: CudaStream, target: Block, source: Block) -> None:
    """Copy a piece at a time, so that no more than a few are in pinned memory at once.

    The device copies one while the host reads or writes the next. Where there are more pieces than
    may be on their way, the host waits for the first of them.
    """
    under_way: deque[CudaEvent] = deque()
    for part, of_source in pieces(target, source, PIECE):
        if len(under_way) == AT_ONCE:
            under_way.popleft().wait()
        copy(stream, part, of_source)
        under_way.append(stream.record())


def _upload(stream: CudaStream, target: Block, source: Block) -> None:
    _await_source(stream, source)
    staged, memory = stream.device.staging.like(source)
    read: Callable[[], None] = partial(copy_on_host, staged, source)
    read()
    calls, nbytes = stream.context.calls, _nbytes(target)
    room, device_memory = (target, None) if is_packed(target) else _between(stream, target)
    stream.put((memory, device_memory), calls.copy_in, room.address, staged.address, nbytes,
               stream.handle)  # fmt: skip
    if stream.is_capturing:
        stream.add_hooks(read, None)
    if room is not target:
        _scatter(stream, target, room, device_memory)


def _download(stream: CudaStream, target: Block, source: Block) -> None:
    staged, memory = stream.device.staging.like(target)
    calls, nbytes = stream.context.calls, _nbytes(source)
    room, device_memory = (source, None) if is_packed(source) else _between(stream, source)
    if room is not source:
        _scatter(stream, room, source, device_memory)
    stream.put((memory, device_memory), calls.copy_out, staged.address, room.address, nbytes,
               stream.handle)  # fmt: skip
    write = partial(_take_down, target, staged, memory)
    if stream.is_capturing:
        stream.arriving[id(target)] = target
        stream.add_hooks(None, write)
    else:
        _write_later(stream, target, write)


def _take_down(target: Block, staged: Block, memory: object) -> None:
    """Write what has come to its place; until then the pinned `memory` may not be used again."""
    copy_on_host(target, staged)


def _write_later(stream: CudaStream, target: Block, write: Callable[[], None]) -> None:
    """Write to the host, once all work enqueued on a stream before has passed."""

    forget = partial(_forget, stream, target)

    def arrive() -> None:
        try:
            write()
        finally:
            forget()

    stream.arriving[id(target)] = target
    try:
        stream.after(arrive)
    except BaseException:  # an interrupt: the callback may not be needed
        stream.after(forget)
        raise


def _forget(stream: CudaStream, target: Block) -> None:
    """Do nothing: this copy leaves no bytes to write to host memory later."""
    stream.arriving.pop(id(target), None)


def _await_source(stream: CudaStream, source: Block) -> None:
    """Wait for what has yet to be written to memory of the host that is about to be read."""
    if not any(overlap(target, source) for target in list(stream.arriving.values())):
        return
    if stream.is_capturing:
        raise DriverError(
            "a graph cannot copy to a device what it has itself copied to the host",
            hint="keep it on the device, or let two graphs do it",
        )
    stream.synchronize()


def _within(stream: CudaStream, target: Block, source: Block) -> None:
    if target.elsewhere or source.elsewhere:
        _between_devices(stream, target, source)
    elif overlap(target, source):
        room, memory = _between(stream, source)
        _move(stream, room, source, memory)
        _move(stream, target, room, memory)
    else:
        _move(stream, target, source, None)


def _between_devices(stream: CudaStream, target: Block, source: Block) -> None:
    """Copy between devices; gaps are allowed on our side, where kernels pack and unpack."""
    if not is_packed(target if target.elsewhere else source):
        raise DriverError(
            "memory with gaps cannot be copied from one device to another",
            hint="copy it on its own device first: t.dup()",
        )
    calls, nbytes = stream.context.calls, _nbytes(source)
    room, memory = (None, None) if is_packed(source) and is_packed(target) else _between(
        stream, source
    )  # fmt: skip
    if room is not None and not source.elsewhere:
        _scatter(stream, room, source, memory)
    start = source if room is None or source.elsewhere else room
    end = target if room is None or target.elsewhere else room
    stream.put(memory, calls.copy_between, end.address, start.address, nbytes, stream.handle)
    if room is not None and source.elsewhere:
        _scatter(stream, target, room, memory)


def _move(stream: CudaStream, target: Block, source: Block, keep: object) -> None:
    if is_packed(target) and is_packed(source):
        calls = stream.context.calls
        stream.put(keep, calls.copy_within, target.address, source.address, _nbytes(source),
                   stream.handle)  # fmt: skip
    else:
        _scatter(stream, target, source, keep)


def _on_host(stream: CudaStream, target: Block, source: Block) -> None:
    if stream.is_capturing:
        raise DriverError(
            f"{stream!r} cannot record a copy from the host to the host",
            hint="copy on a stream of the device that the memory belongs to",
        )
    _write_later(stream, target, partial(copy_on_host, target, source))


_COPIES: dict[tuple[bool, bool], Copy] = {
    (False, True): _upload,
    (True, False): _download,
    (False, False): _within,
    (True, True): _on_host,
}
"""By whether the target, and the source, are on the host."""


def put_fill(stream: CudaStream, target: Block, element: bytes) -> None:
    """Enqueue the writing of one element everywhere."""
    check_element(target, element)
    if 0 in target.shape:
        return
    _refuse_elsewhere(stream, target)
    value = int.from_bytes(element, sys.byteorder)
    if target.itemsize in MEMSET_SIZES and is_packed(target):
        calls, count = stream.context.calls, size(target.shape)
        stream.put(None, calls.fill, target.address, value, target.itemsize, count, stream.handle)
    else:
        _walk(stream, f"fill_{target.itemsize}", target, None, value)


def _scatter(stream: CudaStream, target: Block, source: Block, keep: object = None) -> None:
    _walk(stream, f"copy_{target.itemsize}", target, source, source.address, keep)


def _walk(
    stream: CudaStream,
    name: str,
    target: Block,
    source: Block | None,
    given: int,
    keep: object = None,
) -> None:
    """Launch a kernel over all elements of a block."""
    way = walk(target, source)
    function = stream.device.helper(name)
    slots = [target.address, _signed(given), way.elements, *way.words]
    context = stream.context.handle
    record = Record(context, function, (way.blocks, 1, 1), (THREADS, 1, 1), 0, slots)
    stream.launch(record, f"the kernel `{name}`", keep)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _between(stream: CudaStream, block: Block) -> tuple[Block, DeviceMemory]:
    """Allocate device memory for a block without gaps."""
    memory = stream.device.allocate(_nbytes(block), zeroed=False)
    return packed(block, memory.address, host=False), memory


def _nbytes(block: Block) -> int:
    return size(block.shape) * block.itemsize
