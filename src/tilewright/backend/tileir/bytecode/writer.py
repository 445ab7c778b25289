"""Write a program as bytecode: primitives, tables, debug information, instructions."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePath
from struct import pack
from typing import Generic, TypeVar

from ....base.source import Span
from .enums import OLDEST, V13_2, V13_3, V13_4, Version
from .opcodes import FieldForm, InstructionField
from .program import (
    AttrValue,
    Bounded,
    DivBy,
    Hints,
    Identity,
    Instr,
    InstructionRegion,
    Kernel,
    Program,
    Same,
    Val,
)
from .types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
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
    Token,
)

# -------------------------------------------------------------------------------------------------
# Primitives: numbers and lists as bytes, and tables numbered in order of first use.

WORD = (1 << 64) - 1
MAGIC = b"\x7fTileIR\0"
FILLER = b"\xcb"
DYNAMIC = -(1 << 63)
"""The code of an extent or a stride that is known at run time only."""


def varint(n: int) -> bytes:
    """Return an unsigned number, seven bits a byte, low bits first."""
    assert 0 <= n <= WORD, f"{n} does not fit 64 bits"
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def signed_varint(n: int) -> bytes:
    """Return a signed number, its sign moved to the lowest bit."""
    return varint((n << 1 ^ n >> 63) & WORD)


def i32s(numbers: Sequence[int]) -> bytes:
    """Return a list of 32-bit numbers."""
    return varint(len(numbers)) + struct.pack(f"<{len(numbers)}i", *numbers)


def i64s(numbers: Sequence[int]) -> bytes:
    """Return a list of 64-bit numbers."""
    return varint(len(numbers)) + struct.pack(f"<{len(numbers)}q", *numbers)


def filled(data: bytes, alignment: int) -> bytes:
    """Return data brought to a multiple of some length."""
    return data + FILLER * (-len(data) % alignment)


T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """A numbering from 0 in the order of first use."""

    def __init__(self) -> None:
        self.rows: dict[T, int] = {}

    def __getitem__(self, thing: T) -> int:
        return self.rows.setdefault(thing, len(self.rows))


def table(rows: Sequence[bytes], width: int) -> bytes:
    """Return a section of rows: their number, where each starts, their bytes."""
    starts: list[int] = []
    at = 0
    for row in rows:
        starts.append(at)
        at += len(row)
    if not rows:
        return varint(0)
    offsets = b"".join(start.to_bytes(width, "little") for start in starts)
    return filled(varint(len(rows)), width) + offsets + b"".join(rows)


# -------------------------------------------------------------------------------------------------
# The tables of a file: strings, types and constants, numbered on first use.

SCALAR_TAGS: dict[ScalarType, int] = {
    I1: 0, I8: 1, I16: 2, I32: 3, I64: 4, F16: 5, BF16: 6, F32: 7, TF32: 8, F64: 9,
    F8E4M3FN: 10, F8E5M2: 11, F8E8M0FNU: 18, F4E2M1FN: 19, I4: 22,
}  # fmt: skip
SCALARS_SINCE: dict[ScalarType, Version] = {F8E8M0FNU: V13_2, F4E2M1FN: V13_3, I4: V13_3}
POINTER, TILE, TENSOR, PARTITION, FUNCTION, TOKEN_TAG, GATHER, STRIDED = (
    12, 13, 14, 15, 16, 17, 20, 21,
)  # fmt: skip


class TooOldError(Exception):
    """Raised for a feature that a bytecode version lacks; `since` is the first with it."""

    def __init__(self, what: str, since: Version) -> None:
        super().__init__(what)
        self.what = what
        self.since = since


def need(what: str, since: Version, version: Version) -> None:
    """Reject a feature of a later version."""
    if since > version:
        raise TooOldError(what, since)


class Tables:
    """The tables of one file in the making."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.strings: Numbering[bytes] = Numbering()
        self.constants: Numbering[bytes] = Numbering()
        self.types: Numbering[bytes] = Numbering()
        self._kinds: dict[Kind, int] = {}

    def string(self, text: str) -> bytes:
        """Return the number of a text, as bytes."""
        return varint(self.strings[text.encode()])

    def constant(self, data: bytes) -> bytes:
        """Return the number of a constant's elements, as bytes."""
        return varint(self.constants[varint(len(data)) + data])

    def type(self, kind: Kind) -> bytes:
        """Return the number of a type, as bytes."""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self.types[self._row(kind)]
        return varint(found)

    def sections(self) -> tuple[bytes, bytes, bytes]:
        """Return the sections of constants, types and strings."""
        return (
            table(list(self.constants.rows), 8),
            table(list(self.types.rows), 4),
            table(list(self.strings.rows), 4),
        )

    def _row(self, kind: Kind) -> bytes:
        match kind:
            case ScalarType():
                need(f"the element type {kind}", SCALARS_SINCE.get(kind, OLDEST), self.version)
                return varint(SCALAR_TAGS[kind])
            case Pointer():
                return varint(POINTER) + self._no_flags() + self.type(kind.to)
            case TileValueType():
                return varint(TILE) + self.type(kind.elem) + i64s(kind.shape)
            case TensorView():
                dims = i64s(_dims(kind.shape)) + i64s(_dims(kind.strides))
                return varint(TENSOR) + self._no_flags() + self.type(kind.elem) + dims
            case FunctionType():
                args, results = ([self.type(t) for t in ts] for ts in (kind.args, kind.results))
                parts = [varint(len(args)), *args, varint(len(results)), *results]
                return varint(FUNCTION) + b"".join(parts)
            case Token():
                return varint(TOKEN_TAG)
            case _:
                return self._view(kind)

    def _view(self, kind: PartitionView | StridedView | GatherView) -> bytes:
        flags, padding = self._padding(kind.padding)
        if isinstance(kind, GatherView):
            need("gathering through views", V13_3, self.version)
            inner = i32s(kind.tile) + self.type(kind.tensor) + varint(kind.sparse)
            return varint(GATHER) + flags + inner + padding
        if isinstance(kind, StridedView):
            need("tiles that overlap or leave gaps", V13_3, self.version)
            steps, tag = i32s(kind.steps), STRIDED
        else:
            steps, tag = b"", PARTITION
        inner = i32s(kind.tile) + steps + self.type(kind.tensor) + i32s(kind.dim_map)
        return varint(tag) + flags + inner + padding

    def _padding(self, padding: PaddingMode | None) -> tuple[bytes, bytes]:
        """Return the bytes before a view's fields, and those after them."""
        there, code = (0, b"") if padding is None else (1, varint(padding.value))
        if self.version >= V13_3:
            return varint(there), code
        return b"", bytes([there]) + code

    def _no_flags(self) -> bytes:
        return varint(0) if self.version >= V13_4 else b""


