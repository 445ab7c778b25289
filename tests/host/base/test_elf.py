from __future__ import annotations

import struct

import pytest

from support.elf import Part, cubin_parts, elf, strings, symbol
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.base.elf import (
    HEADER,
    NO_BYTES,
    STRINGS,
    SYMBOL,
    SYMBOLS,
    InvalidElfError,
    header_of,
    read_elf,
    text_at,
)  # fmt: skip


def changed(name, **fields):
    """A whole file but for one section."""
    parts = cubin_parts()
    for field, value in fields.items():
        setattr(parts[name], field, value)
    return elf(list(parts.values()))


def test_a_whole_file_is_read():
    file = read_elf(elf(list(cubin_parts().values())))
    assert [s.name for s in file.sections][2:5] == [".strtab", ".symtab", ".text.k"]
    assert [(s.name, s.nbytes) for s in file.symbols] == [("", 0), (".text.k", 0), ("k", 32)]
    assert (file.header.machine, file.abi) == (190, 8)
    assert file.sections[-1].nbytes == 4096 and file.sections[-1].data == b""


SMALL = elf([Part(".symtab", SYMBOLS, symbol(), link=1, entry=SYMBOL.size)])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no ELF file"),
        (SMALL[:40], "no ELF file"),
        (SMALL.replace(b"ELF\2", b"ELF\1"), "no ELF file"),
        (SMALL[:-1], "its table of sections is not within it"),
        (elf([], names=0), "its sections have no names"),
        (elf([], names=7), "its sections have no names"),
        (elf([], section_size=32), "section headers have another size"),
        (elf([], size=52), "header has another size"),
        (elf([]), "0 tables of symbols"),
        (elf([Part(".a", SYMBOLS, symbol()[:-1], link=1, entry=24)]), "ends within an entry"),
        (elf([Part(".a", SYMBOLS, symbol(), link=1, entry=16)]), "entries of another size"),
        (elf([Part(".a", SYMBOLS, symbol(), link=0, entry=24)]), "names of its symbols"),
        (elf([Part(".a", SYMBOLS, symbol(), link=9, entry=24)]), "linked to one"),
        (elf([Part(".a", SYMBOLS, symbol(), link=1, info=2, entry=24)]), "fewer symbols"),
        (elf([Part(".a", SYMBOLS, symbol(99), link=1, entry=24)]), "not among its strings"),
        (elf([Part(".a", STRINGS, b"ab")]), "does not end with a zero"),
        (elf([Part(".a", 1, b"ab", align=3)]), "no power of two"),
        (elf([], segments=1, segment_size=32), "segment headers have another size"),
        (elf([], segments=1, segments_at=1 << 40), "table of segments is not within"),
        (changed(".symtab", data=symbol(section=50)), "in no section"),
        (changed(".symtab", data=symbol(1, 2, section=4, value=20, nbytes=20)), "not within its"),
        (changed(".symtab", data=symbol(1, 3, section=5)), "takes '.nv.info' for another"),
        (changed(".rela.debug_frame", info=0), "refers to a missing section"),
        (changed(".rela.debug_frame", link=2), "has no symbols"),
        (
            changed(".rela.debug_frame", data=struct.pack("<QQQ", 13, 0, 0)),
            "relocates bytes outside of",
        ),
        (
            changed(".rela.debug_frame", data=struct.pack("<QQQ", 0, 9 << 32, 0)),
            "refers to a missing symbol",
        ),
        (changed(".note.nv.tkinfo", data=struct.pack("<III", 4, 99, 1)), "ends within a note"),
        (changed(".note.nv.tkinfo", data=b"abcd"), "ends within a note"),
    ],
)  # fmt: skip
def test_what_is_not_whole_is_refused(data, why):
    with pytest.raises(InvalidElfError, match=why):
        read_elf(data)


def test_sections_may_not_share_bytes_unless_they_are_known_to():
    data = bytearray(elf(list(cubin_parts().values())))
    header = header_of(bytes(data))
    row = header.sections_at + 8 * 64  # .debug_frame
    at = row + 24
    data[at : at + 8] = (int.from_bytes(data[at : at + 8], "little") - 4).to_bytes(8, "little")
    with pytest.raises(InvalidElfError, match="overlap"):
        read_elf(bytes(data))
    assert read_elf(bytes(data), overlaid=(".debug_",))


def test_segments_are_within_the_file():
    whole = elf(list(cubin_parts().values()))

    def with_segment(offset, in_file, in_memory, align=8):
        segment = struct.pack("<IIQQQQQQ", 1, 4, offset, 0, 0, in_file, in_memory, align)
        head = bytearray(whole + segment)
        head[32:40] = len(whole).to_bytes(8, "little")
        head[56:58] = (1).to_bytes(2, "little")
        return bytes(head)

    assert read_elf(with_segment(64, 8, 8))
    for bad in [(len(whole), 99, 99), (64, 9, 8), (64, 8, 8, 3)]:
        with pytest.raises(InvalidElfError, match="a segment"):
            read_elf(with_segment(*bad))


def test_kinds_without_bytes():
    data = changed(".nv.shared.k", kind=NO_BYTES, nbytes=1 << 60)
    assert read_elf(data).sections[-1].nbytes == 1 << 60


def test_texts():
    data, places = strings("one", "two")
    assert text_at(data, places["two"]) == "two"
    with pytest.raises(InvalidElfError):
        text_at(data, len(data))


def test_damaged_files_are_refused_or_read():
    """Never anything but our own error."""
    refused = 0
    for mutant in mutants(elf(list(cubin_parts().values())), 2000, fresh_random()):
        try:
            read_elf(mutant)
        except InvalidElfError:
            refused += 1
    assert refused > 1000
    assert HEADER.size == 64
