"""Read cubins strictly before the driver does, which crashes on inconsistent ones."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from .elf import (
    EXECUTABLE,
    FUNCTION,
    HEADER,
    NO_BYTES,
    RELOCATABLE,
    SYMBOL,
    Elf,
    Section,
    header_of,
    need,
    read_elf,
    sections_of,
)

# -------------------------------------------------------------------------------------------------
# The host part of a tile kernel's cubin: an object file that the driver links and runs while
# loading.
#
# Machine code cannot be validated by reading it. But tileiras writes the same part into each cubin,
# except for the kernel's name and for one function, which only launches run. So the rest of a part
# must be a known one, or the cubin is rejected.

KNOWN = frozenset({"9579c457078fd47a1cd8a0e9cde73e7e331d42278937f4f5c32ae334d5176651"})
"""Digests of such parts: tileiras 13.4."""
PART = "its part for the host"
LOADING, LAUNCHING = "__CUDA_TILEIR_ON_PRE_LOAD", "__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_0"
"""The function that runs when a kernel is loaded, and the one that runs when it is launched."""
NAME = "__CUDA_TILEIR_FUNC_NAME_0"
CODE, NAMES, SYMBOLS, FRAMES = ".ltext", ".lrodata", ".symtab", ".eh_frame"
MOVED = ".rela"
"""Sections that say what is filled in by whom links it begin with this."""
PLACES = 40
"""Where the header says where sections are listed, in 8 bytes."""
RELOCATION = struct.Struct("<QQq")
FRAME = struct.Struct("<IIQQ")
"""How a frame begins: its length, how far back its common part is, a function, filled in by whom
links it, and its length."""
FIRST = 24
"""Where frames of functions begin, behind their common part."""
ALIGNED = 16


@dataclass(frozen=True, slots=True)
class _Varying:
    """The differences between the host parts of two kernels."""

    start: int
    """Where the function begins that runs when a kernel is loaded."""
    name: int
    """Bytes of the kernel's name."""
    frame: int
    """Where the frame of the function begins that runs when a kernel is loaded."""
    names: tuple[str, ...]
    """Of all symbols, which are in no other order in any kernel."""


def kernel_of(data: bytes) -> str:
    """Return the kernel a part is for; an `InvalidElfError` where it is none of the parts known."""
    need(digest(data) in KNOWN, f"{PART} is none that is known")
    name = next(each.data for each in read_elf(data).sections if each.name == NAMES)
    return name[:-1].decode(errors="replace")


def digest(data: bytes) -> str:
    """Return the hash that identifies a part, whatever kernel it belongs to."""
    file = read_elf(data)
    varying = _varying(file)
    need(all(each.offset <= len(data) for each in file.sections), f"{PART} is cut")
    lines = [data[:PLACES].hex(), data[PLACES + 8 : HEADER.size].hex()]
    lines += [line for each in file.sections for line in _lines(each, varying)]
    return sha256("\n".join(lines).encode()).hexdigest()


def _varying(file: Elf) -> _Varying:
    known = {symbol.name: symbol for symbol in file.symbols}
    need(all(name in known for name in (LOADING, LAUNCHING, NAME)), f"{PART} lacks something")
    code, start = known[LAUNCHING].nbytes, known[LOADING].value
    need(start == -(-code // ALIGNED) * ALIGNED, f"{PART} has functions in no order")
    frames = next((each.data for each in file.sections if each.name == FRAMES), b"")
    second = _behind(frames, FIRST, code)
    need(_behind(frames, second, known[LOADING].nbytes) == len(frames), f"{PART} has odd frames")
    names = tuple(symbol.name for symbol in file.symbols)
    return _Varying(start, known[NAME].nbytes, second, names)


def _behind(frames: bytes, at: int, covered: int) -> int:
    """Return the end of the frame of a function with a frame of so many bytes."""
    need(at + FRAME.size <= len(frames), f"{PART} has too few frames")
    length, back, function, bytes_of_it = FRAME.unpack_from(frames, at)
    known = (back, function, bytes_of_it) == (at + 4, 0, covered)
    need(known, f"{PART} has a frame of no function")
    return at + 4 + int(length)


def _lines(section: Section, varying: _Varying) -> Iterator[str]:
    """Yield the header and the contents of a section, without the parts that vary."""
    align = "" if section.name == NAMES else section.align  # long names are aligned
    yield f"{section.name} {section.kind} {section.flags} {section.address} {align}"
    yield f"{section.link} {section.info} {section.entry}"
    if section.name.startswith(MOVED):
        yield from _relocations(section, varying)
    elif section.name == SYMBOLS:
        yield from _symbols(section, varying)
    elif section.name == CODE:
        yield section.data[varying.start :].hex()
    elif section.name == FRAMES:
        yield section.data[:FIRST].hex()
        yield section.data[varying.frame + 8 :].hex()
    elif section.name == NAMES:
        whole = section.nbytes == varying.name and section.data.find(b"\0") == varying.name - 1
        need(whole, f"{PART} names no kernel")
    else:
        yield section.data.hex() or str(section.nbytes)


def _relocations(section: Section, varying: _Varying) -> Iterator[str]:
    """Yield each relocation with its offset, relative to the function that loading runs."""
    where = section.name.removeprefix(MOVED)
    for number, (place, how, added) in enumerate(_rows(RELOCATION, section)):
        if where == CODE:
            yield f"{place - varying.start} {how} {added}"
        elif where == FRAMES and number:
            yield f"{place - varying.frame} {how} {added - varying.start}"
        else:
            yield f"{place} {how} {added}"


def _symbols(section: Section, varying: _Varying) -> Iterator[str]:
    rows = _rows(SYMBOL, section)
    need(len(rows) == len(varying.names), f"{PART} has two lists of names")
    for (_, kind, other, home, value, nbytes), name in zip(rows, varying.names, strict=True):
        place = "" if name == LOADING else value
        size = "" if name in (LAUNCHING, NAME) else nbytes
        yield f"{name} {kind} {other} {home} {place} {size}"


def _rows(form: struct.Struct, section: Section) -> list[tuple[int, ...]]:
    need(len(section.data) % form.size == 0, f"{PART} ends within a row")
    return list(form.iter_unpack(section.data))


# -------------------------------------------------------------------------------------------------
# Validation of a cubin before the driver loads it: the driver trusts its contents.

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
    """The contents of a cubin."""

    architecture: str
    kernels: tuple[str, ...]


def architecture(code: bytes) -> str:
    """Return the architecture that a cubin is compiled for, such as `sm_90`."""
    header = header_of(code)
    need(header.machine == MACHINE, f"it is for machine {header.machine}, not for GPUs")
    need(code[7] in SYSTEMS, f"it is for system {code[7]}, not for CUDA")
    return f"sm_{header.flags >> SYSTEMS[code[7]] & 0xFF}"


def sections(code: bytes) -> tuple[Section, ...]:
    """Return all sections of a cubin, after a check that they lie inside the file."""
    architecture(code)
    return sections_of(code, header_of(code), EMPTY)


def read_cubin(code: bytes) -> Cubin:
    """Read a cubin; raise InvalidElfError for one that the driver should not load."""
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
    """Require that all sections of one function name the same function."""
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
    """Return the names of all kernels; check that each has code."""
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
