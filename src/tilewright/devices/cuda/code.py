"""What the driver may load as code: whole cubins, whole fatbins, and PTX text.

The driver does not get the length of code, and trusts the sizes in it; so they are checked here
first.
"""

from __future__ import annotations

import struct

from ...base.cubin import read_cubin
from ...base.elf import MAGIC, InvalidElfError, need
from ...base.errors import DriverError

FATBIN = b"\x50\xed\x55\xba"
FATBIN_HEADER = struct.Struct("<4sHHQ")
"""The mark, a version, and the bytes of the header and of what follows it."""
FATBIN_ENTRY = struct.Struct("<HHIQ")
"""The kind of code, a version, and the bytes of the header and of the code."""
TEXT_WITHIN = 4096
"""Bytes within which PTX says what it is."""


def is_machine_code(code: bytes) -> bool:
    """Return whether the driver loads the code without compiling it, unlike PTX."""
    return code.startswith((MAGIC, FATBIN))


def loadable(code: bytes, *, trusted: bool = False) -> bytes:
    """Return code in the driver's format; raise a DriverError for code it would not survive.

    Machine code that is `trusted` is not checked.
    """
    if is_machine_code(code):
        if not trusted:
            _check_machine_code(code)
        return code
    if b".version" not in code[:TEXT_WITHIN] or b".target" not in code:
        raise _unloadable(code, "a cubin, a fatbin or PTX", f"it begins with {code[:8]!r}")
    return code if code.endswith(b"\0") else code + b"\0"


def _check_machine_code(code: bytes) -> None:
    try:
        if code.startswith(MAGIC):
            read_cubin(code)
        else:
            _check_fatbin(code)
    except InvalidElfError as error:
        raise _unloadable(code, "a cubin or a fatbin that is whole", str(error)) from None


def _unloadable(code: bytes, expected: str, why: str) -> DriverError:
    return DriverError(
        "this code cannot be loaded on a CUDA device",
        expected=expected,
        got=f"{len(code)} bytes; {why}",
        hint="it may be damaged: build it again; `trusted=True` loads machine code as it is",
    )


def _check_fatbin(code: bytes) -> None:
    need(len(code) >= FATBIN_HEADER.size, "its header is cut off")
    _, _, header, nbytes = FATBIN_HEADER.unpack_from(code)
    need(header == FATBIN_HEADER.size, "its header has another size")
    end = header + nbytes
    need(end <= len(code), "it is shorter than it says")
    at = header
    while at < end:
        need(at + FATBIN_ENTRY.size <= end, "it ends within the header of an entry")
        _, _, entry_header, size = FATBIN_ENTRY.unpack_from(code, at)
        start = at + entry_header
        need(entry_header >= FATBIN_ENTRY.size and start + size <= end, "it ends within an entry")
        if code.startswith(MAGIC, start):  # others are compressed
            read_cubin(code[start : start + size])
        at = start + size
