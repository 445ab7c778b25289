"""Handles that other libraries have made: used here, never destroyed, their owners kept alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.errors import ContextError, SchedulingError
from .context import Context
from .event import Label
from .module import CudaFunction, CudaModule
from .record import Record
from .replay import Node
from .stream import CudaStream, in_words

if TYPE_CHECKING:
    from .device import CudaDevice

LEGACY, PER_THREAD = 1, 2
"""Numbers that stand for the default streams, for the driver and in all protocols."""
NO_NUMBER = -1
"""The number of a stream that cannot be chosen by its number."""


class BorrowedStream(CudaStream):
    """A stream of another library. What that puts there, and what we do, run in turn."""

    __slots__ = ("_owner",)

    def __init__(self, device: CudaDevice, number: int, handle: int, owner: object) -> None:
        super().__init__(device, number, handle)
        self._owner = owner

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, borrowed={self.handle:#x})"


class CapturedStream(CudaStream):
    """A stream whose work another library records; what is put here becomes part of its graph.

    Its code, and where it reports, live as long as this. The memory it works on is that library's
    to keep, as long as it replays its graph.
    """

    __slots__ = ()

    def __init__(self, device: CudaDevice, handle: int) -> None:
        super().__init__(device, NO_NUMBER, handle)
        self._nodes = []

    def _capture(self, record: Record, label: Label, keep: object) -> Node:
        return super()._capture(record, in_words(label, keep), None)

    def __repr__(self) -> str:
        return f"Stream(device={self.device.name!r}, captured={self.handle:#x})"


def usable(device: CudaDevice, handle: int) -> int:
    """Return the handle of a stream on which a device can enqueue; raise where it cannot."""
    if handle in (0, LEGACY):
        return LEGACY
    if handle == PER_THREAD:
        raise SchedulingError(
            "the default stream of each thread is not one stream, and cannot be borrowed",
            expected="a stream that is the same for all threads",
            hint="make a stream of your own there",
        )
    refuse_captured(device, handle)
    context = device.context
    ordinal, its_context = context.call(context.calls.home_of, handle)
    if ordinal != device.ordinal:
        raise ContextError(
            "a stream of another device cannot be borrowed",
            expected=f"a stream of {device.name}",
            got=f"a stream of cuda:{ordinal}",
            device_id=device.ordinal,
        )
    if its_context != context.handle:
        raise ContextError(
            f"a stream of another context of {device.name} cannot be borrowed",
            expected=f"one of the context {context.handle:#x}",
            got=f"one of the context {its_context:#x}",
            device_id=device.ordinal,
            hint="borrow the context first: tw.Device.borrow_raw(...)",
        )
    return handle


def refuse_captured(device: CudaDevice, handle: int) -> None:
    """Raise if another library is capturing its stream: we could not see the work pass.

    No other query is allowed on such a stream: it would end the capture.
    """
    context = device.context
    if handle != LEGACY and context.call(context.calls.is_captured, handle):
        raise SchedulingError(
            "another library is capturing this stream",
            got=f"the stream {handle:#x}",
            hint="start our work before its capture begins, or capture ours: op.graph()",
        )


class BorrowedModule(CudaModule):
    """Code that another library has loaded, and will unload."""

    __slots__ = ("_owner",)

    def __init__(self, context: Context, handle: int, owner: object) -> None:
        self._context, self._handle, self._functions = context, handle, {}
        self._owner = owner

    def borrow_function(self, handle: int, owner: object) -> BorrowedFunction:
        """Return a kernel that its owner found in the module."""
        return BorrowedFunction(self, handle, self._context, owner)

    def __del__(self) -> None:
        """Unload nothing: the module belongs to its owner."""


class BorrowedFunction(CudaFunction):
    """A kernel that another library has found in its code."""

    __slots__ = ("_owner",)

    def __init__(self, module: CudaModule, handle: int, context: Context, owner: object) -> None:
        name = context.call(context.calls.function_name, handle)
        super().__init__(module, name, handle, context)
        self._owner = owner
