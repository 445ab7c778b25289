"""Tile IR programs as data and as text: values, instructions, kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ....base.source import Span
from ....base.stage import Listing, ListingWriter
from .opcodes import FieldForm, InstructionField, OpCode
from .types import Kind, ScalarType, TileValueType

# -------------------------------------------------------------------------------------------------
# Values, instructions, kernels. The `OpCode` of an instruction declares its contents.

Hints: TypeAlias = Mapping[str, Mapping[str, int | bool]]
"""From an architecture, or `default`, to hints by name."""


@dataclass(frozen=True, slots=True)
class DivBy:
    """The assumption that every element is a multiple of `divisor` (in bytes for pointers)."""

    divisor: int

    def __str__(self) -> str:
        return f"div_by<{self.divisor}>"


@dataclass(frozen=True, slots=True)
class Bounded:
    """The assumption that every element lies between two bounds, both included."""

    low: int | None
    high: int | None

    def __str__(self) -> str:
        low, high = ("?" if n is None else str(n) for n in (self.low, self.high))
        return f"bounded<{low}, {high}>"


@dataclass(frozen=True, slots=True)
class Same:
    """The assumption that runs of this many elements along each axis are equal."""

    runs: tuple[int, ...]

    def __str__(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.runs))}]>"


@dataclass(frozen=True, slots=True)
class Identity:
    """The initial value of a reduction: a number as its bits."""

    kind: ScalarType
    bits: int

    def __str__(self) -> str:
        return f"{self.bits:#x} : {self.kind}"


Predicate: TypeAlias = DivBy | Bounded | Same
AttrValue: TypeAlias = (
    int | str | bytes | tuple[int, ...] | tuple[Identity, ...] | Predicate | Hints | None
)
"""Enums are their codes, booleans 0 or 1, constants their bytes; None is an optional left out."""


@dataclass(eq=False, slots=True)
class Val:
    """One value; compared by identity."""

    kind: Kind


@dataclass(eq=False, slots=True)
class InstructionRegion:
    """A block with arguments; `None` for a region says that it is empty."""

    args: tuple[Val, ...] = ()
    code: list[Instr] = field(default_factory=list["Instr"])


@dataclass(eq=False, slots=True)
class Instr:
    """One instruction: operands in declared order, `sizes` many for each declared one."""

    op: OpCode
    results: tuple[Val, ...]
    operands: tuple[Val, ...]
    sizes: tuple[int, ...]
    attrs: Mapping[str, AttrValue]
    regions: tuple[InstructionRegion | None, ...] = ()
    span: Span | None = None

    @property
    def result(self) -> Val:
        """The only result."""
        (value,) = self.results
        return value


@dataclass(eq=False, slots=True)
class Kernel:
    """An entry: parameters, hints, a body that ends in `return`."""

    name: str
    body: InstructionRegion
    hints: Hints = field(default_factory=dict[str, Mapping[str, int | bool]])
    span: Span | None = None
    notes: tuple[str, ...] = ()
    """What was decided when it was lowered, for `explain()`; not part of the bytecode."""

    def walk(self) -> Iterator[Instr]:
        """Return all instructions in order, those inside regions after the one that holds them."""
        return _walk(self.body)


@dataclass(eq=False, slots=True)
class Program:
    """The kernels of one module."""

    kernels: tuple[Kernel, ...]
    producer: str = ""


def _walk(region: InstructionRegion) -> Iterator[Instr]:
    for instr in region.code:
        yield instr
        for inner in instr.regions:
            if inner is not None:
                yield from _walk(inner)


# -------------------------------------------------------------------------------------------------
# A program as text, one instruction a line, types as the disassembler writes them.

FEW = 8
"""Elements of a constant that are shown."""


def program_text(program: Program) -> str:
    """Return all kernels of a program."""
    return list_program(program).text


def list_program(program: Program) -> Listing:
    """Return all kernels of a program, with the places of their lines."""
    out = ListingWriter()
    for number, kernel in enumerate(program.kernels):
        if number:
            out.add("")
        _ProgramPrinter(out).kernel(kernel)
    return out.listing


class _ProgramPrinter:
    def __init__(self, out: ListingWriter) -> None:
        self.names: dict[Val, str] = {}
        self.out = out

    def name(self, value: Val) -> str:
        return self.names.setdefault(value, f"%{len(self.names)}")

    def kernel(self, kernel: Kernel) -> None:
        args = ", ".join(f"{self.name(v)}: {v.kind}" for v in kernel.body.args)
        hints = f" optimization_hints=<{_hints(kernel.hints)}>" if kernel.hints else ""
        self.out.add(f"entry @{kernel.name}({args}){hints} {{", kernel.span)
        self.region(kernel.body, "  ")
        self.out.add("}", kernel.span)

    def region(self, region: InstructionRegion, pad: str) -> None:
        for instr in region.code:
            self.instr(instr, pad)

    def instr(self, instr: Instr, pad: str) -> None:
        operands = ", ".join(self.name(v) for v in instr.operands)
        results = ", ".join(self.name(v) for v in instr.results)
        head = f"{results} = {instr.op.name}" if results else instr.op.name
        parts = [head, *([operands] if operands else []), *_attrs(instr)]
        kinds = ", ".join(str(v.kind) for v in instr.results)
        text = pad + " ".join(parts) + (f" : {kinds}" if kinds else "")
        if not instr.regions:
            self.out.add(text, instr.span)
            return
        for number, region in enumerate(instr.regions):
            if region is None:
                continue
            args = ", ".join(f"{self.name(v)}: {v.kind}" for v in region.args)
            opening = f"{text} {{" if number == 0 else f"{pad}}} else {{"
            self.out.add(opening + (f" ({args})" if args else ""), instr.span)
            self.region(region, pad + "  ")
        self.out.add(f"{pad}}}", instr.span)


def _attrs(instr: Instr) -> list[str]:
    shown: list[str] = []
    for declared in instr.op.fields:
        value = instr.attrs.get(declared.name)
        usual = value == declared.otherwise and declared.form is not FieldForm.NUMBER
        if value is None or usual or (declared.form is FieldForm.BYTES and not _any(value)):
            continue
        shown.append(_attr(instr, declared, value))
    return shown


def _any(value: AttrValue) -> bool:
    return isinstance(value, tuple) and any(value)


def _attr(instr: Instr, field: InstructionField, value: AttrValue) -> str:
    if field.form is FieldForm.UNIT:
        return field.name
    if field.form is FieldForm.ENUM and isinstance(value, int):
        return f"{field.name}={field.words[value]}"
    if field.form is FieldForm.HINTS and isinstance(value, Mapping):
        return f"{field.name}=<{_hints(value)}>"
    if field.form is FieldForm.CONSTANT and isinstance(value, bytes):
        return f"<{_constant(value, instr.result)}>"
    if isinstance(value, tuple):
        return f"{field.name}=[{', '.join(map(str, value))}]"
    return f"{field.name}={value!s}"


def _hints(hints: Hints) -> str:
    arches = [
        f"{arch} = {{{', '.join(f'{k} = {str(v).lower()}' for k, v in inner.items())}}}"
        for arch, inner in hints.items()
    ]
    return ", ".join(arches)


def _constant(data: bytes, result: Val) -> str:
    elem = result.kind.elem if isinstance(result.kind, TileValueType) else None
    if not isinstance(elem, ScalarType) or len(data) > FEW * elem.nbytes:
        return f"{len(data)} bytes"
    parts = [data[i : i + elem.nbytes] for i in range(0, len(data), elem.nbytes)]
    return f"{elem}: {', '.join(_number(part, elem) for part in parts)}"


def _number(data: bytes, elem: ScalarType) -> str:
    if elem.is_int and elem.width > 1:
        return str(int.from_bytes(data, "little", signed=True))
    return f"{int.from_bytes(data, 'little'):#x}"
