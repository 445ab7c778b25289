"""Read bytecode into a program; any input results in a program or a BytecodeError."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from ....base.errors import Error
from .enums import OLDEST, V13_3, V13_4, VERSIONS, Version
from .opcodes import BY_CODE, FieldForm, InstructionField, OpCode
from .program import (
    AttrValue,
    Bounded,
    DivBy,
    Identity,
    Instr,
    InstructionRegion,
    Kernel,
    Program,
    Same,
    Val,
)
from .types import (
    TOKEN,
    Dims,
    FunctionType,
    GatherView,
    Kind,
    PaddingMode,
    PartitionView,
    Pointer,
    ScalarType,
    StridedView,
    TensorView,
    TileValueType,
)
from .writer import (
    ALIGNED,
    BOOLEAN,
    BOUNDED,
    CONSTANTS,
    DICTIONARY,
    DIV_BY,
    DYNAMIC,
    ENTRY,
    FLOAT,
    FUNCTION,
    FUNCTIONS,
    GATHER,
    HINTED,
    HINTS,
    INTEGER,
    MAGIC,
    PARTITION,
    POINTER,
    PRODUCER,
    SAME,
    SCALAR_TAGS,
    SCALARS_SINCE,
    STRIDED,
    STRINGS,
    TENSOR,
    TILE,
    TOKEN_TAG,
    TYPES,
)

# -------------------------------------------------------------------------------------------------
# Primitives: numbers and lists from untrusted bytes.

MOST_BYTES = 10
"""The longest a 64-bit number may be."""


class BytecodeError(Error, ValueError):
    """Raised for bytes that are not valid bytecode."""


class Bytes:
    """A stretch of a file, read from its start; whatever does not fit is a BytecodeError."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return self.end - self.at

    def wrong(self, what: str) -> BytecodeError:
        """Return an error that says where it happened."""
        return BytecodeError("this is not Tile IR bytecode", got=f"{what}, at byte {self.at}")

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count > self.left:
            raise self.wrong(f"{count} bytes expected where {self.left} are left")
        start = self.at
        self.at += count
        return self.data[start : self.at]

    def part(self, length: int) -> Bytes:
        """Return the next bytes as a separate reader."""
        start = self.at
        self.take(length)
        return Bytes(self.data, start, self.at)

    def byte(self) -> int:
        """Return one byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """Return an unsigned number."""
        value = 0
        for shift in range(0, 7 * MOST_BYTES, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise self.wrong("a number of more than 64 bits")

    def signed_varint(self) -> int:
        """Return a signed number."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def count(self, width: int = 1) -> int:
        """Read the length of a list whose elements take at least so many bytes each."""
        n = self.varint()
        if n * width > self.left:
            raise self.wrong(f"a list of {n} where {self.left} bytes are left")
        return n

    def i32s(self) -> tuple[int, ...]:
        """Return a list of 32-bit numbers."""
        n = self.count(4)
        return struct.unpack(f"<{n}i", self.take(4 * n))

    def i64s(self) -> tuple[int, ...]:
        """Return a list of 64-bit numbers."""
        n = self.count(8)
        return struct.unpack(f"<{n}q", self.take(8 * n))

    def fixed(self, count: int, width: int) -> list[int]:
        """Return numbers of a fixed width."""
        data = self.take(count * width)
        return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]

    def align(self, alignment: int, base: int) -> None:
        """Skip what fills up to a multiple of some length, counted from `base`."""
        self.take(-(self.at - base) % alignment)


# -------------------------------------------------------------------------------------------------
# Sections and tables; each row is read on first use.

SECTIONS = 8
SCALARS = {tag: scalar for scalar, tag in SCALAR_TAGS.items()}
DEEPEST_TYPE = 8
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
        """Return the text that the next number names."""
        _, row = self._row(data, self.strings, "string")
        try:
            return row.take(row.left).decode()
        except UnicodeDecodeError:
            raise row.wrong("a text that is not UTF-8") from None

    def constant(self, data: Bytes) -> bytes:
        """Return the elements that the next number names."""
        _, row = self._row(data, self.constants, "constant")
        return row.take(row.varint())

    def kind(self, data: Bytes) -> Kind:
        """Return the type that the next number names."""
        number, row = self._row(data, self.types, "type")
        found = self._kinds.get(number)
        if found is None:
            if self._depth >= DEEPEST_TYPE:
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

    def scalar(self, row: Bytes) -> ScalarType:
        """Return an element type."""
        kind = self.kind(row)
        if not isinstance(kind, ScalarType):
            raise row.wrong(f"elements of type {kind}")
        return kind

    def tensor(self, row: Bytes) -> TensorView:
        """Return the tensor of a view."""
        kind = self.kind(row)
        if not isinstance(kind, TensorView):
            raise row.wrong(f"a view of {kind}")
        return kind

    def padding(self, row: Bytes, flags: int) -> PaddingMode | None:
        """Return the padding of a view."""
        there = flags & 1 if self.version >= V13_3 else row.byte()
        if not there:
            return None
        code = row.varint()
        if code not in {p.value for p in PaddingMode}:
            raise row.wrong(f"{code} as a padding")
        return PaddingMode(code)

    def flags(self, row: Bytes, since: Version) -> int:
        """Return the flags of a type, where the version has them."""
        return row.varint() if self.version >= since else 0