def _dims(dims: Dims) -> list[int]:
    return [DYNAMIC if n is None else n for n in dims]


# -------------------------------------------------------------------------------------------------
# Debug information: the line of Python of each instruction.

UNIT, FILE, LOCATION, SUBPROGRAM, CALL_SITE = 1, 2, 4, 5, 6
NOWHERE = 0


class DebugRows:
    """The rows of one file in the making; a row is named by its number, counted from 1."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._rows: Numbering[bytes] = Numbering()
        self._starts: list[int] = []
        self._places: list[int] = []
        self._linkage, self._first_line = "", 0

    @property
    def used(self) -> bool:
        """Whether any kernel has a place."""
        return bool(self._starts)

    def kernel(self, kernel: Kernel) -> int:
        """Note the locations of a kernel and its instructions; return its number, or 0."""
        if kernel.span is None:
            return 0
        self._linkage, self._first_line = kernel.name, kernel.span.line
        self._starts.append(len(self._places))
        own = self._place(kernel.span)
        self._places.append(own)
        for instr in kernel.walk():
            self._places.append(own if instr.span is None else self._place(instr.span))
        return len(self._starts)

    def section(self) -> bytes:
        """Return the bytes of the section."""
        starts = filled(varint(len(self._starts)), 4) + pack(
            f"<{len(self._starts)}I", *self._starts
        )
        counted = filled(starts + varint(len(self._places)), 8)
        places = counted + pack(f"<{len(self._places)}Q", *self._places)
        rows = list(self._rows.rows)
        offsets: list[int] = []
        at = 0
        for row in rows:
            offsets.append(at)
            at += len(row)
        head = filled(places + varint(len(rows)), 4)
        return head + pack(f"<{len(offsets)}I", *offsets) + b"".join(rows)

    def _row(self, tag: int, *fields: int | bytes) -> int:
        parts = [varint(tag), *[f if isinstance(f, bytes) else varint(f) for f in fields]]
        return self._rows[b"".join(parts)] + 1

    def _place(self, span: Span) -> int:
        """Return a location; one in an inlined function is a call site, up to the kernel."""
        kernel = span.caller is None
        scope = self._subprogram(span, self._linkage if kernel else span.function)
        name = self._tables.string(PurePath(span.file.name).name)
        own = self._row(LOCATION, scope, name, span.line, span.column + 1)
        return own if span.caller is None else self._row(CALL_SITE, own, self._place(span.caller))

    def _subprogram(self, span: Span, linkage: str) -> int:
        text = self._tables.string
        path = PurePath(span.file.name)
        file = self._row(FILE, text(path.name), text(str(path.parent)))
        unit = self._row(UNIT, file)
        line = self._first_line
        name = text(span.function or linkage)
        return self._row(SUBPROGRAM, file, line, name, text(linkage), unit, line)


# -------------------------------------------------------------------------------------------------
# The program: equal programs have equal bytes, in any process.

STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, PRODUCER = 1, 2, 3, 4, 5, 7
ALIGNED = 0x80
"""Marks a section that says how it is aligned."""
ENTRY, HINTED = 0x02, 0x04
INTEGER, FLOAT, BOOLEAN, DIV_BY, SAME, DICTIONARY, HINTS, BOUNDED = 1, 2, 3, 8, 9, 10, 11, 12


def write(program: Program, version: Version, *, places: bool = True) -> bytes:
    """Return the bytes of a program; TooOldError where the version lacks something it uses.

    With `places` they say for each instruction which line of Python it comes from.
    """
    tables = Tables(version)
    debug = DebugRows(tables) if places else None
    kernels = [_kernel(kernel, tables, debug) for kernel in program.kernels]
    functions = varint(len(kernels)) + b"".join(kernels)
    lines = debug.section() if debug is not None and debug.used else b""
    producer = tables.string(program.producer) if program.producer and version >= V13_3 else b""
    constants, types, strings = tables.sections()
    out = MAGIC + bytes(version) + b"\0\0"
    out = _section(out, FUNCTIONS, functions, 8)
    out = _section(out, CONSTANTS, constants, 8)
    out = _section(out, DEBUG, lines, 8) if lines else out
    out = _section(out, TYPES, types, 4)
    out = _section(out, PRODUCER, producer, 1) if producer else out
    return _section(out, STRINGS, strings, 4) + b"\0"


def _section(before: bytes, number: int, payload: bytes, alignment: int) -> bytes:
    if alignment == 1:
        return before + bytes([number]) + varint(len(payload)) + payload
    head = bytes([number | ALIGNED]) + varint(len(payload)) + varint(alignment)
    return filled(before + head, alignment) + payload


def _kernel(kernel: Kernel, tables: Tables, debug: DebugRows | None) -> bytes:
    signature = FunctionType(tuple(v.kind for v in kernel.body.args))
    body = _BodyWriter(tables).function(kernel.body)
    place = debug.kernel(kernel) if debug is not None else 0
    head = tables.string(kernel.name) + tables.type(signature)
    hints = varint(HINTS) + hint_bytes(kernel.hints, tables) if kernel.hints else b""
    flags = bytes([ENTRY | (HINTED if hints else 0)])
    return head + flags + varint(place) + hints + varint(len(body)) + body


class _BodyWriter:
    """The writer of one function's instructions; values are numbered as they become visible."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.numbers: dict[Val, int] = {}
        self.next = 0

    def function(self, body: InstructionRegion) -> bytes:
        self.define(body.args)
        return b"".join(map(self.instr, body.code))

    def define(self, values: Sequence[Val]) -> None:
        for value in values:
            self.numbers[value] = self.next
            self.next += 1

    def instr(self, instr: Instr) -> bytes:
        op, version = instr.op, self.tables.version
        need(f"the instruction {op.name}", op.since, version)
        results = instr.results
        if op.last_result_since > version:
            results = results[:-1]
        parts = [varint(op.code)]
        if op.counts_results:
            parts.append(varint(len(results)))
        parts += [self.tables.type(v.kind) for v in results]
        if op.has_flags(version):
            parts.append(varint(_flags(instr, version)))
        parts += self.attributes(instr)
        parts += self.operands(instr)
        if op.regions:
            parts += [varint(op.regions), *map(self.region, instr.regions)]
        self.define(results)
        return b"".join(parts)

    def attributes(self, instr: Instr) -> list[bytes]:
        version = self.tables.version
        parts: list[bytes] = []
        for field in instr.op.fields:
            value = instr.attrs.get(field.name, field.otherwise)
            if field.since > version:
                if value != field.otherwise and not field.permits:
                    need(f"{field.name} of {instr.op.name}", field.since, version)
            elif field.form is not FieldForm.UNIT and not (
                field.flag is not None and value is None
            ):
                parts.append(self.attribute(field, value, instr))
        return parts

    def attribute(self, field: InstructionField, value: AttrValue, instr: Instr) -> bytes:
        tables = self.tables
        match field.form, value:
            case ((FieldForm.ENUM | FieldForm.NUMBER), int()):
                return varint(value)
            case FieldForm.BYTE, int():
                return bytes([value])
            case FieldForm.TEXT, str():
                return tables.string(value)
            case FieldForm.CONSTANT, bytes():
                return tables.constant(value)
            case FieldForm.NUMBERS, tuple():
                return i32s([n for n in value if isinstance(n, int)])
            case FieldForm.BYTES, _:
                count = instr.sizes[[s.name for s in instr.op.slots].index("index")]
                return varint(count) + (bytes(count) if value is None else bytes(_as_list(value)))
            case FieldForm.IDENTITIES, tuple():
                found = [v for v in value if isinstance(v, Identity)]
                return varint(len(found)) + b"".join(_identity(v, tables) for v in found)
            case FieldForm.PREDICATE, _:
                return _predicate(value)
            case FieldForm.HINTS, Mapping():
                return hint_bytes(value, tables)
            case _:
                raise AssertionError(f"{instr.op.name}: {field.name} = {value!r}")

    def operands(self, instr: Instr) -> list[bytes]:
        numbers = [varint(self.numbers[v]) for v in instr.operands]
        if instr.op.counts_operands:
            return [varint(len(numbers)), *numbers]
        parts: list[bytes] = []
        at = 0
        for slot, count in zip(instr.op.slots, instr.sizes, strict=True):
            if slot.since > self.tables.version:
                at += count
                continue
            if slot.arity == "*":
                parts.append(varint(count))
            parts += numbers[at : at + count]
            at += count
        return parts

    def region(self, region: InstructionRegion | None) -> bytes:
        if region is None:
            return varint(0)
        outer = self.next
        self.define(region.args)
        args = [self.tables.type(v.kind) for v in region.args]
        code = [self.instr(instr) for instr in region.code]
        self.next = outer
        return b"".join([varint(1), varint(len(args)), *args, varint(len(code)), *code])


