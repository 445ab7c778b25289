"""Why the driver's compiler refuses PTX, in its own words."""

from __future__ import annotations

import ctypes

LOG_BUFFER, LOG_BYTES = 5, 6
"""The driver's numbers for the options that say where errors are written, and how much fits."""
ROOM = 8192
MOST_LINES = 8


def complaints(load: int, code: bytes) -> str:
    """Return the driver's errors about PTX, one line each; "" if it reports none.

    `load` is the address of cuModuleLoadDataEx; a context must be current. The call goes by
    address, since an option is a number or an address in the place of one.
    """
    room = ctypes.create_string_buffer(ROOM)
    module = ctypes.c_void_p()
    kinds = (ctypes.c_int * 2)(LOG_BUFFER, LOG_BYTES)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(room), ROOM)
    call = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_void_p,
        ctypes.c_void_p,
    )(load)  # fmt: skip
    call(ctypes.addressof(module), code, 2, ctypes.addressof(kinds), ctypes.addressof(values))
    lines = [line.strip() for line in room.value.decode(errors="replace").splitlines()]
    return "\n".join([line for line in lines if line][:MOST_LINES])
