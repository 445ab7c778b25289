"""Read 64-bit ELF files as strictly as a loader should: every reference must be in the file.

A loader that trusts a damaged file crashes the process. So a file is read here first, and rejected
unless all its parts are consistent.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

MAGIC = b"\x7fELF"
IDENTITY = MAGIC + b"\2\1\1"
"""64 bits, little end first, the one version there is."""
RELOCATABLE, EXECUTABLE = 1, 2
"""Kinds of files."""
SYMBOLS, STRINGS, RELOCATIONS_ADDED, NOTES, NO_BYTES, RELOCATIONS = 2, 3, 4, 7, 8, 9
"""Kinds of sections."""
FIRST_RESERVED = 0xFF00
"""From here on the number of a section means something else."""
OBJECT, FUNCTION, SECTION_ITSELF = 1, 2, 3
"""Kinds of symbols: two whose bytes are in their section, and one that names it."""


class InvalidElfError(ValueError):
    """Raised for bytes that are not a valid file; the message has the reason."""


class Header(NamedTuple):
    """The first bytes of a file, behind its identity."""

    kind: int
    machine: int
    version: int
    entry: int
    segments_at: int
    sections_at: int
    flags: int
    size: int
    segment_size: int
    segments: int
    section_size: int
    sections: int
    names: int


class _Row(NamedTuple):
    """A section as the file has it."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    nbytes: int
    link: int
    info: int
    align: int
    entry: int


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `data` is empty where it takes no room in the file."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    nbytes: int
    link: int
    info: int
    align: int
    entry: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for a place in a section."""

    name: str
    kind: int
    other: int
    section: int
    value: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Elf:
    """A whole file."""

    header: Header
    abi: int
    """The version of the system's own rules."""
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]


HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQ")
NOTE = struct.Struct("<III")
ENTRY_SIZES = {SYMBOLS: SYMBOL.size, RELOCATIONS_ADDED: 24, RELOCATIONS: RELOCATION.size}


def header_of(data: bytes) -> Header:
    """Return the header of a file that begins as one should."""
    need(len(data) >= HEADER.size and data.startswith(IDENTITY), "it is no ELF file of 64 bits")
    return Header(*HEADER.unpack_from(data))


def sections_of(
    data: bytes, header: Header, empty: frozenset[int] = frozenset({NO_BYTES})
) -> tuple[Section, ...]:
    """Return all sections, each within the file; those of `empty` kinds have no bytes in it."""
    need(header.section_size == SECTION.size, "its section headers have another size")
    need(0 < header.names < header.sections, "its sections have no names")
    table = _part(data, header.sections_at, header.sections * SECTION.size, "its table of sections")
    rows = [_Row(*fields) for fields in SECTION.iter_unpack(table)]
    names = rows[header.names]
    need(names.kind == STRINGS, "the names of its sections are no strings")
    texts = _part(data, names.offset, names.nbytes, "the names of its sections")
    return tuple([_section(data, row, texts, row.kind in empty) for row in rows])


def _section(data: bytes, row: _Row, texts: bytes, empty: bool) -> Section:
    name = text_at(texts, row.name)
    content = b"" if empty else _part(data, row.offset, row.nbytes, f"its section {name!r}")
    return Section(name, *row[1:], content)


def read_elf(
    data: bytes,
    *,
    empty: frozenset[int] = frozenset({NO_BYTES}),
    overlaid: tuple[str, ...] = (),
) -> Elf:
    """Read a file, and raise an `InvalidElfError` unless it is whole.

    Sections of the kinds `empty` have no bytes in the file; those whose names begin as one of
    `overlaid` may share bytes with others.
    """
    header = header_of(data)
    need(header.size == HEADER.size, "its header has another size")
    sections = sections_of(data, header, empty)
    for section in sections:
        _check_section(section, sections)
    _check_segments(data, header)
    _check_room(header, [s for s in sections if s.data and not s.name.startswith(overlaid)])
    symbols = _symbols(sections)
    for section in sections:
        if section.kind in (RELOCATIONS_ADDED, RELOCATIONS):
            _check_relocations(section, sections, len(symbols))
        elif section.kind == NOTES:
            _check_notes(section)
    return Elf(header, data[8], sections, symbols)


def need(condition: bool, message: str) -> None:
    """Raise an `InvalidElfError` where something is not as it must be."""
    if not condition:
        raise InvalidElfError(message)


def text_at(texts: bytes, start: int) -> str:
    """Return the text that begins at a place of a section of strings."""
    end = texts.find(b"\0", start)
    need(0 <= start < len(texts) and end >= 0, "a name is not among its strings")
    return texts[start:end].decode("latin-1")


