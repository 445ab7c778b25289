"""Driver calls on memory, in stream order: for `with_context`, and unsafe.

Tilewright does not track this memory: no tensor, no borrow and no finalizer refers to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import ContextError, DriverError, LaunchError, ShapeError
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Stream
from ..op.ambient import unsafe_allowed
from ..op.place import here, place_of


def malloc_async(nbytes: int, stream: Stream) -> int:
    """Allocate GPU memory in stream order; return its address."""
    cuda = _checked("malloc_async", stream)
    _refuse_capture("malloc_async", cuda)
    pool, calls, found = cuda.device.pool.handle, cuda.context.calls, list[int]()
    cuda.put(None, lambda: found.append(calls.allocate(max(nbytes, 1), pool, cuda.handle)))
    return found[0]


def free_async(address: int, stream: Stream) -> None:
    """Free memory of `malloc_async` in stream order."""
    cuda = _checked("free_async", stream)
    _refuse_capture("free_async", cuda)
    cuda.put(None, cuda.context.calls.free, address, cuda.handle)


def memcpy_htod_async(address: int, source: np.ndarray[Any, Any], stream: Stream) -> None:
    """Copy a host array to a GPU in stream order; it must not change until then."""
    cuda = _checked("memcpy_htod_async", stream)
    start = _start("memcpy_htod_async", source)
    calls = cuda.context.calls
    cuda.put(source, calls.copy_between, address, start, source.nbytes, cuda.handle)


def memcpy_dtoh_async(target: np.ndarray[Any, Any], address: int, stream: Stream) -> None:
    """Copy GPU memory to a host array in stream order."""
    cuda = _checked("memcpy_dtoh_async", stream)
    start = _start("memcpy_dtoh_async", target)
    if not target.flags.writeable:
        raise ShapeError("memcpy_dtoh_async cannot write a read-only array")
    calls = cuda.context.calls
    cuda.put(target, calls.copy_between, start, address, target.nbytes, cuda.handle)


def _checked(call: str, stream: Stream) -> CudaStream:
    if not unsafe_allowed():
        raise LaunchError(
            f"{call} is an unchecked driver call",
            places=(("here", place_of(here())),),
            hint=f"write `with tw.unsafe():` around {call}(...)",
        )
    if not isinstance(stream, CudaStream):
        raise ContextError(f"{call} takes a stream of a GPU", got=repr(stream))
    return stream


def _refuse_capture(call: str, stream: CudaStream) -> None:
    if stream.is_capturing:
        raise DriverError(
            f"{call} cannot be recorded in a graph",
            hint="allocate before the capture, and free after the last replay",
        )


def _start(call: str, array: np.ndarray[Any, Any]) -> int:
    if not array.flags.c_contiguous:
        raise ShapeError(
            f"{call} copies contiguous bytes",
            expected="a contiguous array",
            got=f"shape {array.shape}, strides of {array.strides} bytes",
            hint="pass np.ascontiguousarray(a)",
        )
    return int(array.__array_interface__["data"][0])
