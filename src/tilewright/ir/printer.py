"""Print IR as text: a short form for people, and an exact form for cache keys."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from enum import Enum
from itertools import count
from math import copysign
from types import NoneType
from typing import Any, cast

import numpy as np

from ..base.dtypes import DType, DTypeMeta
from ..base.stage import Listing, ListingWriter
from ..base.trees import is_tuple
from .core import Block, Func, Op, Value
from .launch_expr import show
from .signature import MemoryFacts, OutputSpec, PointerSpec, ScalarSpec, Signature, TensorSpec
from .types import PtrType, SharedType, TensorType, TileType, TokenType, ViewType

# -------------------------------------------------------------------------------------------------
# The short form: one op per line, values numbered in order of appearance.


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.out = ListingWriter()

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
            self.out.add(pad + text, op.span)
            return
        for i, region in enumerate(op.regions):
            args = ", ".join(f"{self.name(v)}: {v.type}" for v in region.args)
            opening = f"{pad}{text} {{" if i == 0 else f"{pad}}} else {{"
            self.out.add(opening + (f" ({args})" if args else ""), op.span)
            self.block(region, depth + 1)
        self.out.add(pad + "}", op.span)


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
    """Return one attribute value as text."""
    if isinstance(value, Enum):
        return str(value.value)
    if is_tuple(value):
        return f"({', '.join(map(attr_text, value))})"
    return repr(value)


def print_func(func: Func) -> str:
    """Return the whole function as text."""
    return list_func(func).text


def list_func(func: Func) -> Listing:
    """Return the whole function as text, with the places of its lines."""
    printer = _Printer()
    params = ", ".join(f"{printer.name(p)}: {p.type}" for p in func.params)
    printer.out.add(f"kernel {func.name}({params}) {{")
    for check in func.launch_checks:
        printer.out.add(f"  launch_check {show(check.expr)}", check.span)
    printer.block(func.body, 1)
    printer.out.add("}")
    return printer.out.listing


# -------------------------------------------------------------------------------------------------
# The exact form: equal texts imply equal code, so its hash identifies a compilation.
#
# It omits only names of values, source locations, and facts that only the launch reads. It raises
# `NotExactError` for anything that it cannot write exactly.

UNSEEN = {"Signature": ("constants",), "GlobalSpec": ("memory",)}
"""Fields that code does not see: constants are in the IR, memory is found by each launch."""


class NotExactError(TypeError):
    """Raised for a part of a function that has no exact text."""


def exact_text(func: Func) -> list[str]:
    """Return the function, line by line."""
    writer = _ExactWriter()
    head = [
        f"kernel {exact(func.name)} {exact(func.signature)}",
        f"params {writer.typed(func.params)}",
        *(f"launch_check {exact(check.expr)}" for check in func.launch_checks),
    ]
    return [*head, *writer.block(func.body, "")]


class _ExactWriter:
    """A writer that numbers values in the order of their first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.next = count()

    def number(self, value: Value) -> str:
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = next(self.next)
        return f"%{found}"

    def typed(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self.number(v)}: {exact(v.type)}" for v in values)

    def block(self, block: Block, pad: str) -> Iterator[str]:
        for op in block.ops:
            yield from self.op(op, pad)

    def op(self, op: Op, pad: str) -> Iterator[str]:
        operands = " ".join(map(self.number, op.operands))
        sizes = "".join(f"/{n}" for n in op.sizes)
        attrs = " ".join([f"{name}={exact(value)}" for name, value in sorted(op.attrs.items())])
        results = self.typed(op.results)
        yield f"{pad}{op.defn.dialect}.{op.name} {operands} {sizes} {{{attrs}}} -> {results}"
        for region in op.regions:
            yield f"{pad}region {self.typed(region.args)}"
            yield from self.block(region, pad + " ")


def exact(value: object) -> str:
    """Return a text that no other value has; 1, 1.0 and True are three values."""
    write = _WRITERS.get(type(value))
    return write(value) if write is not None else _rare(value)


def _rare(value: object) -> str:
    if isinstance(value, DTypeMeta):
        return value.name
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    kind = type(value)
    if isinstance(value, DType):
        plain: object = float(value) if isinstance(value, float) else int(cast("int", value))
        return f"{type(value).name}({exact(plain)})"
    if isinstance(value, np.generic):
        return f"{kind.__name__}({value.tobytes().hex()})"
    if isinstance(value, _RECORDS):
        return _record(value)
    raise NotExactError(f"a {kind.__qualname__} has no exact text: {value!r}")


def _float(value: float) -> str:
    return repr(value) if value == value else f"nan({struct.pack('<d', value).hex()})"


def _tuple(value: tuple[object, ...]) -> str:
    return f"({''.join([exact(item) + ',' for item in value])})"


def _record(value: Any) -> str:
    name: str = type(value).__name__
    hidden = UNSEEN.get(name, ())
    parts = [
        f"{f.name}={exact(getattr(value, f.name))}" for f in fields(value) if f.name not in hidden
    ]
    return f"{name}({' '.join(parts)})"


_RECORDS: tuple[type[Any], ...] = (
    PtrType, TileType, TensorType, ViewType, TokenType, SharedType,
    TensorSpec, OutputSpec, ScalarSpec, PointerSpec, Signature, MemoryFacts,
)  # fmt: skip
_WRITERS: dict[type[Any], Callable[[Any], str]] = {
    NoneType: repr,
    bool: repr,
    int: repr,
    str: repr,
    float: _float,
    tuple: _tuple,
    **dict.fromkeys(_RECORDS, _record),
}