def _as_list(value: AttrValue) -> list[int]:
    return [v for v in value if isinstance(v, int)] if isinstance(value, tuple) else [1]


def _flags(instr: Instr, version: Version) -> int:
    bits = 0
    for field in instr.op.fields_in(version):
        if field.flag is not None:
            value = instr.attrs.get(field.name, field.otherwise)
            there = bool(value) if field.form is FieldForm.UNIT else value is not None
            bits |= there << field.flag
    for slot, count in zip(instr.op.slots, instr.sizes, strict=True):
        if slot.flag is not None and slot.since <= version:
            bits |= bool(count) << slot.flag
    return bits


def _identity(identity: Identity, tables: Tables) -> bytes:
    kind, bits = identity.kind, identity.bits
    head = varint(INTEGER if kind.is_int else FLOAT) + tables.type(kind)
    if kind.is_int:
        return head + (bytes([bits]) if kind.width == 1 else varint(bits))
    if kind.width <= 8:
        return head + bytes([bits])
    # Only f64 fills the word, and its sign must stay one.
    return head + signed_varint(bits - (1 << 64) if kind is F64 and bits >> 63 else bits)


def _predicate(value: AttrValue) -> bytes:
    if isinstance(value, DivBy):
        return varint(DIV_BY) + varint(value.divisor) + b"\0"
    if isinstance(value, Bounded):
        there = (value.low is not None) | (value.high is not None) << 1
        bounds = [signed_varint(n) for n in (value.low, value.high) if n is not None]
        return varint(BOUNDED) + bytes([there]) + b"".join(bounds)
    assert isinstance(value, Same), f"{value!r} is no predicate"
    return varint(SAME) + i64s(_as_list(value.runs))


def hint_bytes(hints: Hints, tables: Tables) -> bytes:
    """Return hints by architecture, each as a dictionary."""
    parts = [varint(len(hints))]
    for arch, inner in hints.items():
        parts += [tables.string(arch), varint(DICTIONARY), varint(len(inner))]
        for name, value in inner.items():
            parts += [tables.string(name), _hint(value, tables)]
    return b"".join(parts)


def _hint(value: int | bool, tables: Tables) -> bytes:
    if isinstance(value, bool):
        return varint(BOOLEAN) + bytes([value])
    return varint(INTEGER) + tables.type(I32) + varint(value)
