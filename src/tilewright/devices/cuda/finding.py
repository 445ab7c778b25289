"""Finds the CUDA driver: once per process, when it is first asked for, and never without it.

The package cuda-bindings must not be called where there is no driver: it can deadlock. So the
driver's library is looked for first.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from typing import Any

from ...base.errors import ContextError
from ...base.system import at_fork
from .calls import Calls
from .context import SPAWN
from .results import NO_DEVICE, SUCCESS

PACKAGE = "cuda.bindings.driver"
INSTALL = "pip install 'tilewright[cuda]'"
LIBRARIES = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}
NEWER = "install NVIDIA's driver 580 or newer"


class NoDriverError(ContextError):
    """There is no driver of NVIDIA on this machine, or none that has a device."""


class ForkedError(ContextError):
    """This is a child of a process that has used CUDA, and cannot."""


class _Process:
    """What was found, if it was looked for."""

    lock = threading.RLock()
    found: Calls | ContextError | None = None


def find_driver() -> Calls:
    """Return the driver; a ContextError says what is missing, the same each time."""
    found = _Process.found
    if found is None:
        with _Process.lock:
            found = _Process.found = _Process.found or _look()
    if isinstance(found, ContextError):
        raise found.with_traceback(None)
    return found


def _look() -> Calls | ContextError:
    try:
        calls = load_driver()
    except ContextError as error:
        return error
    at_fork(after_in_child=_forget)
    return calls


def _forget() -> None:
    """Drop the driver in a child process, which cannot use what its parent has opened."""
    _Process.lock = threading.RLock()
    _Process.found = ForkedError(
        "CUDA cannot be used in a forked child of a process that has used it",
        hint=SPAWN,
    )


def load_driver() -> Calls:
    """Open the driver."""
    from .bindings import SINCE, Bindings, describe

    library = _open_library()
    module = _import_package()
    status = int(module.cuInit(0)[0])
    if status == NO_DEVICE:
        raise NoDriverError("there is a CUDA driver here, but no NVIDIA GPU that it can use")
    if status != SUCCESS:
        name, text = describe(module, status)
        raise ContextError("the CUDA driver does not start", got=f"{name}: {text}", hint=NEWER)
    version = int(module.cuDriverGetVersion()[1])
    if version < SINCE:
        raise ContextError(
            "the CUDA driver is too old",
            expected=f"one for CUDA {_version(SINCE)} or newer",
            got=f"one for CUDA {_version(version)}",
            hint=NEWER,
        )
    return Bindings(module, library)


def _open_library() -> str:
    name = LIBRARIES.get(sys.platform)
    try:
        if name is not None:
            ctypes.CDLL(name)
            return name
        why = f"none is made for {sys.platform}"
    except OSError as error:
        why = str(error)
    raise NoDriverError("there is no CUDA driver here", got=why, hint=NEWER)


def _import_package() -> Any:
    try:
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        raise ContextError(
            "the package cuda-bindings, which calls the CUDA driver, is missing",
            got=str(error),
            hint=INSTALL,
        ) from None


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
