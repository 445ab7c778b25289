"""Entries of the disk cache: the record that names an entry, its bytes, and bundles of entries.

A bundle is an xz stream of pieces, each with the lengths of its parts: record, metadata, code.
Names and checksums follow from these and are not stored; code begins at a multiple of the length of
a GPU instruction, which improves the compression. The first piece has no record: its code is a text
about the bundle.
"""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TypeGuard, cast

from ...base.errors import KernelCacheError
from ...base.stage import Fact, Facts, Saved
from .disk import Store
from .keeper import LARGEST

# --- entries of the disk cache -----------------------------------------------------------------

# -------------------------------------------------------------------------------------------------
# Records: the inputs of an entry as named facts in JSON; the hash is the name of the entry.

FORMAT = 1
"""Counts up when records are written differently, so that old names are never asked for again."""
SHOWN = 60
"""Most characters of a fact that a difference shows."""


@dataclass(frozen=True, slots=True)
class Record:
    """The facts as canonical text, and the name that follows from them: 64 hex digits."""

    text: bytes
    name: str

    @classmethod
    def of(cls, facts: Facts) -> Record:
        """Return the record of some facts; their order does not matter."""
        lines = [
            f"{json.dumps(key)}: {_lines(value)}"
            for key, value in sorted({"format": FORMAT, **facts}.items())
        ]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        encoded = text.encode("ascii")
        return cls(encoded, sha256(encoded).hexdigest())

    @property
    def digest(self) -> bytes:
        """The name as bytes."""
        return bytes.fromhex(self.name)


def _lines(value: Fact) -> str:
    """Return one line per item of a list, so that people can read it."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(item)}" for item in value) + "\n]"
    return json.dumps(value)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of an entry."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def facts_of(text: bytes) -> dict[str, object]:
    """Return the facts of a record's text; ValueError where it is none."""
    try:
        parsed: object = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(parsed, dict):
        raise ValueError("not a record")
    return cast("dict[str, object]", parsed)


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Return each fact in which two records differ, as `what: old -> new`."""
    found: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        if (difference := _difference(old.get(key), new.get(key))) is not None:
            found.append(f"{key}{difference}")
    return found


def _difference(old: object, new: object) -> str | None:
    if old == new:
        return None
    if _is_list(old) and _is_list(new):
        return _of_lists(old, new)
    return f": {_short(old)} -> {_short(new)}"


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _of_lists(old: list[object], new: list[object]) -> str:
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return f" line {number}: {_short(a)} -> {_short(b)}"
    return f": {len(old)} -> {len(new)} lines"


def _short(value: object) -> str:
    text = str(value).strip()
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


# -------------------------------------------------------------------------------------------------
# One entry of the disk cache as bytes: a fixed header, the record, metadata, code.
#
#     offset  bytes
#          0      8  magic
#          8      4  version of this layout
#         12      4  length of the record
#         16      4  length of the metadata
#         20      4  zero
#         24      8  length of the code
#         32     32  SHA-256 of everything before, the metadata and the code
#         64     32  SHA-256 of the record, which is the entry's name
#         96         record (JSON), metadata (JSON), code
#
# Numbers are little-endian. Nothing is believed before it has been compared; nothing is executed.

MAGIC = b"TWCODE\r\n"
"""The line end shows whether something took the file for text."""
VERSION = 1
SIZES = struct.Struct("<8sIIIIQ")
HEADER = SIZES.size + 64


class InvalidEntryError(Exception):
    """Raised for bytes that are not the expected entry; the message has the reason."""


def encode(record: Record, saved: Saved) -> bytes:
    """Return the bytes of an entry."""
    metadata = json.dumps(dict(saved.metadata), sort_keys=True).encode("ascii")
    sizes = SIZES.pack(MAGIC, VERSION, len(record.text), len(metadata), 0, len(saved.code))
    checked = sha256(sizes + metadata + saved.code).digest()
    return b"".join((sizes, checked, record.digest, record.text, metadata, saved.code))


def decode(data: bytes, record: Record) -> Saved:
    """Return what an entry holds, if it is whole and made from this very record."""
    text, saved = _parts(data)
    _need(text == record.text, "it was made from another record")
    return saved


def parts(data: bytes, name: str) -> tuple[Record, Saved]:
    """Return the record and contents of an entry that is complete and has this name."""
    text, saved = _parts(data)
    _need(sha256(text).hexdigest() == name, "it belongs under another name")
    return Record(text, name), saved


def check(data: bytes, name: str) -> dict[str, object]:
    """Return the facts of an entry, if it is whole and belongs under this name."""
    record, _ = parts(data, name)
    try:
        return facts_of(record.text)
    except ValueError as error:
        raise InvalidEntryError(f"its record cannot be read: {error}") from None


def _parts(data: bytes) -> tuple[bytes, Saved]:
    """Return the record's text and the rest, each compared with its checksum."""
    _need(len(data) >= HEADER, "it is shorter than a header")
    magic, version, record, metadata, zero, code = SIZES.unpack_from(data)
    _need(magic == MAGIC, "it is not an entry")
    _need(version == VERSION, f"it has layout {version}, not {VERSION}")
    _need(zero == 0, "its header has something where nothing belongs")
    _need(HEADER + record + metadata + code == len(data), "its length is not what it says")
    checked, digest = data[SIZES.size : SIZES.size + 32], data[SIZES.size + 32 : HEADER]
    text = data[HEADER : HEADER + record]
    rest = data[HEADER + record :]
    _need(sha256(text).digest() == digest, "its record is damaged")
    _need(sha256(data[: SIZES.size] + rest).digest() == checked, "its contents are damaged")
    try:
        facts = facts_of(rest[:metadata])
    except ValueError as error:
        raise InvalidEntryError(f"its metadata cannot be read: {error}") from None
    return text, Saved(facts, rest[metadata:])


def _need(ok: bool, message: str) -> None:
    if not ok:
        raise InvalidEntryError(message)


# --- bundles -----------------------------------------------------------------------------------

LENGTHS = struct.Struct("<IIQ")
BUNDLE_MAGIC = b"TWBUNDLE"
UNIT = 16
"""Bytes of an instruction."""
SMALLEST, LARGEST_WINDOW = 1 << 20, 1 << 27
"""How far back xz looks, in bytes: as far as there is anything, but this takes memory."""


class _Writer:
    """A writer of pieces."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0
        self._write(BUNDLE_MAGIC)

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
    if _read(file, len(BUNDLE_MAGIC)) != BUNDLE_MAGIC:
        raise ValueError("its header is wrong")
    at = len(BUNDLE_MAGIC)
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
