"""Reads cubins before the driver does, which believes all they say and crashes on damaged ones."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from .elf import (
    EXECUTABLE,
    FUNCTION,
    NO_BYTES,
    RELOCATABLE,
    Elf,
    Section,
    header_of,
    need,
    read_elf,
    sections_of,
)  # fmt: skip
from .host_part import kernel_of

MACHINE = 190
"""The number of NVIDIA GPUs in an ELF header."""
SYSTEMS = {0x33: 0, 0x41: 8}
"""The systems that cubins name, older and newer: which bit of the flags the architecture is at."""
EMPTY = frozenset({NO_BYTES, 0x70000007, 0x7000000A, 0x70000015})
"""Kinds of sections that take no room in the file: memory of blocks and of the whole device."""
OVERLAID = (".nv.merc",)
"""Sections for another form of the code share bytes with those they are made from."""
ENTRY = 0x10
"""Marks the symbols of kernels."""
TEXT, INFO, CALLS, HOST = ".text.", ".nv.info", ".nv.callgraph", ".nv.host"
OF_KERNELS = re.compile(r"\.nv\.(info|constant\d|shared|local)\.(?!reserved)(?P<kernel>.+)")
"""Sections that belong to the code of one function, and say so by name and by number."""
INDEX = 0xFFFFFF
"""The bits of a number that says which symbol code belongs to; others say more about it."""
PAIR = struct.Struct("<II")
SPECIAL = 0xFFFFFFF0
"""From here on a number in the call graph is no symbol's."""
RECORD = struct.Struct("<BBH")
FORMS, SIZED = range(1, 5), 4
"""How a record has its value: not at all, in one byte, in two, or behind its length."""
INSTRUCTION = 16
OF_SYMBOLS = frozenset({0x11, 0x12, 0x23, 0x2F})
"""Records of a number for a function: the sizes of its stack, and its registers."""
LENGTHS = {0x0A: 8, 0x17: 12, **dict.fromkeys(OF_SYMBOLS, 8)}
"""Bytes of records whose meaning is known: where parameters are, what each is, and the above."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """What a cubin says of itself."""

    architecture: str
    kernels: tuple[str, ...]


def architecture(code: bytes) -> str:
    """What a cubin is for, such as `sm_90`."""
    header = header_of(code)
    need(header.machine == MACHINE, f"it is for machine {header.machine}, not for GPUs")
    need(code[7] in SYSTEMS, f"it is for system {code[7]}, not for CUDA")
    return f"sm_{header.flags >> SYSTEMS[code[7]] & 0xFF}"


def sections(code: bytes) -> tuple[Section, ...]:
    """All sections of a cubin; nothing more is checked than that they are there."""
    architecture(code)
    return sections_of(code, header_of(code), EMPTY)


def read_cubin(code: bytes) -> Cubin:
    """Read a cubin; an `InvalidElfError` says why the driver should not be given it."""
    found = architecture(code)
    file = read_elf(code, empty=EMPTY, overlaid=OVERLAID)
    need(file.header.kind in (RELOCATABLE, EXECUTABLE), "it is no code that can be loaded")
    for section in file.sections:
        need(section.address == 0, f"its section {section.name!r} has an address already")
        _check_section(section, len(file.symbols))
        _check_belonging(section, file)
    kernels = _kernels(file)
    for section in file.sections:
        if section.name == HOST:
            need(kernel_of(section.data) in kernels, "its part for the host is for no kernel of it")
    return Cubin(found, kernels)


def _check_section(section: Section, symbols: int) -> None:
    if section.name.startswith(TEXT):
        need(section.nbytes % INSTRUCTION == 0, f"{section.name!r} ends within an instruction")
    elif section.name.startswith(INFO):
        _check_records(section, symbols)
    elif section.name == CALLS:
        need(section.nbytes % PAIR.size == 0, "its call graph ends within a call")
        called = [n for pair in PAIR.iter_unpack(section.data) for n in pair]
        known = all(n < symbols or n >= SPECIAL for n in called)
        need(known, "its call graph has a function that is not there")


def _check_belonging(section: Section, file: Elf) -> None:
    """What is for one function must name the same one in all ways."""
    if section.name.startswith(TEXT):
        which = section.info & INDEX
        known = which < len(file.symbols) and TEXT + file.symbols[which].name == section.name
        need(known, f"its section {section.name!r} is the code of no function")
    elif (match := OF_KERNELS.fullmatch(section.name)) is not None:
        which = section.info & INDEX
        known = which < len(file.sections) and file.sections[which].name == TEXT + match["kernel"]
        need(known, f"its section {section.name!r} belongs to no code")


def _check_records(section: Section, symbols: int) -> None:
    data, at = section.data, 0
    what = f"its section {section.name!r}"
    while at < len(data):
        need(at + RECORD.size <= len(data), f"{what} ends within a record")
        form, attribute, length = RECORD.unpack_from(data, at)
        need(form in FORMS, f"{what} has a record of no known form")
        at += RECORD.size
        if form == SIZED:
            need(at + length <= len(data), f"{what} ends within a record")
            need(LENGTHS.get(attribute, length) == length, f"{what} has a record of a wrong size")
            if attribute in OF_SYMBOLS:
                known = PAIR.unpack_from(data, at)[0] < symbols
                need(known, f"{what} is about a function that is not there")
            at += length


def _kernels(file: Elf) -> tuple[str, ...]:
    """The names of all kernels, each of which has its code."""
    found: list[str] = []
    for symbol in file.symbols:
        if symbol.kind == FUNCTION and symbol.other & ENTRY:
            need(0 < symbol.section < len(file.sections), f"the kernel `{symbol.name}` has no code")
            _check_code(symbol.name, file.sections[symbol.section])
            found.append(symbol.name)
    need(bool(found), "it has no kernel")
    return tuple(found)


def _check_code(kernel: str, home: Section) -> None:
    need(home.name == TEXT + kernel and bool(home.data), f"the kernel `{kernel}` has no code")