def _pointer(rows: Rows, row: Bytes) -> Kind:
    _no_flags(rows, row)
    return Pointer(rows.scalar(row))


def _no_flags(rows: Rows, row: Bytes) -> None:
    if rows.flags(row, V13_4):
        raise row.wrong("a pointer attribute, which is not known")


def _tile(rows: Rows, row: Bytes) -> Kind:
    elem = rows.kind(row)
    if not isinstance(elem, ScalarType | Pointer):
        raise row.wrong(f"a tile of {elem}")
    shape = row.i64s()
    if any(n <= 0 or n & n - 1 for n in shape):
        raise row.wrong(f"the tile shape {shape}")
    return TileValueType(elem, shape)


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
    return FunctionType(args, tuple(rows.kind(row) for _ in range(row.count())))


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


# -------------------------------------------------------------------------------------------------
# Instructions and kernels.

DEEPEST_REGION = 64
"""Regions inside regions that are followed."""


def read(data: bytes) -> tuple[Program, Version]:
    """Return the program in a file, and the version it is written in."""
    whole = Bytes(data)
    if whole.take(len(MAGIC)) != MAGIC:
        raise whole.wrong("another kind of file")
    version = (whole.byte(), whole.byte())
    if version not in VERSIONS:
        raise whole.wrong(f"version {version[0]}.{version[1]}, which is not known")
    whole.take(2)
    rows = read_rows(whole, version)
    functions = rows.functions
    count = functions.count()
    kernels = tuple(_kernel(functions, rows) for _ in range(count))
    return Program(kernels, rows.producer), version


def _kernel(data: Bytes, rows: Rows) -> Kernel:
    name, signature = rows.string(data), rows.kind(data)
    if not isinstance(signature, FunctionType) or signature.results:
        raise data.wrong(f"{signature} as the type of a kernel")
    flags = data.byte()
    if not flags & ENTRY:
        raise data.wrong("a function that is no kernel")
    data.varint()  # its location in the debug section
    hints: dict[str, dict[str, int | bool]] = {}
    if flags & HINTED:
        if data.varint() != HINTS:
            raise data.wrong("something else instead of hints")
        hints = _hints(data, rows)
    body = data.part(data.varint())
    args = tuple(Val(kind) for kind in signature.args)
    reader = _BodyReader(body, rows, args)
    code: list[Instr] = []
    while body.left:
        code.append(reader.instr())
    if not code or code[-1].op.name != "return":
        raise data.wrong("a kernel that does not end in return")
    return Kernel(name, InstructionRegion(args, code), hints)


