"""An entry is believed only when every field of it is right."""

from __future__ import annotations

import struct
from hashlib import sha256

import pytest

from tilewright.base.stage import Saved
from tilewright.compile.store.entry import (
    HEADER,
    MAGIC,
    SIZES,
    InvalidEntryError,
    Record,
    check,
    decode,
    encode,
)

RECORD = Record.of({"kernel": "add", "ir": ["one", "two"]})
OTHER = Record.of({"kernel": "sub", "ir": ["one", "two"]})
SAVED = Saved({"symbol": "add", "scratch_bytes": 64}, bytes(range(256)) * 3)


def sealed(record: bytes, metadata: bytes, code: bytes, **header: int) -> bytes:
    """An entry whose checksums are right, whatever it holds."""
    sizes = SIZES.pack(
        MAGIC, header.get("version", 1), len(record), len(metadata), header.get("zero", 0),
        len(code),
    )  # fmt: skip
    checked = sha256(sizes + metadata + code).digest()
    return sizes + checked + sha256(record).digest() + record + metadata + code


@pytest.mark.parametrize("code", [b"", b"\0", SAVED.code, b"x" * 100_001])
def test_what_was_saved_comes_back(code):
    saved = Saved(SAVED.metadata, code)
    data = encode(RECORD, saved)
    assert decode(data, RECORD) == saved
    assert check(data, RECORD.name)["kernel"] == "add"


def test_the_layout_is_as_documented():
    data = encode(RECORD, SAVED)
    assert HEADER == 96
    assert data[:8] == b"TWCODE\r\n"
    version, record, metadata, zero, code = struct.unpack_from("<IIIIQ", data, 8)
    assert (version, record, zero, code) == (1, len(RECORD.text), 0, len(SAVED.code))
    assert data[64:96].hex() == RECORD.name
    assert data[96 : 96 + record] == RECORD.text
    assert len(data) == 96 + record + metadata + code
    assert sealed(RECORD.text, data[96 + record : 96 + record + metadata], SAVED.code) == data


def test_every_bit_counts():
    data = encode(RECORD, Saved({"a": 1}, b"code"))
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(InvalidEntryError):
            decode(bytes(damaged), RECORD)


def test_every_length_counts():
    data = encode(RECORD, Saved({"a": 1}, b"code"))
    for length in range(len(data)):
        with pytest.raises(InvalidEntryError):
            decode(data[:length], RECORD)
    with pytest.raises(InvalidEntryError, match="its length differs from that"):
        decode(data + b"\0", RECORD)


def test_the_entry_of_another_record():
    with pytest.raises(InvalidEntryError, match="made from another record"):
        decode(encode(OTHER, SAVED), RECORD)
    with pytest.raises(InvalidEntryError, match="belongs under another name"):
        check(encode(OTHER, SAVED), RECORD.name)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "shorter than a header"),
        (b"\0" * 200, "not an entry"),
        (b"\x7fELF" + b"\0" * 200, "not an entry"),
        (sealed(RECORD.text, b"{}", b"", version=2), "it has layout 2, not 1"),
        (sealed(RECORD.text, b"{}", b"", zero=1), "a reserved field"),
        (sealed(RECORD.text, b"[]", b""), "its metadata cannot be read: not a record"),
        (sealed(RECORD.text, b"{", b""), "its metadata cannot be read"),
        (sealed(RECORD.text, b'{"a":' * 100_000, b""), "its metadata cannot be read: nested"),
    ],
)  # fmt: skip
def test_the_reason_is_said(data, reason):
    with pytest.raises(InvalidEntryError, match=reason):
        decode(data, RECORD)


def test_lengths_that_move_a_border():
    """The checksum covers the lengths, or metadata and code could be read into each other."""
    data = bytearray(encode(RECORD, Saved({"a": 1}, b" code")))
    struct.pack_into("<I", data, 16, struct.unpack_from("<I", data, 16)[0] + 1)
    struct.pack_into("<Q", data, 24, struct.unpack_from("<Q", data, 24)[0] - 1)
    with pytest.raises(InvalidEntryError, match="its contents are damaged"):
        decode(bytes(data), RECORD)


def test_lengths_beyond_all_memory():
    head = SIZES.pack(MAGIC, 1, 2**32 - 1, 2**32 - 1, 0, 2**64 - 1)
    with pytest.raises(InvalidEntryError, match="its length differs from that"):
        decode(head + b"\0" * 64, RECORD)


def test_a_record_that_is_no_json():
    data = sealed(b"not json", b"{}", b"")
    with pytest.raises(InvalidEntryError, match="its record cannot be read"):
        check(data, sha256(b"not json").hexdigest())
