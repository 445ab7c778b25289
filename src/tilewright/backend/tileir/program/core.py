"""Values, instructions, kernels. What an instruction may hold is said by its `OpCode`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ....base.source import Span
from ..encoding.opcodes import OpCode
from .types import Kind, Scalar

Hints: TypeAlias = Mapping[str, Mapping[str, int | bool]]
"""From an architecture, or `default`, to hints by name."""


@dataclass(frozen=True, slots=True)
class DivBy:
    """Assumes that every element is a multiple of `divisor` (in bytes for pointers)."""

    divisor: int

    def __str__(self) -> str:
        return f"div_by<{self.divisor}>"


@dataclass(frozen=True, slots=True)
class Bounded:
    """Assumes that every element lies between two bounds, both included."""

    low: int | None
    high: int | None

    def __str__(self) -> str:
        low, high = ("?" if n is None else str(n) for n in (self.low, self.high))
        return f"bounded<{low}, {high}>"


@dataclass(frozen=True, slots=True)
class Same:
    """Assumes that runs of this many elements along each axis are equal."""

    runs: tuple[int, ...]

    def __str__(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.runs))}]>"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a reduction starts with: a number as its bits."""

    kind: Scalar
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
class Region:
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
    regions: tuple[Region | None, ...] = ()
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
    body: Region
    hints: Hints = field(default_factory=dict[str, Mapping[str, int | bool]])
    span: Span | None = None
    notes: tuple[str, ...] = ()
    """What was decided when it was lowered, for `explain()`; not part of the bytecode."""

    def walk(self) -> Iterator[Instr]:
        """All instructions in order, those inside regions after the one that holds them."""
        return _walk(self.body)


@dataclass(eq=False, slots=True)
class Program:
    """Kernels compiled together."""

    kernels: tuple[Kernel, ...]
    producer: str = ""


def _walk(region: Region) -> Iterator[Instr]:
    for instr in region.code:
        yield instr
        for inner in instr.regions:
            if inner is not None:
                yield from _walk(inner)
