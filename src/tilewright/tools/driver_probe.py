"""Asks the NVIDIA driver for its version and its devices and writes the answer as JSON.

Run as a script in a separate process: a broken driver may hang or end the process that calls it.
Needs only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

LIBRARY = "libcuda.so.1"
MAJOR, MINOR, PROCESSORS = 75, 76, 16
"""Attributes of a device."""


class DriverFailedError(Exception):
    """The driver's own word for what went wrong."""


def ask(library: str = LIBRARY) -> dict[str, Any]:
    """Return the driver's properties; `error` has the reason if it fails."""
    try:
        cuda = ctypes.CDLL(library)
    except OSError as error:
        return {"error": f"{library} cannot be loaded: {error}", "missing": True}
    try:
        # The version can be had where the driver finds no device.
        found: dict[str, Any] = {"version": _number(cuda, "cuDriverGetVersion")}
    except (DriverFailedError, AttributeError) as error:
        return {"error": str(error)}
    try:
        _call(cuda, "cuInit", 0)
        found["devices"] = [_device(cuda, i) for i in range(_number(cuda, "cuDeviceGetCount"))]
    except (DriverFailedError, AttributeError) as error:
        found["error"] = str(error)
    return found


def _device(cuda: Any, ordinal: int) -> dict[str, Any]:
    handle, nbytes = ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    _call(cuda, "cuDeviceGet", ctypes.byref(handle), ordinal)
    _call(cuda, "cuDeviceGetName", name, len(name), handle)
    _call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(nbytes), handle)
    major, minor, processors = [
        _number(cuda, "cuDeviceGetAttribute", attribute, handle)
        for attribute in (MAJOR, MINOR, PROCESSORS)
    ]
    return {
        "name": name.value.decode(errors="replace"),
        "arch": f"sm_{major}{minor}",
        "memory": nbytes.value,
        "processors": processors,
    }


def _number(cuda: Any, function: str, *arguments: Any) -> int:
    answer = ctypes.c_int()
    _call(cuda, function, ctypes.byref(answer), *arguments)
    return answer.value


def _call(cuda: Any, function: str, *arguments: Any) -> None:
    status = getattr(cuda, function)(*arguments)
    if status:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(status, ctypes.byref(name))
        raise DriverFailedError(f"{function}: {(name.value or b'?').decode()} ({status})")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ask(*sys.argv[1:])))
