"""One entry of the disk cache as bytes: a fixed header, the record, metadata, code.

    offset  bytes
         0      8  magic
         8      4  version of this layout
        12      4  length of the record
        16      4  length of the metadata
        20      4  zero
        24      8  length of the code
        32     32  SHA-256 of everything before, the metadata and the code
        64     32  SHA-256 of the record, which is the entry's name
        96         record (JSON), metadata (JSON), code

Numbers are little-endian. Nothing is believed before it has been compared; nothing is executed.
"""

from __future__ import annotations

import json
import struct
from hashlib import sha256

from ...base.stage import Saved
from .record import Record, facts_of

MAGIC = b"TWCODE\r\n"
"""The line end shows whether something took the file for text."""
VERSION = 1
SIZES = struct.Struct("<8sIIIIQ")
HEADER = SIZES.size + 64


class InvalidEntryError(Exception):
    """Bytes that are not the entry they should be; says what is wrong with them."""


def encode(record: Record, saved: Saved) -> bytes:
    """The bytes of an entry."""
    metadata = json.dumps(dict(saved.metadata), sort_keys=True).encode("ascii")
    sizes = SIZES.pack(MAGIC, VERSION, len(record.text), len(metadata), 0, len(saved.code))
    checked = sha256(sizes + metadata + saved.code).digest()
    return b"".join((sizes, checked, record.digest, record.text, metadata, saved.code))


def decode(data: bytes, record: Record) -> Saved:
    """What an entry holds, if it is whole and made from this very record."""
    text, saved = _parts(data)
    _need(text == record.text, "it was made from another record")
    return saved


def parts(data: bytes, name: str) -> tuple[Record, Saved]:
    """The record and the contents of an entry, if it is whole and belongs under this name."""
    text, saved = _parts(data)
    _need(sha256(text).hexdigest() == name, "it belongs under another name")
    return Record(text, name), saved


def check(data: bytes, name: str) -> dict[str, object]:
    """The facts of an entry, if it is whole and belongs under this name."""
    record, _ = parts(data, name)
    try:
        return facts_of(record.text)
    except ValueError as error:
        raise InvalidEntryError(f"its record cannot be read: {error}") from None


def _parts(data: bytes) -> tuple[bytes, Saved]:
    """The record's text and the rest, each compared with its checksum."""
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
