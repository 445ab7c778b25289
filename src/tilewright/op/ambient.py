"""The default device, and whether unsafe calls are allowed: each holds for this task or thread."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar, Token
from typing import Any, TypeVar, overload

from ..base.config import current
from ..driver.host import CPU, DEVICES, get_device
from ..driver.protocol import Device

_F = TypeVar("_F", bound=Callable[..., Any])


class _Process:
    """What `set_default_device` changes: the default where no `with` block says otherwise."""

    device: Device | None = None


_CHOSEN: ContextVar[Device | None] = ContextVar("tilewright_device", default=None)
_UNSAFE: ContextVar[bool] = ContextVar("tilewright_unsafe", default=False)


def default_device() -> Device:
    """Where work goes that names no device."""
    chosen = _CHOSEN.get() or _Process.device
    if chosen is None:
        name = current().device
        chosen = get_device(name) if name else CPU
    return chosen


def as_device(device: Device | str | None) -> Device:
    """A device from its name; None is the default one."""
    if device is None:
        return default_device()
    return get_device(device) if isinstance(device, str) else device


@contextmanager
def device(name: Device | str) -> Generator[Device, None, None]:
    """Make a device the default one, for this task or thread, until the block ends."""
    token = _CHOSEN.set(as_device(name))
    try:
        yield as_device(None)
    finally:
        _CHOSEN.reset(token)


def set_default_device(name: Device | str) -> None:
    """Make a device the default one for the whole process."""
    _Process.device = as_device(name)


def devices() -> tuple[Device, ...]:
    """All devices of this machine."""
    return tuple(DEVICES.values())


class Unsafe(ContextDecorator):
    """The block, or the decorated function, in which unsafe calls may be written."""

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def _recreate_cm(self) -> Unsafe:
        return Unsafe()

    def __enter__(self) -> None:
        self._tokens.append(_UNSAFE.set(True))

    def __exit__(self, *exception: object) -> None:
        _UNSAFE.reset(self._tokens.pop())


_IN_KERNELS = "__tilewright_unsafe__"


def _known_in_kernels(function: _F) -> _F:
    """Let the compiler know the word: `with tw.unsafe():` may stand in a kernel too."""
    setattr(function, _IN_KERNELS, True)
    return function


@overload
def unsafe() -> Unsafe: ...
@overload
def unsafe(function: _F, /) -> _F: ...
@_known_in_kernels
def unsafe(function: _F | None = None, /) -> Unsafe | _F:
    """Allow unsafe calls: `with tw.unsafe():` around the call that builds, or `@tw.unsafe`.

    What counts is where an op is built, not where it runs.
    """
    return Unsafe() if function is None else Unsafe()(function)


def unsafe_allowed() -> bool:
    """Whether the caller stands inside `tw.unsafe()`."""
    return _UNSAFE.get()
