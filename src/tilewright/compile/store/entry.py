"""Entries of stores: the record that names an entry, its bytes, and how a compilation asks."""

from __future__ import annotations

import json
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeGuard, TypeVar, cast

from ...base.messages import tell
from ...base.stage import Fact, Facts, Saved

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
    """Return each fact in which two records differ, as `name: old -> new`."""
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
    """Return the content of an entry, if it is intact and was made from this very record."""
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
    _need(zero == 0, "a reserved field of its header is not zero")
    _need(
        HEADER + record + metadata + code == len(data), "its length differs from that in its header"
    )
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


# -------------------------------------------------------------------------------------------------
# The interface of a store of compiled code to a compilation: look up, and store.
#
# A keeper never raises: an entry that it cannot read is a miss, one that it cannot write is not
# stored. It counts both, and warns once if nothing can be stored.


T = TypeVar("T")

LARGEST = 256 << 20
"""An entry of more bytes is not ours."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a store in this process."""

    hits: int = 0
    misses: int = 0
    puts: int = 0
    bytes_written: int = 0
    io_errors: int = 0
    invalid: int = 0
    """Entries that were damaged or not what they should be, and were removed."""
    evicted: int = 0


class Keeper(ABC):
    """A store of compiled code by records. Any number of threads may use it."""

    def __init__(self) -> None:
        self._stats = Stats()
        self._warned = False
        self._lock = threading.Lock()

    @property
    def stats(self) -> Stats:
        """The counts so far."""
        return self._stats

    @property
    @abstractmethod
    def place(self) -> str:
        """The text of its location."""

    def get(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return the entry of a record, rebuilt by `restore`; count a hit or a miss."""
        found = self.find(record, restore)
        self.count(misses=found is None)
        return found

    def find(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return an entry as `get` does, but do not count a miss."""
        found = self.read(record, restore)
        self.count(hits=found is not None)
        return found

    @abstractmethod
    def read(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return a stored result; count and remove an invalid one."""

    @abstractmethod
    def put(self, record: Record, saved: Saved) -> bool:
        """Keep something under a record; whether it is kept now."""

    @abstractmethod
    def alone(self, record: Record) -> AbstractContextManager[None]:
        """Keep others from making the same, as far as that can be."""

    @abstractmethod
    def remove(self, name: str) -> bool:
        """Remove one entry, which need not be there; whether it is gone."""

    @abstractmethod
    def clear(self) -> object:
        """Remove all entries."""

    def count(self, **more: int) -> None:
        """Add to the counts."""
        with self._lock:
            counts = {name: getattr(self._stats, name) + n for name, n in more.items()}
            self._stats = replace(self._stats, **counts)

    def warn(self, text: str) -> None:
        """Warn of something, if this is the first time."""
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            tell(text, stacklevel=2)
