"""A program as text, one instruction a line, types as the disassembler writes them."""

from __future__ import annotations

from collections.abc import Mapping

from ..encoding.opcodes import Field, Form
from .core import AttrValue, Hints, Instr, Kernel, Program, Region, Val
from .types import Scalar, Tile

FEW = 8
"""Elements of a constant that are shown."""


def program_text(program: Program) -> str:
    """All kernels of a program."""
    return "\n".join("\n".join(_Printer().kernel(kernel)) + "\n" for kernel in program.kernels)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Val, str] = {}

    def name(self, value: Val) -> str:
        return self.names.setdefault(value, f"%{len(self.names)}")

    def kernel(self, kernel: Kernel) -> list[str]:
        args = ", ".join(f"{self.name(v)}: {v.kind}" for v in kernel.body.args)
        hints = f" optimization_hints=<{_hints(kernel.hints)}>" if kernel.hints else ""
        lines = [f"entry @{kernel.name}({args}){hints} {{"]
        return [*lines, *self.region(kernel.body, "  "), "}"]

    def region(self, region: Region, pad: str) -> list[str]:
        return [line for instr in region.code for line in self.instr(instr, pad)]

    def instr(self, instr: Instr, pad: str) -> list[str]:
        operands = ", ".join(self.name(v) for v in instr.operands)
        results = ", ".join(self.name(v) for v in instr.results)
        head = f"{results} = {instr.op.name}" if results else instr.op.name
        parts = [head, *([operands] if operands else []), *_attrs(instr)]
        kinds = ", ".join(str(v.kind) for v in instr.results)
        text = pad + " ".join(parts) + (f" : {kinds}" if kinds else "")
        if not instr.regions:
            return [text]
        lines: list[str] = []
        for number, region in enumerate(instr.regions):
            if region is None:
                continue
            args = ", ".join(f"{self.name(v)}: {v.kind}" for v in region.args)
            opening = f"{text} {{" if number == 0 else f"{pad}}} else {{"
            lines.append(opening + (f" ({args})" if args else ""))
            lines += self.region(region, pad + "  ")
        return [*lines, f"{pad}}}"]


def _attrs(instr: Instr) -> list[str]:
    shown: list[str] = []
    for field in instr.op.fields:
        value = instr.attrs.get(field.name)
        usual = value == field.otherwise and field.form is not Form.NUMBER
        if value is None or usual or (field.form is Form.BYTES and not _any(value)):
            continue
        shown.append(_attr(instr, field, value))
    return shown


def _any(value: AttrValue) -> bool:
    return isinstance(value, tuple) and any(value)


def _attr(instr: Instr, field: Field, value: AttrValue) -> str:
    if field.form is Form.UNIT:
        return field.name
    if field.form is Form.ENUM and isinstance(value, int):
        return f"{field.name}={field.words[value]}"
    if field.form is Form.HINTS and isinstance(value, Mapping):
        return f"{field.name}=<{_hints(value)}>"
    if field.form is Form.CONSTANT and isinstance(value, bytes):
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
    elem = result.kind.elem if isinstance(result.kind, Tile) else None
    if not isinstance(elem, Scalar) or len(data) > FEW * elem.nbytes:
        return f"{len(data)} bytes"
    parts = [data[i : i + elem.nbytes] for i in range(0, len(data), elem.nbytes)]
    return f"{elem}: {', '.join(_number(part, elem) for part in parts)}"


def _number(data: bytes, elem: Scalar) -> str:
    if elem.is_int and elem.width > 1:
        return str(int.from_bytes(data, "little", signed=True))
    return f"{int.from_bytes(data, 'little'):#x}"
