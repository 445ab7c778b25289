"""The program that loads code on trial, in a separate process, which may die of it.

It is run by its path, and uses only Python's standard library and the driver's. Requests come on
standard input: the number of bytes, then the code. Each answer is a call and its status.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from typing import Any, BinaryIO

REQUEST = struct.Struct("<Q")
REPLY = struct.Struct("<ii")
"""Which of the calls was the last, and the status it gave."""
STARTING = ("cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent")
CALLS = (
    *STARTING, "cuModuleLoadData", "cuModuleGetFunctionCount", "cuModuleEnumerateFunctions",
    "cuFuncLoad", "cuModuleUnload",
)  # fmt: skip
MOST_FUNCTIONS = 1 << 20
IDLE_SECONDS = 10.0
"""After this the process ends, and gives the memory of its context back."""


class RefusedError(Exception):
    """A call that the driver refused: which, and the status."""


class Driver:
    """The driver's library, with one device's primary context."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def _ask(self, call: str, *args: Any) -> None:
        status = int(getattr(self._library, call)(*args))
        if status:
            raise RefusedError(CALLS.index(call), status)

    def start(self, ordinal: int) -> None:
        """Make the primary context of a device current."""
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._ask("cuInit", 0)
        self._ask("cuDeviceGet", ctypes.byref(device), ordinal)
        self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._ask("cuCtxSetCurrent", context)

    def load(self, code: bytes) -> None:
        """Load code with all its kernels, and forget it."""
        module, count = ctypes.c_void_p(), ctypes.c_uint()
        self._ask("cuModuleLoadData", ctypes.byref(module), code)
        self._ask("cuModuleGetFunctionCount", ctypes.byref(count), module)
        functions = (ctypes.c_void_p * min(count.value, MOST_FUNCTIONS))()
        self._ask("cuModuleEnumerateFunctions", functions, len(functions), module)
        for function in functions:  # kernels are loaded when they are first needed
            self._ask("cuFuncLoad", ctypes.c_void_p(function))
        self._ask("cuModuleUnload", module)


def serve(driver: Driver, ordinal: int, requests: BinaryIO, replies: BinaryIO) -> None:
    """Load what is asked for until there is no more."""
    started = False
    while (code := _next(requests)) is not None:
        call, status = len(CALLS) - 1, 0
        try:
            if not started:
                driver.start(ordinal)
                started = True
            driver.load(code)
        except RefusedError as error:
            call, status = error.args
        replies.write(REPLY.pack(call, status))
        replies.flush()


def _next(requests: BinaryIO) -> bytes | None:
    idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
    idle.daemon = True
    idle.start()
    head = requests.read(REQUEST.size)
    idle.cancel()
    return requests.read(REQUEST.unpack(head)[0]) if len(head) == REQUEST.size else None


if __name__ == "__main__":
    serve(Driver(ctypes.CDLL(sys.argv[1])), int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
