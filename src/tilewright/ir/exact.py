"""Writes a function as text that says everything code can depend on: equal texts, equal code.

The printer is for people and leaves out what is plain to them; this leaves out only names of
values, source places, and what a launch alone looks at. What it cannot write exactly it refuses.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from enum import Enum
from itertools import count
from types import NoneType
from typing import Any, cast

import numpy as np

from ..base.dtypes import DType, DTypeMeta
from .core import Block, Func, Op, Value
from .signature import MemoryFacts, OutputSpec, PointerSpec, ScalarSpec, Signature, TensorSpec
from .types import PtrType, SharedType, TensorType, TileType, TokenType, ViewType

UNSEEN = {"Signature": ("constants",), "GlobalSpec": ("memory",)}
"""Fields that code does not see: constants are in the IR, memory is found by each launch."""


class NotExactError(TypeError):
    """Something in a function that has no exact text."""


def exact_text(func: Func) -> list[str]:
    """The function, line by line."""
    writer = _Writer()
    head = [
        f"kernel {exact(func.name)} {exact(func.signature)}",
        f"params {writer.typed(func.params)}",
        *(f"launch_check {exact(check.expr)}" for check in func.launch_checks),
    ]
    return [*head, *writer.block(func.body, "")]


class _Writer:
    """Numbers values in the order in which they are met."""

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
    """One value as text that no other value has; 1, 1.0 and True are three values."""
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
