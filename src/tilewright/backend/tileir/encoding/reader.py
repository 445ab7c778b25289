"""Reads bytecode back into a program; input of any kind gives a program or a BytecodeError."""

from __future__ import annotations

from collections.abc import Sequence

from ..program.core import (
    AttrValue,
    Bounded,
    DivBy,
    Identity,
    Instr,
    Kernel,
    Program,
    Region,
    Same,
    Val,
)
from ..program.types import Function, Kind, Scalar, Tile
from .bytes import Bytes
from .opcodes import BY_CODE, Field, Form, OpCode
from .primitives import MAGIC
from .rows import Rows, read_rows
from .versions import VERSIONS, Version
from .writer import BOOLEAN, BOUNDED, DICTIONARY, DIV_BY, ENTRY, FLOAT, HINTED, HINTS, INTEGER, SAME

DEEPEST = 64
"""Regions inside regions that are followed."""


def read(data: bytes) -> tuple[Program, Version]:
    """The program in a file, and the version it is written in."""
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
    if not isinstance(signature, Function) or signature.results:
        raise data.wrong(f"{signature} as the type of a kernel")
    flags = data.byte()
    if not flags & ENTRY:
        raise data.wrong("a function that is no kernel")
    data.varint()  # where it stands in the debug section
    hints: dict[str, dict[str, int | bool]] = {}
    if flags & HINTED:
        if data.varint() != HINTS:
            raise data.wrong("something else instead of hints")
        hints = _hints(data, rows)
    body = data.part(data.varint())
    args = tuple(Val(kind) for kind in signature.args)
    reader = _Body(body, rows, args)
    code: list[Instr] = []
    while body.left:
        code.append(reader.instr())
    if not code or code[-1].op.name != "return":
        raise data.wrong("a kernel that does not end in return")
    return Kernel(name, Region(args, code), hints)


class _Body:
    """Reads the instructions of one function; values are numbered as they become visible."""

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

    def attribute(self, field: Field, flags: int) -> AttrValue:
        there = field.flag is None or bool(flags >> field.flag & 1)
        if field.form is Form.UNIT:
            return int(there)
        if not there:
            return None
        data = self.data
        match field.form:
            case Form.ENUM:
                value = data.varint()
                if value >= len(field.words):
                    raise data.wrong(f"{value} as {field.name}")
                return value
            case Form.NUMBER:
                return data.varint()
            case Form.BYTE:
                return data.byte()
            case Form.TEXT:
                return self.rows.string(data)
            case Form.CONSTANT:
                return self.rows.constant(data)
            case Form.NUMBERS:
                return data.i32s()
            case Form.BYTES:
                return tuple(data.take(data.count()))
            case Form.IDENTITIES:
                return tuple(self.identity() for _ in range(data.count()))
            case Form.PREDICATE:
                return _predicate(data)
            case _:
                return _hints(data, self.rows)

    def identity(self) -> Identity:
        data = self.data
        tag, kind = data.varint(), self.rows.kind(data)
        if tag not in (INTEGER, FLOAT) or not isinstance(kind, Scalar):
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

    def regions(self, op: OpCode) -> tuple[Region | None, ...]:
        if not op.regions:
            return ()
        if (count := self.data.varint()) != op.regions:
            raise self.data.wrong(f"{count} regions of {op.name}")
        if self.depth >= DEEPEST:
            raise self.data.wrong("regions too deep inside each other")
        self.depth += 1
        found = tuple(self.region() for _ in range(count))
        self.depth -= 1
        return found

    def region(self) -> Region | None:
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
        return Region(args, code)


FIXED_RESULTS: dict[str, int] = {
    "assert": 0, "get_num_tile_blocks": 3, "get_tile_block_id": 3,
    "load_ptr_tko": 2, "atomic_cas_tko": 2, "atomic_rmw_tko": 2,
}  # fmt: skip
"""Instructions that do not say how many results they have, where it is not one."""


def _check(data: Bytes, op: OpCode, results: Sequence[Val], attrs: dict[str, AttrValue]) -> None:
    """Refuse a constant that is not a tile of numbers."""
    if op.name == "constant":
        kind = results[0].kind
        if not isinstance(kind, Tile) or not isinstance(kind.elem, Scalar):
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
