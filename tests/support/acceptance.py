"""What each op accepts: its rule, asked about many operands and attributes.

Operands are drawn from a palette of types, attributes from a table by name: all combinations, or an
even part of them where there are too many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple
from zlib import crc32

from tilewright.base.dtypes import (
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e8m0fnu,
    f32,
    i8,
    i32,
    i64,
)  # fmt: skip
from tilewright.ir.opdef import REQUIRED, Attr, OpDef, TypeRuleError
from tilewright.ir.types import TOKEN, PtrType, SharedType, TensorType, TileType, Type, ViewType

MATRIX = TensorType(f32, (None, None), (None, 1))
OUTPUT = TensorType(f32, (None,), (1,), mutable=True, param="z")
POINTERS = PtrType(f32)

FEW: tuple[Type, ...] = (
    TileType(i32), TileType(f32), TileType(bool_), TileType(f32, (4,)), TileType(f32, (2, 4)),
    TileType(i32, (4,)), TileType(bool_, (4,)), TileType(POINTERS, (4,)),
)  # fmt: skip
"""For ops of many operands."""
PALETTE: tuple[Type, ...] = (
    *FEW,
    *(TileType(dtype, (4,)) for dtype in (bf16, i8, i64, f8e4m3fn)),
    TileType(f32, (1, 4)), TileType(f32, (4, 2)), TileType(bf16, (2, 4)), TileType(i8, (4, 2)),
    TileType(i8, (2, 4)), TileType(i32, (2, 2)), TileType(f32, (2, 2)), TileType(f32, (3, 2, 4)),
    TileType(f4e2m1fn, (4,)), TileType(f4e2m1fnx2, (4,)),
    TileType(f8e8m0fnu, (2, 4)), TileType(POINTERS), TileType(i64), MATRIX, OUTPUT,
    ViewType(MATRIX, (2, 4), (0, 1)), ViewType(OUTPUT, (4,), (0,)),
    ViewType(MATRIX, (4, 2), (1, 0), sparse=0), SharedType(f32, (4, None)),
    SharedType(i32, (8,), 0), TOKEN,
)  # fmt: skip

SQUARES = tuple(TileType(d, (4, 4)) for d in (f32, bf16, i8, i32, f8e4m3fn, f8e8m0fnu))
VIEWS: tuple[Type, ...] = (
    ViewType(MATRIX, (2, 4), (0, 1)), ViewType(OUTPUT, (4,), (0,)),
    ViewType(MATRIX, (4, 2), (1, 0), sparse=0), TileType(i32), TileType(i32, (4,)), TileType(f32),
    TileType(f32, (4,)), TileType(f32, (2, 4)), TileType(f32, (4, 2)), TileType(bool_), TOKEN,
)  # fmt: skip
MANY: dict[str, tuple[Type, ...]] = {
    "mma": (*SQUARES, TileType(bf16, (4, 2)), TileType(bf16, (2, 4)), TileType(i8, (2, 4)),
            TileType(f32, (4, 2)), TileType(f32, (4,))),
    "ptr": (*FEW, TileType(POINTERS), TileType(PtrType(i32), (4,)), TOKEN),
    "atomic": (*FEW, TileType(PtrType(i32), (4,)), TileType(i64, (4,)), TOKEN),
    "shared": (SharedType(f32, (4, None)), SharedType(i32, (8,), 0), TileType(i32), TileType(f32),
               TileType(bool_), TileType(i64), TileType(i32, (4,))),
    "slice": (OUTPUT, MATRIX, TileType(i32), TileType(f32), TileType(i64), TileType(bool_),
              TensorType(i32, (None,), (1,)), TileType(f32, (4,))),
    "view": VIEWS,
}  # fmt: skip
"""For ops of three operands and more whose name has one of these in it, the last one that fits."""

DTYPES = (f32, bf16, i32, i8, bool_, f8e4m3fn)
VALUES: dict[str, tuple[Any, ...]] = {
    "shape": ((), (4,), (8,), (2, 4), (1, 4), (2, 2)),
    "axis": (0, 1, 2, -1),
    "order": ((0,), (0, 1), (1, 0), (0, 0), (1, 2, 0)),
    "to": DTYPES,
    "dtype": DTYPES,
    "tile": ((2, 4), (4,), ()),
    "dim_map": ((0, 1), (0,), (1, 0), (0, 0), (0, 2)),
    "step": (None, (4,), (2, 4), (0, 1)),
    "frame": (None, (8,), (4, 4), (3, 4)),
    "sparse": (None, 0, 1, 2),
    "groups": ((1,), (2, 2), (0, 2), (0, 0)),
    "strides": ((1,), (None, 1), ()),
    "width": (32, 16, 5, 64),
    "size": (1, 4, 0),
    "value": (0, 1),
    "number": (0, 3),
    "identities": ((0,), (0, 1), ()),
    "types": ((), (TileType(i32),)),
    "dtypes": ((), (f32,), (i32, f32)),
}
"""By the name of an attribute; those of a closed set have all values of it."""
MOST, FEWEST, SHOWN = 6000, 36, 12


class Accepted(NamedTuple):
    """What an op accepts, of how many questions."""

    name: str
    asked: int
    lines: tuple[str, ...]

    def text(self) -> str:
        """Some of it, and a number that changes with all the rest."""
        few = self.lines[:: max(1, math.ceil(len(self.lines) / SHOWN))]
        head = f"{self.name}: {len(self.lines)} of {self.asked}"
        whole = crc32("\n".join(self.lines).encode())
        return "\n".join([f"{head}, {whole:08x}", *(f"    {line}" for line in few)])


def accepted(op: OpDef) -> Accepted:
    """Ask the rule of an op."""
    asked, lines = 0, []
    for types, attrs in questions(op):
        asked += 1
        if (line := _answer(op, types, attrs)) is not None:
            lines.append(line)
    return Accepted(op.name, asked, tuple(lines))


def _answer(op: OpDef, types: Sequence[Type], attrs: dict[str, Any]) -> str | None:
    try:
        results = op.rule(types, attrs)
    except TypeRuleError:
        return None
    except (AssertionError, IndexError, TypeError, AttributeError, ValueError) as error:
        return f"{_shown(types, attrs)}: {type(error).__name__}"
    return f"{_shown(types, attrs)} -> {', '.join(map(str, results)) or 'nothing'}"


def _shown(types: Sequence[Type], attrs: dict[str, Any]) -> str:
    return " ".join([*map(str, types), *(f"{k}={v}" for k, v in attrs.items())])


def questions(op: OpDef) -> Iterator[tuple[tuple[Type, ...], dict[str, Any]]]:
    """Operands and attributes to ask about."""
    every = attributes(op)
    for count in _counts(op):
        palette = PALETTE if count < 3 else _many(op.name)
        total = len(palette) ** count * len(every)
        both = itertools.product(itertools.product(palette, repeat=count), every)
        step = 1 if total <= MOST else total // MOST | 1
        yield from itertools.islice(both, 0, None, step)


def attributes(op: OpDef) -> list[dict[str, Any]]:
    """All combinations of values, or where there are many all values, one attribute at a time."""
    sets = {attr.name: _values(attr) for attr in op.attrs}
    if math.prod(map(len, sets.values())) <= FEWEST:
        return [dict(zip(sets, each, strict=True)) for each in itertools.product(*sets.values())]
    first = {name: values[0] for name, values in sets.items()}
    several = [{**first, name: value} for name, values in sets.items() for value in values]
    return [each for k, each in enumerate(several) if each not in several[:k]]


def _many(name: str) -> tuple[Type, ...]:
    return next((each for part, each in reversed(MANY.items()) if part in name), FEW)


def _counts(op: OpDef) -> Iterator[int]:
    least = sum(operand.arity == "" for operand in op.operands)
    more = sum(operand.arity == "?" for operand in op.operands)
    several = any(operand.arity == "*" for operand in op.operands)
    yield from range(least, max(least, min(least + more + (2 if several else 0), 4)) + 1)


def _values(attr: Attr) -> tuple[Any, ...]:
    if isinstance(attr.default, StrEnum):
        return tuple(type(attr.default))
    if isinstance(attr.default, bool):
        return (False, True)
    known = VALUES.get(attr.name, ())
    return known or (None if attr.default is REQUIRED else attr.default,)
