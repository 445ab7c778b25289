"""IR as data: values, ops, blocks, functions. Ops are declared in `ir.ops`, never subclassed.

The form is structured SSA as in MLIR: an op may hold regions of one block each, and values pass
through terminators and block arguments instead of phi nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..base.source import Span
from .launch_expr import LaunchCheck
from .opdef import OpDef, Trait
from .signature import Signature
from .types import TensorType, TileType, Type, ViewType


@dataclass(eq=False, slots=True)
class Value:
    """One SSA value; compared by identity. `name` only helps the printer."""

    type: Type
    name: str = ""

    @property
    def tile(self) -> TileType:
        """The type of a value known to be a tile."""
        assert isinstance(self.type, TileType), f"expected a tile, got {self.type}"
        return self.type

    @property
    def view(self) -> ViewType:
        """The type of a value known to be a view."""
        assert isinstance(self.type, ViewType), f"expected a view, got {self.type}"
        return self.type

    @property
    def tensor(self) -> TensorType:
        """The type of a value known to be a tensor."""
        assert isinstance(self.type, TensorType), f"expected a tensor, got {self.type}"
        return self.type


@dataclass(eq=False, slots=True)
class Block:
    """A straight run of ops ending in a terminator, with arguments."""

    args: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list["Op"])

    @property
    def terminator(self) -> Op:
        """The last op."""
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """Return all ops in order, those inside regions after the op that holds them."""
        return walk(self.ops)


def walk(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield ops in order, and after each those inside its regions."""
    for op in ops:
        yield op
        for region in op.regions:
            yield from walk(region.ops)


@dataclass(eq=False, slots=True)
class Op:
    """One operation: its declaration, operands in declared order, attributes, results, regions.

    `sizes` counts how many operands each declared operand took (0 or 1 for `?`, any for `*`).
    """

    defn: OpDef
    operands: tuple[Value, ...]
    sizes: tuple[int, ...]
    attrs: Mapping[str, Any]
    results: tuple[Value, ...]
    regions: tuple[Block, ...]
    span: Span | None

    @property
    def name(self) -> str:
        """The op's name without its dialect."""
        return self.defn.name

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def is_a(self, *declared: OpDef) -> bool:
        """Return whether this is one of these ops."""
        return self.defn in declared

    def has(self, traits: Trait) -> bool:
        """Return whether the op has one of these traits."""
        return self.defn.has(traits)

    def all(self, name: str) -> tuple[Value, ...]:
        """Return the operands that the declared operand `name` took."""
        start = 0
        for spec, count in zip(self.defn.operands, self.sizes, strict=True):
            if spec.name == name:
                return self.operands[start : start + count]
            start += count
        raise KeyError(f"{self.name} has no operand {name!r}")

    def one(self, name: str) -> Value:
        """Return the operand `name`, which must be there."""
        (value,) = self.all(name)
        return value

    def maybe(self, name: str) -> Value | None:
        """Return the optional operand `name`, or None."""
        values = self.all(name)
        return values[0] if values else None


class Placement(Enum):
    """Placements of a bounds check, in order of increasing cost."""

    PROVED = "proved"
    AT_LAUNCH = "at launch"
    HOISTED = "hoisted"
    IN_PLACE = "in place"


@dataclass(frozen=True, slots=True)
class BoundsCheck:
    """The requirement that an access is in bounds along one axis, and the placement of its check.

    Slices have no axes. `reason` says why its check is where it is, `advice` how to get rid of it.
    """

    span: Span | None
    tensor: str
    axis: int | None
    placement: Placement
    reason: str
    advice: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The facts that it shares with other checks of the same access."""
        return self.span, self.tensor, self.axis


@dataclass(eq=False, slots=True)
class Func:
    """One kernel for one signature: parameters in order, a body, what to check before a launch.

    `obligations` are those of all accesses, once `prove_checks` has placed them.
    """

    name: str
    signature: Signature
    params: tuple[Value, ...]
    body: Block
    launch_checks: tuple[LaunchCheck, ...] = ()
    obligations: tuple[BoundsCheck, ...] = ()

    def walk(self) -> Iterator[Op]:
        """Return all ops of the body in order."""
        return self.body.walk()
