"""Memory of GPUs from other libraries, imported without a copy, in the order of streams.

Work that another library has enqueued precedes our use of its memory, and our enqueued work
precedes its use of ours: streams wait for each other, and the host waits for none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core import find_import
from ..base.errors import ContextError
from ..devices.cuda.borrowed import LEGACY as LEGACY
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.event import CudaEvent
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Device
from ..devices.registry import gpus
from .capsules import claimed
from .described import described, refuse_address
from .dlpack import GPU_KINDS
from .foreign import needs_gradient
from .layout import Layout
from .order import pending_over, reserve
from .ownership import Ours
from .pending_work import PendingWork
from .region import Region


class Seen(NamedTuple):
    """Memory as another library describes it."""

    device: Device
    layout: Layout
    address: int
    readonly: bool
    owner: object


def memory_on_gpu(x: Any) -> Region | None:
    """Return the memory of another library's array on a GPU; None where x is none."""
    if isinstance(x, np.ndarray | np.generic | Ours):
        return None
    if hasattr(x, "__dlpack_device__"):
        kind, ordinal = x.__dlpack_device__()
        return _by_dlpack(x, int(ordinal)) if int(kind) in GPU_KINDS else None
    if hasattr(x, "__cuda_array_interface__"):
        return _by_interface(x)
    return None


def _by_dlpack(x: Any, ordinal: int) -> Region:
    stream = _gpu(x, ordinal).streams()[0]
    seen = _exported(x, ordinal, stream.handle)
    stream.note()  # that it waits for the other library
    return _ordered(seen, stream)


def _exported(x: Any, ordinal: int, stream: int) -> Seen:
    """Return what an array exports by DLPack for a stream, or for its library's own: -1."""
    fixed = needs_gradient(x)
    given = x.detach() if fixed else x
    layout, address, readonly, owner = claimed(given, ordinal, stream=stream)
    return Seen(_gpu(x, ordinal), layout, address, readonly or fixed, owner)


def _gpu(x: object, ordinal: int) -> CudaDevice:
    """Return the GPU of an array."""
    devices = gpus()
    if not 0 <= ordinal < len(devices):
        raise ContextError(
            f"this {type(x).__name__} is on a GPU that does not exist",
            expected=", ".join(device.name for device in devices) or "a GPU",
            got=f"cuda:{ordinal}",
            device_id=ordinal,
        )
    return devices[ordinal]


def memory_in_order(x: Any) -> Region:
    """Return the memory of an array on a GPU, for work on the very stream that its library uses
    now.
    """
    return _found(_exported(x, int(x.__dlpack_device__()[1]), -1))


def _by_interface(x: Any) -> Region:
    layout, address, readonly, theirs = described(x, x.__cuda_array_interface__)
    refuse_address(x, layout, address)
    device = _device_of(address)
    stream = device.streams()[0]
    if theirs is not None:
        stream.follow(theirs)
    return _ordered(Seen(device, layout, address, readonly, x), stream)


def _device_of(address: int) -> CudaDevice:
    """Return the device of some memory; the first device if it has no address."""
    devices = gpus()
    return devices[devices[0].owner_of(address)] if address else devices[0]


def _found(seen: Seen) -> Region:
    """Return the region of memory; aliases share its state."""
    layout, address = seen.layout, seen.address
    start, end = address + layout.low, address + layout.high
    return Region(find_import(seen.device, seen.owner, start, end, seen.readonly), layout, address)


def _ordered(seen: Seen, stream: CudaStream) -> Region:
    """Return a region whose last known use has been enqueued on a stream."""
    region = _found(seen)
    pending = PendingWork(stream)
    try:
        reserve(pending, stream, [region], [])
    finally:
        pending.mark_submitted(stream.record())
    return region


def memory_at(
    device: Device, layout: Layout, address: int, *, readonly: bool, stream: int = LEGACY
) -> Region:
    """Return memory that another library lends to us for one call.

    On a GPU the work comes after that on `stream`, which `let_wait` then makes wait for us.
    """
    seen = Seen(device, layout, address, readonly, object())
    if not isinstance(device, CudaDevice):
        return _found(seen)
    ours = device.streams()[0]
    ours.follow(stream)
    return _ordered(seen, ours)


def let_wait(region: Region, stream: Any, *, writes: bool) -> None:
    """Make another library's stream wait until it may read memory of a GPU, or write it.

    The stream is named as DLPack does.
    """
    device = region.storage.device
    assert isinstance(device, CudaDevice)
    device.check()
    if stream == -1:
        return
    if stream == 0 or (stream is not None and stream < 0):
        raise BufferError(f"a stream is 1, 2, -1 or the address of one, got {stream!r}")
    theirs = LEGACY if stream is None else int(stream)
    for pending in pending_over([region], writes=writes):
        event = pending.event()
        if isinstance(event, CudaEvent):
            device.hold_up(theirs, event)
        elif event is not None:
            event.wait()


def gathered(region: Region) -> CudaStream:
    """Return a stream ordered after all work that writes some memory."""
    device = region.storage.device
    assert isinstance(device, CudaDevice)
    stream = device.streams()[0]
    for pending in pending_over([region]):
        event = pending.event()
        if event is not None:
            stream.wait_for(event)
    return stream