class _BodyReader:
    """The reader of one function's instructions; values are numbered as they become visible."""

    def __init__(self, data: Bytes, rows: Rows, args: Sequence[Val]) -> None:
        self.data = data
        self.rows = rows
        self.values = list(args)
        self.depth = 0

    def value(self) -> Val:
        number = self.data.varint()
        if number >= len(self.values):
            raise self.data.wrong(f"value {number} where there are {len(self.values)}")
        return self.values[number]

    def instr(self) -> Instr:
        data, version = self.data, self.rows.version
        op = BY_CODE.get(code := data.varint())
        if op is None or op.since > version:
            raise data.wrong(f"opcode {code:#x}, which is not known")
        results = tuple(Val(kind) for kind in self.results(op))
        flags = data.varint() if op.has_flags(version) else 0
        attrs = {f.name: self.attribute(f, flags) for f in op.fields_in(version)}
        operands, sizes = self.operands(op, flags)
        regions = self.regions(op)
        self.values += results
        _check(data, op, results, attrs)
        return Instr(op, results, operands, sizes, attrs, regions)

    def results(self, op: OpCode) -> list[Kind]:
        fixed = FIXED_RESULTS.get(op.name, 1)
        count = self.data.count() if op.counts_results else fixed
        return [self.rows.kind(self.data) for _ in range(count)]

    def attribute(self, field: InstructionField, flags: int) -> AttrValue:
        there = field.flag is None or bool(flags >> field.flag & 1)
        if field.form is FieldForm.UNIT:
            return int(there)
        if not there:
            return None
        data = self.data
        match field.form:
            case FieldForm.ENUM:
                value = data.varint()
                if value >= len(field.words):
                    raise data.wrong(f"{value} as {field.name}")
                return value
            case FieldForm.NUMBER:
                return data.varint()
            case FieldForm.BYTE:
                return data.byte()
            case FieldForm.TEXT:
                return self.rows.string(data)
            case FieldForm.CONSTANT:
                return self.rows.constant(data)
            case FieldForm.NUMBERS:
                return data.i32s()
            case FieldForm.BYTES:
                return tuple(data.take(data.count()))
            case FieldForm.IDENTITIES:
                return tuple(self.identity() for _ in range(data.count()))
            case FieldForm.PREDICATE:
                return _predicate(data)
            case _:
                return _hints(data, self.rows)

    def identity(self) -> Identity:
        data = self.data
        tag, kind = data.varint(), self.rows.kind(data)
        if tag not in (INTEGER, FLOAT) or not isinstance(kind, ScalarType):
            raise data.wrong(f"an identity of type {kind}")
        if kind.width == 1 or (kind.width <= 8 and not kind.is_int):
            bits = data.byte()
        elif kind.is_int:
            bits = data.varint()
        else:
            bits = data.signed_varint() & ((1 << 64) - 1)
        if bits >> max(kind.width, 8):
            raise data.wrong(f"an identity too large for {kind}")
        return Identity(kind, bits)

    def operands(self, op: OpCode, flags: int) -> tuple[tuple[Val, ...], tuple[int, ...]]:
        data, values = self.data, list[Val]()
        if op.counts_operands:
            values = [self.value() for _ in range(data.count())]
            fixed = sum(slot.arity == "" for slot in op.slots)
            if len(values) < fixed or (len(values) > fixed and fixed == len(op.slots)):
                raise data.wrong(f"{len(values)} operands of {op.name}")
            return tuple(values), tuple(
                1 if slot.arity == "" else len(values) - fixed for slot in op.slots
            )
        sizes: list[int] = []
        for slot in op.slots:
            if slot.since > self.rows.version:
                count = 0
            elif slot.flag is not None:
                count = flags >> slot.flag & 1
            else:
                count = data.count() if slot.arity == "*" else 1
            values += [self.value() for _ in range(count)]
            sizes.append(count)
        return tuple(values), tuple(sizes)

    def regions(self, op: OpCode) -> tuple[InstructionRegion | None, ...]:
        if not op.regions:
            return ()
        if (count := self.data.varint()) != op.regions:
            raise self.data.wrong(f"{count} regions of {op.name}")
        if self.depth >= DEEPEST_REGION:
            raise self.data.wrong("regions too deep inside each other")
        self.depth += 1
        found = tuple(self.region() for _ in range(count))
        self.depth -= 1
        return found

    def region(self) -> InstructionRegion | None:
        data = self.data
        blocks = data.varint()
        if blocks == 0:
            return None
        if blocks != 1:
            raise data.wrong(f"a region of {blocks} blocks")
        args = tuple(Val(self.rows.kind(data)) for _ in range(data.count()))
        outer = len(self.values)
        self.values += args
        code = [self.instr() for _ in range(data.count())]
        if not code or not code[-1].op.terminator:
            raise data.wrong("a region without an end")
        del self.values[outer:]
        return InstructionRegion(args, code)


FIXED_RESULTS: dict[str, int] = {
    "assert": 0, "get_num_tile_blocks": 3, "get_tile_block_id": 3,
    "load_ptr_tko": 2, "atomic_cas_tko": 2, "atomic_rmw_tko": 2,
}  # fmt: skip
"""Instructions that do not say how many results they have, where it is not one."""


def _check(data: Bytes, op: OpCode, results: Sequence[Val], attrs: dict[str, AttrValue]) -> None:
    """Reject a constant that is not a tile of numbers."""
    if op.name == "constant":
        kind = results[0].kind
        if not isinstance(kind, TileValueType) or not isinstance(kind.elem, ScalarType):
            raise data.wrong(f"a constant of type {kind}")


def _predicate(data: Bytes) -> DivBy | Bounded | Same:
    tag = data.varint()
    if tag == DIV_BY:
        divisor, flags = data.varint(), data.byte()
        for bit in (1, 2):
            if flags & bit:
                data.signed_varint()
        return DivBy(divisor)
    if tag == BOUNDED:
        flags = data.byte()
        low = data.signed_varint() if flags & 1 else None
        return Bounded(low, data.signed_varint() if flags & 2 else None)
    if tag == SAME:
        return Same(data.i64s())
    raise data.wrong(f"{tag} as a predicate")


def _hints(data: Bytes, rows: Rows) -> dict[str, dict[str, int | bool]]:
    found: dict[str, dict[str, int | bool]] = {}
    for _ in range(data.count()):
        arch = rows.string(data)
        if data.varint() != DICTIONARY:
            raise data.wrong("hints that are no dictionary")
        found[arch] = {rows.string(data): _hint(data, rows) for _ in range(data.count())}
    return found


def _hint(data: Bytes, rows: Rows) -> int | bool:
    tag = data.varint()
    if tag == BOOLEAN:
        return bool(data.byte())
    if tag != INTEGER:
        raise data.wrong(f"{tag} as a hint")
    rows.kind(data)
    return data.varint()
