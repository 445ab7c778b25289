"""The names `Device`, `Stream`, `Module` and `Function` as programs use them: for annotations, and
to take the raw handles of another library.

What is borrowed is used and never destroyed. That a handle is valid, and stays so, only its owner
knows, so it is borrowed inside `tw.unsafe()`; `owner` is kept alive as long as what is given.
"""

from __future__ import annotations

import operator
from abc import ABCMeta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..base.errors import ContextError
from ..devices import protocol
from ..devices.cuda.borrowed import BorrowedFunction, BorrowedModule, BorrowedStream
from ..devices.cuda.device import CudaDevice
from ..devices.registry import gpu_of
from ..op.ambient import as_device, unsafe_allowed
from ..op.place import here, place_of

if TYPE_CHECKING:
    ProtocolMeta = ABCMeta
else:
    ProtocolMeta = type(Protocol)


def _refuse_safe(what: str) -> None:
    if not unsafe_allowed():
        raise ContextError(
            f"the handle of a {what} is a raw address; it is borrowed inside `tw.unsafe()`",
            places=(("here", place_of(here())),),
            hint="write `with tw.unsafe():` around borrow_raw(...)",
        )


def _checked(what: str, handle: Any) -> int:
    """Return a handle that is a number of 64 bits; raise for anything else."""
    if isinstance(handle, bool) or not hasattr(handle, "__index__"):
        raise TypeError(f"the handle of a {what} is an int, got {handle!r:.60}")
    number = operator.index(handle)
    if not 0 <= number < 1 << 64 or (number == 0 and what != "stream"):
        raise ContextError(
            f"this is not a handle of a {what}", expected="an address of 64 bits", got=str(number)
        )
    return number


def _refuse_other(module: object) -> None:
    if not isinstance(module, BorrowedModule):
        raise TypeError(
            "a raw function is borrowed from a module of tw.Module.borrow_raw(...), got"
            f" {module!r:.60}; if Tilewright loaded the module, use load_function(name)"
        )


def _gpu(device: protocol.Device | str) -> CudaDevice:
    found = as_device(device)
    if not isinstance(found, CudaDevice):
        raise ContextError(
            "handles of CUDA can only be borrowed on a GPU", expected="a GPU", got=repr(found)
        )
    return found


# The constructors belong to the names, not to the objects: any object with the methods of a stream
# is one.


class _DeviceName(ProtocolMeta):
    def new(self, device: int | str | protocol.Device = 0) -> protocol.Device:
        """Return the GPU of a number, counted from 0, or the device of a name.

        `Device(0)` is the same. Each device is one object.
        """
        return as_device(device)

    if not TYPE_CHECKING:  # a protocol cannot be called, as far as checkers know

        def __call__(self, *given: Any, **named: Any) -> Any:
            """Return a device for the name itself; create objects for classes that implement it."""
            make = self.new if self is Device else super().__call__
            return make(*given, **named)

    def borrow_raw(
        self, context: int, device: int, ordinal: int | None = None, *, owner: object = None
    ) -> CudaDevice:
        """Return the GPU of a number, in a context that another library has made.

        It is the device itself if the context is its primary one. `ordinal` is the same number once
        more, for programs that have both.
        """
        _refuse_safe("context")
        found = gpu_of(operator.index(device if ordinal is None else ordinal))
        return found.borrow_context(_checked("context", context), owner)


class _StreamName(ProtocolMeta):
    def borrow_raw(
        self, handle: int, device: protocol.Device | str = "cuda", *, owner: object = None
    ) -> BorrowedStream:
        """Return a stream of a GPU that another library has made."""
        _refuse_safe("stream")
        return _gpu(device).borrow_stream(_checked("stream", handle), owner)


class _ModuleName(ProtocolMeta):
    def borrow_raw(
        self, handle: int, device: protocol.Device | str = "cuda", *, owner: object = None
    ) -> BorrowedModule:
        """Return code that another library has loaded on a GPU."""
        _refuse_safe("module")
        return _gpu(device).borrow_module(_checked("module", handle), owner)


class _FunctionName(ProtocolMeta):
    def borrow_raw(
        self, handle: int, module: BorrowedModule, *, owner: object = None
    ) -> BorrowedFunction:
        """Return a kernel that another library has found in its code; it keeps the module."""
        _refuse_safe("function")
        _refuse_other(module)
        return module.borrow_function(_checked("function", handle), owner)


@runtime_checkable
class Device(protocol.Device, Protocol, metaclass=_DeviceName):
    """A place where tensors live and kernels run."""


@runtime_checkable
class Stream(protocol.Stream, Protocol, metaclass=_StreamName):
    """Work in order: what is put on one stream runs in the order it was put there."""


@runtime_checkable
class Module(protocol.Module, Protocol, metaclass=_ModuleName):
    """Code loaded on a device; stays there while it, or a function of it, is alive."""


@runtime_checkable
class Function(protocol.Function, Protocol, metaclass=_FunctionName):
    """Raw code of a module; what it does with its arguments is up to it."""
