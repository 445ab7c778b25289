"""The calling convention of CUDA kernels: shared by the code generator and the launcher.

A kernel's parameters are, in the order of the signature: a tensor or output gives its address, then
those extents, then those strides (in elements) that the signature leaves open, as 32-bit integers
where the signature says that all of them are small, else as 64-bit ones; a scalar gives itself (a
boolean as one byte); a pointer or a global gives its address. Behind them come, where the kernel
has them:

- the logical grid, one 32-bit integer per axis, if the signature's grid is folded;
- the address of the launch record, if the kernel has checks, assertions or prints left.

`backend.tileir.target` lists them. The grid is launched in tile blocks: blocks of one
thread, no shared memory asked for. A grid that is not folded has at most three axes longer than
one block, and is launched as it is, or turned: its last axis as x, its first as z. A folded grid is
launched as any grid of at least as many blocks: they are numbered with x running fastest, and one
beyond the last does nothing. Logical blocks are numbered with the last axis running fastest.

A SIMT kernel is called in the same way: a slice is a tensor of one axis and stride 1. It is
launched in blocks of threads, over a grid along x, y and z; what it reports are numbers of threads,
x fastest, all threads of a block in a row.

The launch record is an array of 64-bit words, laid out below, zero before the launch but for the
print capacity. Print records follow it at once; each is as `base.cpu_abi` says: bytes in all, site,
block, then the operands. Room for one is taken by an atomic add to PRINT_USED, and one that does
not fit is not written.
"""

from __future__ import annotations

import re
from enum import IntEnum

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NO_NAMES = ("_", "WARP_SZ")
"""What PTX takes for no name, or for another one."""

MAX_GRID = ((1 << 24) - 1, 65535, 65535)
"""The largest launch grid along x, y and z."""
MAX_BLOCKS = ((1 << 31) - 1, 65535, 65535)
"""The same for SIMT kernels."""
MAX_INDEX = (1 << 31) - 1
"""Indices of threads are 32-bit integers."""
HARDWARE_RANK = 3
POINTER_ALIGNMENT = 16
"""Bytes; what wide and bulk copies need of an address, of rows and of strides."""


class CudaLaunchWord(IntEnum):
    """Positions of the 64-bit words of the launch record."""

    ERROR_TAKEN = 0
    """0 until the first failure, which sets it to 1 by compare-and-swap and fills the rest."""
    ERROR_SITE = 1
    ERROR_BLOCK = 2
    ERROR_INDEX = 3
    ERROR_EXTENT = 4
    PRINT_CAPACITY = 5
    """Bytes of room behind this record."""
    PRINT_USED = 6
    """Bytes asked for; more than the capacity if some records were not written."""


LAUNCH_WORDS = 8


def symbol(name: str) -> str:
    """Return the kernel's name in the compiled code, where only ASCII letters are allowed."""
    if PLAIN_NAME.fullmatch(name) and name not in NO_NAMES:
        return name
    return "kernel_" + "".join(
        c if PLAIN_NAME.fullmatch(f"_{c}") else f"_{ord(c):x}_" for c in name
    )
