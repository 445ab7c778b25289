"""Prints IR as text: one op a line, values numbered in order of appearance."""

from __future__ import annotations

from enum import Enum
from math import copysign
from typing import TypeGuard

from .core import Block, Func, Op, Value
from .launch_expr import show


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.lines: list[str] = []

    def name(self, value: Value) -> str:
        if value not in self.names:
            label = value.name or str(len(self.names))
            if label in self.taken:
                label = f"{label}_{len(self.names)}"
            self.taken.add(label)
            self.names[value] = f"%{label}"
        return self.names[value]

    def block(self, block: Block, depth: int) -> None:
        for op in block.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        pad = "  " * depth
        # Operands first, so that numbers grow down the page.
        operands = ", ".join([self.name(v) for v in op.operands])
        results = ", ".join([self.name(v) for v in op.results])
        types = ", ".join([str(v.type) for v in op.results])
        text = f"{results} = {op.name}" if results else op.name
        text += f" {operands}" if operands else ""
        text += _attrs(op)
        text += f" : {types}" if types else ""
        if not op.regions:
            self.lines.append(pad + text)
            return
        for i, region in enumerate(op.regions):
            args = ", ".join(f"{self.name(v)}: {v.type}" for v in region.args)
            opening = f"{pad}{text} {{" if i == 0 else f"{pad}}} else {{"
            self.lines.append(opening + (f" ({args})" if args else ""))
            self.block(region, depth + 1)
        self.lines.append(pad + "}")


def _attrs(op: Op) -> str:
    # The types of what control flow carries are those of its results, which are shown.
    shown = [
        f"{a.name}={attr_text(op.attrs[a.name])}"
        for a in op.defn.attrs
        if a.name != "types" and not _is_default(op.attrs[a.name], a.default)
    ]
    return f" {{{', '.join(shown)}}}" if shown else ""


def _is_default(value: object, default: object) -> bool:
    # -0.0 equals 0, but it is another number.
    minus_zero = isinstance(value, float) and copysign(1.0, value) < 0
    return value == default and not minus_zero


def attr_text(value: object) -> str:
    """One attribute value as text."""
    if isinstance(value, Enum):
        return str(value.value)
    if _is_tuple(value):
        return f"({', '.join(map(attr_text, value))})"
    return repr(value)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)


def print_func(func: Func) -> str:
    """The whole function as text."""
    printer = _Printer()
    params = ", ".join(f"{printer.name(p)}: {p.type}" for p in func.params)
    printer.lines.append(f"kernel {func.name}({params}) {{")
    for check in func.launch_checks:
        printer.lines.append(f"  launch_check {show(check.expr)}")
    printer.block(func.body, 1)
    printer.lines.append("}")
    return "\n".join(printer.lines) + "\n"
