"""Read what a cubin needs and does: registers, stack, shared memory, loads in its machine code."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ...base.cubin import sections

# -------------------------------------------------------------------------------------------------
# What a cubin declares about its kernels.

INFO, SHARED, CODE = ".nv.info", ".nv.shared.", ".text."
SIZED = 4
"""Attributes whose value has a length before it."""
FRAME_SIZE, REGISTERS, BLOCK_SHAPE = 0x11, 0x2F, 0x10
"""Attributes: bytes and registers per thread of a kernel, and the threads of a block by axis."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs: registers and stack per thread, shared memory per block, code.

    Values that do not fit into registers spill to the stack.
    """

    registers: int
    stack_bytes: int
    shared_bytes: int
    code_bytes: int
    threads: int = 0
    """Threads of a block, those included that only copy; 0 if the cubin does not say."""


def resources(cubin: bytes) -> Resources:
    """Return what the kernels of a cubin need at most."""
    found: dict[int, int] = {}
    shared = code = threads = 0
    for section in sections(cubin):
        if section.name == INFO:
            for attribute, value in _attributes(section.data):
                if len(value) == 8:
                    number = struct.unpack("<II", value)[1]
                    found[attribute] = max(found.get(attribute, 0), number)
        elif section.name.startswith(INFO):
            threads = max(threads, _threads(section.data))
        elif section.name.startswith(SHARED):
            shared = max(shared, section.nbytes)
        elif section.name.startswith(CODE):
            code += section.nbytes
    return Resources(found.get(REGISTERS, 0), found.get(FRAME_SIZE, 0), shared, code, threads)


def _threads(data: bytes) -> int:
    """Return the threads of a block that a kernel demands; 0 if it does not."""
    shapes = [v for a, v in _attributes(data) if a == BLOCK_SHAPE and len(v) == 12]
    sizes = [x * y * z for x, y, z in (struct.unpack("<III", shape) for shape in shapes)]
    return max(sizes, default=0)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that have a length, and their values."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            yield attribute, data[at : at + length]
            at += length


# -------------------------------------------------------------------------------------------------
# What the machine code of a cubin does with memory, instruction by instruction.
#
# Since Volta an instruction has 16 bytes: its operation in the lowest 12 bits, and control bits
# at the top, by which the compiler tells the processor what to wait for. A load takes one of six
# scoreboards; a later instruction names the scoreboards it waits for. So the code itself says how
# many loads a warp starts before it waits for the first.

INSTRUCTION = struct.Struct("<QQ")
OPERATION = 0xFFF
LOAD, STORE, COPY, BULK_COPY = 0x981, 0x986, 0xFAE, 0x5B4
"""LDG; STG; LDGSTS, an asynchronous copy into the shared memory; UTMALDG, a bulk copy."""
SPILL_LOAD, SPILL_STORE = 0x983, 0x387
"""LDL and STL: accesses of the stack."""
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
"""Bytes per thread, by the field of an access."""
WIDTH_BIT, TAKES_BIT, WAITS_BIT = 9, 46, 52
"""Fields of the upper 8 bytes: the width, the scoreboard taken, those waited for."""
SCOREBOARDS = 6


@dataclass(frozen=True, slots=True)
class MemoryCode:
    """The accesses in the machine code of one kernel."""

    loaded_ahead: int
    """The most bytes that a thread has asked for before it waits for the first of them."""
    copied: int
    """Bytes per thread in all asynchronous copies."""
    bulk_copies: int
    spills: int
    """Accesses of the stack."""
    instructions: int


def memory_code(cubin: bytes) -> MemoryCode:
    """Return the accesses in the machine code of a cubin."""
    code = b"".join(s.data for s in sections(cubin) if s.name.startswith(CODE))
    pending = [0] * SCOREBOARDS
    ahead = copied = bulk = spills = 0
    whole = len(code) - len(code) % INSTRUCTION.size
    for low, high in INSTRUCTION.iter_unpack(code[:whole]):
        operation, waits = low & OPERATION, high >> WAITS_BIT
        pending = [0 if waits >> k & 1 else n for k, n in enumerate(pending)]
        width = WIDTHS.get(high >> WIDTH_BIT & 7, 0)
        if operation == LOAD:
            taken = high >> TAKES_BIT & 7
            if taken < SCOREBOARDS:
                pending[taken] += width
                ahead = max(ahead, sum(pending))
        elif operation == COPY:
            copied += width
        elif operation == BULK_COPY:
            bulk += 1
        elif operation in (SPILL_LOAD, SPILL_STORE):
            spills += 1
    return MemoryCode(ahead, copied, bulk, spills, len(code) // INSTRUCTION.size)
