"""Small ELF files for tests: sections as they are given, laid out one behind the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.base.elf import HEADER, IDENTITY, NO_BYTES, SECTION, STRINGS, SYMBOL, SYMBOLS


@dataclass
class Part:
    """A section to be; `nbytes` only where it has no bytes in the file."""

    name: str
    kind: int = 1
    data: bytes = b""
    link: int = 0
    info: int = 0
    align: int = 1
    entry: int = 0
    flags: int = 0
    nbytes: int = 0


def symbol(name=0, info=0, other=0, section=0, value=0, nbytes=0) -> bytes:
    return SYMBOL.pack(name, info, other, section, value, nbytes)


def strings(*texts: str) -> tuple[bytes, dict[str, int]]:
    """A section of strings, and where in it each begins."""
    data, places = b"\0", {}
    for text in texts:
        places[text] = len(data)
        data += text.encode() + b"\0"
    return data, places


def elf(
    parts: Sequence[Part], *, machine=190, kind=2, flags=0x6005A04, system=0x41, **header: int
) -> bytes:
    """A file of these sections, behind an empty one and the names of all."""
    names, places = strings(".shstrtab", *[part.name for part in parts])
    parts = [Part("", 0), Part(".shstrtab", STRINGS, names), *parts]
    body, rows = b"", []
    for part in parts:
        while (HEADER.size + len(body)) % max(part.align, 1):
            body += b"\0"
        nbytes = part.nbytes if part.kind == NO_BYTES else len(part.data)
        rows.append(SECTION.pack(
            places.get(part.name, 0), part.kind, part.flags, 0, HEADER.size + len(body), nbytes,
            part.link, part.info, part.align, part.entry,
        ))  # fmt: skip
        body += part.data
    fields = {
        "kind": kind, "machine": machine, "version": 1, "entry": 0, "segments_at": 0,
        "sections_at": HEADER.size + len(body), "flags": flags, "size": HEADER.size,
        "segment_size": 56, "segments": 0, "section_size": SECTION.size, "sections": len(rows),
        "names": 1, **header,
    }  # fmt: skip
    head = IDENTITY + bytes([system, 8]) + bytes(7)
    return head + HEADER.pack(*fields.values())[16:] + body + b"".join(rows)


def record(attribute: int, *words: int) -> bytes:
    """A record of a section `.nv.info`."""
    data = struct.pack(f"<{len(words)}I", *words)
    return struct.pack("<BBH", 4, attribute, len(data)) + data


def cubin_parts(kernel: str = "k") -> dict[str, Part]:
    """What a cubin with one kernel has, by name, in order; section 2 is the first."""
    texts, at = strings(kernel, f".text.{kernel}")
    symbols = (
        symbol()
        + symbol(at[f".text.{kernel}"], 3, section=4)
        + symbol(at[kernel], 0x12, 0x10, section=4, nbytes=32)
    )
    parts = [
        Part(".strtab", STRINGS, texts),
        Part(".symtab", SYMBOLS, symbols, link=2, info=1, align=8, entry=SYMBOL.size),
        Part(f".text.{kernel}", 1, bytes(32), link=3, info=2, align=128, flags=6),
        Part(".nv.info", 0x70000000, record(0x2F, 2, 40) + record(0x11, 2, 16), link=3, align=4),
        Part(f".nv.info.{kernel}", 0x70000000, record(0x0A, 5, 6), link=3, info=4, align=4),
        Part(".rela.debug_frame", 4, struct.pack("<QQQ", 4, 2 << 32 | 2, 0), 3, 8, 8, 24),
        Part(".debug_frame", 1, bytes(16)),
        Part(".nv.callgraph", 0x70000001, struct.pack("<II", 0, 0xFFFFFFFF), 3, entry=8, align=4),
        Part(".note.nv.tkinfo", 7, struct.pack("<III", 4, 3, 1) + b"abc\0xyz\0", align=4),
        Part(f".nv.shared.{kernel}", NO_BYTES, info=4, nbytes=4096, flags=3),
    ]  # fmt: skip
    return {part.name: part for part in parts}


def cubin(**header: int) -> bytes:
    """A cubin with one kernel, `k`."""
    return elf(list(cubin_parts().values()), **header)
