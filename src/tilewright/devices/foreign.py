"""Streams of other libraries as streams of ours: whatever says by protocol that it is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from ..base.errors import SchedulingError
from .cuda.borrowed import PER_THREAD, refuse_captured
from .cuda.device import CudaDevice
from .cuda.stream import CudaStream
from .registry import gpus

VERSION = 0
"""Of the protocol."""


@runtime_checkable
class ForeignStream(Protocol):
    """A stream of another library: CuPy's, cuda.core's."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol, and the stream's address."""
        ...


def foreign_stream(x: object) -> CudaStream | None:
    """Return the stream of another library, which the result keeps alive; None: not a stream."""
    handle = _handle_of(x)
    return None if handle is None else _device_of(x, handle).borrow_known(handle, x)


def _handle_of(x: Any) -> int | None:
    if isinstance(x, ForeignStream):
        return _handle_in(x, _said_by(x))
    found = getattr(x, "cuda_stream", None)  # PyTorch's name for it
    return found if isinstance(found, int) else None


def _said_by(x: Any) -> Any:
    """Return the answer of a stream; the protocol's first version had it as an attribute."""
    said = x.__cuda_stream__
    return said() if callable(said) else said


def _handle_in(x: object, said: Any) -> int:
    match said:
        case (version, handle) if version == VERSION and _is_address(handle):
            return int(handle)
        case _:
            raise SchedulingError(
                f"__cuda_stream__ of {x!r:.80} returned no stream",
                expected=f"({VERSION}, the address of a stream), version {VERSION} of the protocol",
                got=repr(said),
            )


def _is_address(x: Any) -> bool:
    return hasattr(x, "__index__") and 0 <= x < 1 << 64


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
