"""Writes a program as bytecode: the same program gives the same bytes, in any process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..program.core import (
    AttrValue,
    Bounded,
    DivBy,
    Hints,
    Identity,
    Instr,
    Kernel,
    Program,
    Region,
    Same,
    Val,
)
from ..program.types import F64, I32, Function
from .debug import DebugRows
from .opcodes import Field, Form
from .primitives import MAGIC, filled, i32s, i64s, signed_varint, varint
from .tables import Tables, need
from .versions import V13_3, Version

STRINGS, FUNCTIONS, DEBUG, CONSTANTS, TYPES, PRODUCER = 1, 2, 3, 4, 5, 7
ALIGNED = 0x80
"""Marks a section that says how it is aligned."""
ENTRY, HINTED = 0x02, 0x04
INTEGER, FLOAT, BOOLEAN, DIV_BY, SAME, DICTIONARY, HINTS, BOUNDED = 1, 2, 3, 8, 9, 10, 11, 12


def write(program: Program, version: Version, *, places: bool = True) -> bytes:
    """The bytes of a program; TooOldError where the version lacks something it uses.

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
    signature = Function(tuple(v.kind for v in kernel.body.args))
    body = _Body(tables).function(kernel.body)
    place = debug.kernel(kernel) if debug is not None else 0
    head = tables.string(kernel.name) + tables.type(signature)
    hints = varint(HINTS) + hint_bytes(kernel.hints, tables) if kernel.hints else b""
    flags = bytes([ENTRY | (HINTED if hints else 0)])
    return head + flags + varint(place) + hints + varint(len(body)) + body


class _Body:
    """Writes the instructions of one function; values are numbered as they become visible."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.numbers: dict[Val, int] = {}
        self.next = 0

    def function(self, body: Region) -> bytes:
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
            elif field.form is not Form.UNIT and not (field.flag is not None and value is None):
                parts.append(self.attribute(field, value, instr))
        return parts

    def attribute(self, field: Field, value: AttrValue, instr: Instr) -> bytes:
        tables = self.tables
        match field.form, value:
            case ((Form.ENUM | Form.NUMBER), int()):
                return varint(value)
            case Form.BYTE, int():
                return bytes([value])
            case Form.TEXT, str():
                return tables.string(value)
            case Form.CONSTANT, bytes():
                return tables.constant(value)
            case Form.NUMBERS, tuple():
                return i32s([n for n in value if isinstance(n, int)])
            case Form.BYTES, _:
                count = instr.sizes[[s.name for s in instr.op.slots].index("index")]
                return varint(count) + (bytes(count) if value is None else bytes(_as_list(value)))
            case Form.IDENTITIES, tuple():
                found = [v for v in value if isinstance(v, Identity)]
                return varint(len(found)) + b"".join(_identity(v, tables) for v in found)
            case Form.PREDICATE, _:
                return _predicate(value)
            case Form.HINTS, Mapping():
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

    def region(self, region: Region | None) -> bytes:
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
            there = bool(value) if field.form is Form.UNIT else value is not None
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
    """Hints by architecture, each a dictionary of its own."""
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
