"""Tensors of the CPU whose memory begins or ends at a page that nobody may touch.

As a plugin of pytest (`-p support.fences`) it gives such memory to all tensors: whoever reads or
writes outside of one, if only to throw away what is found there, ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os

from tilewright.devices.cpu.caching import HostPool

SIDE = "FENCED_SIDE"
"""The variable that says where the page is: "begin", else at the end."""
GRAIN = 16
"""Tensors begin at multiples of so many bytes; at the end fewer may lie before the page."""

_PAGE = mmap.PAGESIZE
_C = ctypes.CDLL(None)
_mprotect = _C.mprotect
_mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_NO_ACCESS = 0


class Fenced:
    """So many bytes between two pages that nobody may touch; poisoned, or zero."""

    def __init__(self, nbytes: int, *, zeroed: bool) -> None:
        room = max(_PAGE, -(-nbytes // _PAGE) * _PAGE)
        self._memory = mmap.mmap(-1, room + 2 * _PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for fence in (base, base + _PAGE + room):
            assert _mprotect(fence, _PAGE, _NO_ACCESS) == 0
        before = 0 if os.environ.get(SIDE) == "begin" else (room - nbytes) // GRAIN * GRAIN
        self.address, self.nbytes = base + _PAGE + before, nbytes
        if not zeroed:
            ctypes.memset(base + _PAGE, 0xA5, room)


def pytest_configure() -> None:
    """Have tensors of the CPU between fences from now on."""
    HostPool.allocate = lambda self, nbytes, *, zeroed=False: Fenced(nbytes, zeroed=zeroed)
