"""What the statements of a plan speak of: buffers, variables, registers, constants, tensor tiles.

Scalars (rank-0 values of the IR) keep their IR values as names, so they have no class here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ....base.dtypes import AnyDType
from ....base.shapes import Shape
from ....base.source import Span
from ....ir.core import Value
from ....ir.types import Elem, PtrType, ViewType
from .index import Layout, Loop


def itemsize(elem: Elem) -> int:
    """Bytes of one element in a buffer; pointers are addresses."""
    return 8 if isinstance(elem, PtrType) else elem.itemsize


@dataclass(eq=False, slots=True)
class Buffer:
    """A tile in the worker's arena. `why` says who needs it in memory."""

    name: str
    elem: Elem
    layout: Layout
    why: str
    span: Span | None = None
    copies: int = 1
    """How many tiles of the kind there is room for."""

    @property
    def shape(self) -> Shape:
        """The tile's shape."""
        return tuple(prod(p.size for p in axis) for axis in self.layout)

    @property
    def bytes(self) -> int:
        """What it takes in the arena."""
        return self.copies * self.tile_bytes

    @property
    def tile_bytes(self) -> int:
        """What one tile takes."""
        return prod(self.shape) * itemsize(self.elem)


@dataclass(eq=False, slots=True)
class Variable:
    """A scalar that changes: carried by a loop, or given by a branch or a nest."""

    name: str
    elem: Elem


@dataclass(eq=False, slots=True)
class Reg:
    """One element per lane, or one for all lanes if `loops` does not hold the lane loop."""

    elem: Elem
    loops: frozenset[Loop] = frozenset()


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    elem: AnyDType
    value: float | int | bool


Operand: TypeAlias = Reg | Value | Literal
"""What a statement reads: a register, a scalar of the plan, or a constant."""


@dataclass(eq=False, slots=True)
class Access:
    """A tile of a tensor: the view, where in it, and the guard."""

    view: ViewType
    tensor: Value
    where: tuple[Value, ...]
    guard: Value | None
