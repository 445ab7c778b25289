"""Streams of other libraries as streams of ours: whatever says by protocol that it is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from ..base.errors import SchedulingError
from .cuda.borrowed import PER_THREAD, refuse_captured
from .cuda.device import CudaDevice
from .cuda.stream import CudaStream
from .devices import gpus

VERSION = 0
"""Of the protocol."""


@runtime_checkable
class ForeignStream(Protocol):
    """A stream of another library: CuPy's, cuda.core's."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of this protocol, and the stream's address."""
        ...


def foreign_stream(x: object) -> CudaStream | None:
    """A stream of another library, which is kept alive with what this gives; None: x is none."""
    handle = _handle_of(x)
    return None if handle is None else _device_of(x, handle).borrow_known(handle, x)


def _handle_of(x: Any) -> int | None:
    if isinstance(x, ForeignStream):
        version, handle = x.__cuda_stream__()
        if version != VERSION:
            raise SchedulingError(
                f"{x!r} speaks another version of __cuda_stream__",
                expected=str(VERSION),
                got=str(version),
            )
        return int(handle)
    found = getattr(x, "cuda_stream", None)  # PyTorch's name for it
    return found if isinstance(found, int) else None


_ORDINALS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.device.index,  # of PyTorch
    lambda x: x.device.device_id,  # of cuda.core
    lambda x: x.device_id,  # of CuPy
)


def _device_of(x: object, handle: int) -> CudaDevice:
    devices = gpus()
    if handle > PER_THREAD:
        refuse_captured(devices[0], handle)
        return devices[devices[0].home_of(handle)]
    for said in _ORDINALS:  # the default stream of which device, only its library knows
        try:
            ordinal = said(x)
        except AttributeError:
            continue
        if isinstance(ordinal, int) and 0 <= ordinal < len(devices):
            return devices[ordinal]
    return next((device for device in devices if device.is_current()), devices[0])
