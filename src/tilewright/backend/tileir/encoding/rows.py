"""The sections of a file and the rows of its tables, each row read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable

from ..program.types import (
    TOKEN,
    Dims,
    Function,
    GatherView,
    Kind,
    Padding,
    PartitionView,
    Pointer,
    Scalar,
    StridedView,
    TensorView,
    Tile,
)
from .bytes import Bytes
from .primitives import DYNAMIC
from .tables import (
    FUNCTION,
    GATHER,
    PARTITION,
    POINTER,
    SCALAR_TAGS,
    SCALARS_SINCE,
    STRIDED,
    TENSOR,
    TILE,
    TOKEN_TAG,
)
from .versions import OLDEST, V13_3, V13_4, Version
from .writer import ALIGNED, CONSTANTS, FUNCTIONS, PRODUCER, STRINGS, TYPES

SECTIONS = 8
SCALARS = {tag: scalar for scalar, tag in SCALAR_TAGS.items()}
DEEPEST = 8
"""Types inside types: a function of views of tensors of numbers needs four."""


class Rows:
    """The tables of one file."""

    def __init__(self, sections: dict[int, Bytes], version: Version, whole: Bytes) -> None:
        self.version = version
        self.functions = sections.get(FUNCTIONS) or _missing(whole, "functions")
        self.strings = _table(sections.get(STRINGS) or _missing(whole, "strings"), 4)
        self.types = _table(sections[TYPES], 4) if TYPES in sections else []
        self.constants = _table(sections[CONSTANTS], 8) if CONSTANTS in sections else []
        producer = sections.get(PRODUCER)
        self.producer = self.string(producer) if producer is not None else ""
        self._kinds: dict[int, Kind] = {}
        self._depth = 0

    def _row(self, data: Bytes, rows: list[Bytes], what: str) -> tuple[int, Bytes]:
        number = data.varint()
        if number >= len(rows):
            raise data.wrong(f"{what} {number} where there are {len(rows)}")
        row = rows[number]
        return number, Bytes(row.data, row.at, row.end)

    def string(self, data: Bytes) -> str:
        """The text that the next number names."""
        _, row = self._row(data, self.strings, "string")
        try:
            return row.take(row.left).decode()
        except UnicodeDecodeError:
            raise row.wrong("a text that is not UTF-8") from None

    def constant(self, data: Bytes) -> bytes:
        """The elements that the next number names."""
        _, row = self._row(data, self.constants, "constant")
        return row.take(row.varint())

    def kind(self, data: Bytes) -> Kind:
        """The type that the next number names."""
        number, row = self._row(data, self.types, "type")
        found = self._kinds.get(number)
        if found is None:
            if self._depth >= DEEPEST:
                raise data.wrong("types too deep inside each other")
            self._depth += 1
            found = self._kinds[number] = self._read(row)
            self._depth -= 1
        return found

    def _read(self, row: Bytes) -> Kind:
        tag = row.varint()
        scalar = SCALARS.get(tag)
        if scalar is not None:
            if SCALARS_SINCE.get(scalar, OLDEST) > self.version:
                raise row.wrong(f"the type {scalar}, which came later")
            return scalar
        read = READERS.get(tag)
        if read is None:
            raise row.wrong(f"{tag} as a type")
        return read(self, row)

    def scalar(self, row: Bytes) -> Scalar:
        """An element type."""
        kind = self.kind(row)
        if not isinstance(kind, Scalar):
            raise row.wrong(f"elements of type {kind}")
        return kind

    def tensor(self, row: Bytes) -> TensorView:
        """The tensor of a view."""
        kind = self.kind(row)
        if not isinstance(kind, TensorView):
            raise row.wrong(f"a view of {kind}")
        return kind

    def padding(self, row: Bytes, flags: int) -> Padding | None:
        """The padding of a view."""
        there = flags & 1 if self.version >= V13_3 else row.byte()
        if not there:
            return None
        code = row.varint()
        if code not in {p.value for p in Padding}:
            raise row.wrong(f"{code} as a padding")
        return Padding(code)

    def flags(self, row: Bytes, since: Version) -> int:
        """The flags of a type, where the version has them."""
        return row.varint() if self.version >= since else 0


def _pointer(rows: Rows, row: Bytes) -> Kind:
    _no_flags(rows, row)
    return Pointer(rows.scalar(row))


def _no_flags(rows: Rows, row: Bytes) -> None:
    if rows.flags(row, V13_4):
        raise row.wrong("a pointer attribute, which is not known")


def _tile(rows: Rows, row: Bytes) -> Kind:
    elem = rows.kind(row)
    if not isinstance(elem, Scalar | Pointer):
        raise row.wrong(f"a tile of {elem}")
    shape = row.i64s()
    if any(n <= 0 or n & n - 1 for n in shape):
        raise row.wrong(f"the tile shape {shape}")
    return Tile(elem, shape)


def _tensor(rows: Rows, row: Bytes) -> Kind:
    _no_flags(rows, row)
    elem, shape, strides = rows.scalar(row), _dims(row), _dims(row)
    if len(shape) != len(strides):
        raise row.wrong("not one stride for each extent")
    return TensorView(elem, shape, strides)


def _dims(row: Bytes) -> Dims:
    return tuple(None if n == DYNAMIC else n for n in row.i64s())


def _partition(rows: Rows, row: Bytes) -> Kind:
    flags = rows.flags(row, V13_3)
    tile, tensor, order = row.i32s(), rows.tensor(row), row.i32s()
    return PartitionView(tile, tensor, order, rows.padding(row, flags))


def _strided(rows: Rows, row: Bytes) -> Kind:
    flags = rows.flags(row, V13_3)
    tile, steps, tensor, order = row.i32s(), row.i32s(), rows.tensor(row), row.i32s()
    return StridedView(tile, steps, tensor, order, rows.padding(row, flags))


def _gather(rows: Rows, row: Bytes) -> Kind:
    flags = rows.flags(row, V13_3)
    tile, tensor, sparse = row.i32s(), rows.tensor(row), row.varint()
    return GatherView(tile, tensor, sparse, rows.padding(row, flags))


def _function(rows: Rows, row: Bytes) -> Kind:
    args = tuple(rows.kind(row) for _ in range(row.count()))
    return Function(args, tuple(rows.kind(row) for _ in range(row.count())))


READERS: dict[int, Callable[[Rows, Bytes], Kind]] = {
    POINTER: _pointer, TILE: _tile, TENSOR: _tensor, PARTITION: _partition, STRIDED: _strided,
    GATHER: _gather, FUNCTION: _function, TOKEN_TAG: lambda rows, row: TOKEN,
}  # fmt: skip


def read_rows(whole: Bytes, version: Version) -> Rows:
    """Find the sections of a file."""
    sections: dict[int, Bytes] = {}
    while mark := whole.byte():
        number = mark & ~ALIGNED
        if number >= SECTIONS:
            raise whole.wrong(f"section {number}, which is not known")
        length = whole.varint()
        if mark & ALIGNED:
            alignment = whole.varint()
            if not alignment or alignment & alignment - 1:
                raise whole.wrong(f"an alignment of {alignment}")
            whole.align(alignment, 0)
        sections[number] = whole.part(length)
    if whole.left:
        raise whole.wrong(f"{whole.left} bytes behind the end")
    return Rows(sections, version, whole)


def _table(data: Bytes, width: int) -> list[Bytes]:
    start = data.at
    count = data.count()
    if not count:
        return []
    data.align(width, start)
    offsets = data.fixed(count, width)
    base, end = data.at, data.end
    starts = [base + offset for offset in offsets]
    ends = [*starts[1:], end]
    if any(not base <= a <= b <= end for a, b in zip(starts, ends, strict=True)):
        raise data.wrong("rows that are not one behind the other")
    return [Bytes(data.data, a, b) for a, b in zip(starts, ends, strict=True)]


def _missing(whole: Bytes, what: str) -> Bytes:
    raise whole.wrong(f"no section of {what}")
