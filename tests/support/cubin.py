"""Reads what a cubin says of its kernels: the stack of a thread, which is where registers spill."""

from __future__ import annotations

import struct
from collections.abc import Iterator

INFO = b".nv.info"
FRAME_SIZE = 0x11
SIZED = 4
"""Attributes whose value has a length before it."""


def sections(cubin: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The name and the bytes of every section of an ELF file."""
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", cubin, start + i * size) for i in range(count)]
    text = heads[names][4]
    for name, kind, _, _, offset, length in heads:
        end = cubin.index(b"\0", text + name)
        data = b"" if kind == 8 else cubin[offset : offset + length]  # a section without bytes
        yield cubin[text + name : end], data


def frame_sizes(cubin: bytes) -> list[int]:
    """Bytes of stack per thread of every kernel."""
    found: list[int] = []
    for name, data in sections(cubin):
        if name != INFO:
            continue
        at = 0
        while at + 4 <= len(data):
            form, attribute, length = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == SIZED:
                if attribute == FRAME_SIZE:
                    found.append(struct.unpack_from("<II", data, at)[1])
                at += length
    return found