def _part(data: bytes, start: int, nbytes: int, what: str) -> bytes:
    need(start + nbytes <= len(data), f"{what} is not within it")
    return data[start : start + nbytes]


def _check_section(section: Section, sections: Sequence[Section]) -> None:
    what = f"its section {section.name!r}"
    align = section.align
    need(align & (align - 1) == 0, f"{what} is aligned to no power of two")
    need(align <= 1 or not section.data or section.offset % align == 0, f"{what} is misaligned")
    need(section.link < len(sections), f"{what} is linked to one that is not there")
    size = ENTRY_SIZES.get(section.kind)
    need(size is None or section.entry == size, f"{what} has entries of another size")
    need(section.nbytes % (section.entry or 1) == 0, f"{what} ends within an entry")
    if section.kind == STRINGS:
        need(section.data[:1] == section.data[-1:] == b"\0", f"{what} does not end with a zero")


def _check_segments(data: bytes, header: Header) -> None:
    if not header.segments:
        return
    need(header.segment_size == SEGMENT.size, "its segment headers have another size")
    nbytes = header.segments * SEGMENT.size
    table = _part(data, header.segments_at, nbytes, "its table of segments")
    for _, _, offset, _, _, in_file, in_memory, align in SEGMENT.iter_unpack(table):
        need(offset + in_file <= len(data), "a segment is not within it")
        need(in_file <= in_memory, "a segment has more bytes than room")
        need(align & (align - 1) == 0, "a segment is aligned to no power of two")


def _check_room(header: Header, sections: Sequence[Section]) -> None:
    """Require that no two sections share bytes."""
    used = [(section.offset, section.offset + len(section.data)) for section in sections]
    used.append((0, HEADER.size))
    used.append((header.sections_at, header.sections_at + header.sections * SECTION.size))
    if header.segments:
        used.append((header.segments_at, header.segments_at + header.segments * SEGMENT.size))
    apart = all(before[1] <= after[0] for before, after in pairwise(sorted(used)))
    need(apart, "some of its parts overlap")


def _symbols(sections: Sequence[Section]) -> tuple[Symbol, ...]:
    tables = [section for section in sections if section.kind == SYMBOLS]
    need(len(tables) == 1, f"it has {len(tables)} tables of symbols")
    texts = sections[tables[0].link]
    need(texts.kind == STRINGS, "the names of its symbols are no strings")
    need(tables[0].info <= tables[0].nbytes // SYMBOL.size, "it has fewer symbols than it says")
    return tuple(_read_symbols(tables[0].data, texts.data, sections))


def _read_symbols(table: bytes, texts: bytes, sections: Sequence[Section]) -> Iterator[Symbol]:
    for name, info, other, section, value, nbytes in SYMBOL.iter_unpack(table):
        found = Symbol(text_at(texts, name), info & 0xF, other, section, value, nbytes)
        if found.section < FIRST_RESERVED:
            need(found.section < len(sections), f"the symbol {found.name!r} is in no section")
            home = sections[found.section]
            if found.kind in (OBJECT, FUNCTION) and home.data:
                inside = found.value + found.nbytes <= home.nbytes
                need(inside, f"the symbol {found.name!r} is not within its section")
            elif found.kind == SECTION_ITSELF:
                need(found.name in ("", home.name), f"a symbol takes {home.name!r} for another")
        yield found


def _check_relocations(section: Section, sections: Sequence[Section], symbols: int) -> None:
    what = f"its section {section.name!r}"
    need(0 < section.info < len(sections), f"{what} refers to a missing section")
    target, size = sections[section.info], ENTRY_SIZES[section.kind]
    need(sections[section.link].kind == SYMBOLS, f"{what} has no symbols")
    for at in range(0, len(section.data), size):
        place, info = RELOCATION.unpack_from(section.data, at)
        need(place + 4 <= len(target.data), f"{what} relocates bytes outside of {target.name!r}")
        need(info >> 32 < symbols, f"{what} refers to a missing symbol")


def _check_notes(section: Section) -> None:
    data, at = section.data, 0
    while at < len(data):
        need(at + NOTE.size <= len(data), f"its section {section.name!r} ends within a note")
        name, nbytes, _ = NOTE.unpack_from(data, at)
        at += NOTE.size + _padded(name) + _padded(nbytes)
    need(at == len(data), f"its section {section.name!r} ends within a note")


def _padded(nbytes: int) -> int:
    return -(-nbytes // 4) * 4
