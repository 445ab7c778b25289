"""Bundles: all entries of a cache as one small file.

A bundle is an xz stream of pieces, each with the lengths of its parts: record, metadata, code.
Names and checksums follow from these and are not stored; code begins at a multiple of the length of
a GPU instruction, which improves the compression. The first piece has no record: its code is a text
about the bundle.
"""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, cast

from ...base.errors import KernelCacheError
from ...base.stage import Saved
from .disk import Store
from .entry import LARGEST, Record, facts_of

LENGTHS = struct.Struct("<IIQ")
MAGIC = b"TWBUNDLE"
UNIT = 16
"""Bytes of an instruction."""
SMALLEST, LARGEST_WINDOW = 1 << 20, 1 << 27
"""How far back xz looks, in bytes: as far as there is anything, but this takes memory."""


class _Writer:
    """A writer of pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0
        self._write(MAGIC)

    def add(self, record: bytes, metadata: bytes, code: bytes) -> None:
        self._write(LENGTHS.pack(len(record), len(metadata), len(code)) + record + metadata)
        self._write(bytes(-self._at % UNIT) + code)

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def pack(store: Store, path: Path, about: str) -> int:
    """Write all entries of a store, and a text about them; how many there were."""
    found = [(file, store.contents(file.name)) for file in store.entries()]
    # Kernels of one name beside each other, for they are alike.
    wanted = sorted(
        (str(facts_of(whole[0].text).get("kernel")), file.size, file.name, *whole)
        for file, whole in found
        if whole is not None
    )
    total = sum(size for _, size, *_ in wanted)
    window = min(max(1 << total.bit_length(), SMALLEST), LARGEST_WINDOW)
    how = {"preset": 9 | lzma.PRESET_EXTREME, "dict_size": window, "lc": 0, "lp": 4, "pb": 4}
    with lzma.open(path, "wb", filters=[{"id": lzma.FILTER_LZMA2, **how}]) as file:
        writer = _Writer(cast("BinaryIO", file))
        writer.add(b"", b"", about.encode())
        for _, _, _, record, saved in wanted:
            metadata = json.dumps(dict(saved.metadata), sort_keys=True).encode("ascii")
            writer.add(record.text, metadata, saved.code)
    return len(wanted)


def unpack(store: Store, path: Path) -> tuple[str, int]:
    """Add a bundle's entries to a store; return its description and how many were kept."""
    try:
        for _ in _pieces(path):  # all of it, before the first is believed
            pass
        every = _pieces(path)
        _, _, about = next(every)
        kept = [store.put(record, saved) for record, saved in map(_entry, every)]
    except (lzma.LZMAError, EOFError, ValueError, StopIteration) as error:
        raise KernelCacheError(
            f"{path} is not a bundle of compiled code, or is damaged",
            got=f"{type(error).__name__}: {error}",
            hint="`tilewright cache pack` writes one",
        ) from None
    return about.decode(errors="replace"), sum(kept)


def _entry(piece: tuple[bytes, bytes, bytes]) -> tuple[Record, Saved]:
    text, metadata, code = piece
    facts_of(text)  # raises where it is none
    return Record(text, sha256(text).hexdigest()), Saved(facts_of(metadata), code)


def _pieces(path: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the pieces of a bundle; ValueError where it is none."""
    with lzma.open(path, "rb") as file:
        yield from _pieces_of(cast("BinaryIO", file))


def _pieces_of(file: BinaryIO) -> Iterator[tuple[bytes, bytes, bytes]]:
    if _read(file, len(MAGIC)) != MAGIC:
        raise ValueError("its header is wrong")
    at = len(MAGIC)
    while head := file.read(LENGTHS.size):
        if len(head) < LENGTHS.size:
            raise ValueError("it ends in the middle of a piece")
        lengths = LENGTHS.unpack(head)
        if sum(lengths) > LARGEST:
            raise ValueError("a piece is too long")
        record, metadata = _read(file, lengths[0]), _read(file, lengths[1])
        at += LENGTHS.size + lengths[0] + lengths[1]
        _read(file, -at % UNIT)
        at += -at % UNIT + lengths[2]
        yield record, metadata, _read(file, lengths[2])


def _read(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise ValueError("it ends in the middle of a piece")
    return data
