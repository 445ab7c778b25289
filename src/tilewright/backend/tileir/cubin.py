"""Reads what a cubin says its kernels need."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from ...base.cubin import sections
from ...base.elf import MAGIC

INFO, SHARED, CODE = ".nv.info", ".nv.shared.", ".text."
SIZED = 4
"""Attributes whose value has a length before it."""
FRAME_SIZE, REGISTERS = 0x11, 0x2F
"""Attributes of one kernel each, in bytes and registers per thread."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs: registers and stack per thread, shared memory per block, code.

    Values that do not fit into registers spill to the stack.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    code_bytes: int


def is_cubin(code: object) -> TypeGuard[bytes]:
    """Whether code is a cubin; that of SIMT kernels is PTX."""
    return isinstance(code, bytes) and code.startswith(MAGIC)


def resources(cubin: bytes) -> Resources:
    """What the kernels of a cubin need at most."""
    found: dict[int, int] = {}
    shared = code = 0
    for section in sections(cubin):
        if section.name == INFO:
            for attribute, value in _attributes(section.data):
                found[attribute] = max(found.get(attribute, 0), value)
        elif section.name.startswith(SHARED):
            shared = max(shared, section.nbytes)
        elif section.name.startswith(CODE):
            code += section.nbytes
    return Resources(found.get(REGISTERS, 0), found.get(FRAME_SIZE, 0), shared, code)


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
