"""The part of a tile kernel's cubin that is for the host: an object file, which the driver links
and whose code it runs while it loads the kernel.

Nobody can tell by reading machine code whether it is sound. But tileiras writes the same part into
each cubin, but for the kernel's name and for one function, which only launches run. So what a part
is apart from these is known, or the cubin is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from .elf import HEADER, SYMBOL, Elf, Section, need, read_elf

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
    """What differs between the parts of two kernels."""

    start: int
    """Where the function begins that runs when a kernel is loaded."""
    name: int
    """Bytes of the kernel's name."""
    frame: int
    """Where the frame of the function begins that runs when a kernel is loaded."""
    names: tuple[str, ...]
    """Of all symbols, which are in no other order in any kernel."""


def kernel_of(data: bytes) -> str:
    """The kernel a part is for; an `InvalidElfError` where it is none of the parts known."""
    need(digest(data) in KNOWN, f"{PART} is none that is known")
    name = next(each.data for each in read_elf(data).sections if each.name == NAMES)
    return name[:-1].decode(errors="replace")


def digest(data: bytes) -> str:
    """What identifies a part, whatever kernel it is for."""
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
    """Where the frame of a function of so many bytes ends."""
    need(at + FRAME.size <= len(frames), f"{PART} has too few frames")
    length, back, function, bytes_of_it = FRAME.unpack_from(frames, at)
    known = (back, function, bytes_of_it) == (at + 4, 0, covered)
    need(known, f"{PART} has a frame of no function")
    return at + 4 + int(length)


def _lines(section: Section, varying: _Varying) -> Iterator[str]:
    """What a section is, and has, without what varies."""
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
    """Each with its place, in code and frames from those of the function that loading runs."""
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
