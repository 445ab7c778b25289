"""Reads what a cubin, which is an ELF file, says of itself: its architecture, what kernels need."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

MAGIC = b"\x7fELF"
CUDA = 190
"""The machine's number in ELF files."""
HEAD = struct.Struct("<16xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQ")
NO_BITS = 8
"""A section that takes room at run time and none in the file."""
INFO, SHARED = ".nv.info", ".nv.shared."
SIZED = 4
"""Attributes whose value has a length before it."""
FRAME_SIZE, REGISTERS = 0x11, 0x2F


class InvalidCubinError(ValueError):
    """Bytes that are no cubin; says what is wrong with them."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its name, its bytes, and how many it has at run time."""

    name: str
    data: bytes
    nbytes: int


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs: registers and stack per thread, shared memory per block.

    Values that do not fit into registers spill to the stack.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int


def is_cubin(code: object) -> TypeGuard[bytes]:
    """Whether code is a cubin; that of SIMT kernels is PTX."""
    return isinstance(code, bytes) and code.startswith(MAGIC)


def architecture(cubin: bytes) -> str:
    """What a cubin is for, such as `sm_90`."""
    fields = _head(cubin)
    return f"sm_{fields[6] >> 8 & 0xFF}"


def resources(cubin: bytes) -> Resources:
    """What the kernels of a cubin need at most."""
    found: dict[int, int] = {}
    shared = 0
    for section in sections(cubin):
        if section.name == INFO:
            for attribute, value in _attributes(section.data):
                found[attribute] = max(found.get(attribute, 0), value)
        elif section.name.startswith(SHARED):
            shared = max(shared, section.nbytes)
    return Resources(found.get(REGISTERS, 0), found.get(FRAME_SIZE, 0), shared)


def sections(cubin: bytes) -> Iterator[Section]:
    """All sections of a cubin."""
    *_, start, _, _, _, _, size, count, names = _head(cubin)
    try:
        heads = [SECTION.unpack_from(cubin, start + i * size) for i in range(count)]
        texts = heads[names][4]
        for name, kind, _, _, offset, nbytes in heads:
            end = cubin.index(b"\0", texts + name)
            data = b"" if kind == NO_BITS else cubin[offset : offset + nbytes]
            yield Section(cubin[texts + name : end].decode("latin-1"), data, nbytes)
    except (struct.error, IndexError, ValueError, OverflowError):
        raise InvalidCubinError("its sections cannot be read") from None


def _head(cubin: bytes) -> tuple[int, ...]:
    if not cubin.startswith(MAGIC) or len(cubin) < HEAD.size:
        raise InvalidCubinError("it is no ELF file")
    fields: tuple[int, ...] = HEAD.unpack_from(cubin)
    if fields[1] != CUDA:
        raise InvalidCubinError(f"it is for machine {fields[1]}, not for CUDA")
    return fields


def _attributes(data: bytes) -> Iterator[tuple[int, int]]:
    """The attributes that have a kernel and a number."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            if length == 8 and at + 8 <= len(data):
                yield attribute, struct.unpack_from("<II", data, at)[1]
            at += length
