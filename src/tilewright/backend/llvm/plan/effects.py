"""Which memory an op touches, and whether two of them may touch the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....base.shapes import Shape
from ....ir.core import Op, Value
from ....ir.opdef import Effect
from .facts import READS, Facts, is_ordered, is_tile
from .values import Buffer


@dataclass(frozen=True, slots=True)
class Location:
    """A parameter, a loop's buffer, or (both None) whatever a raw pointer points to."""

    param: str | None = None
    buffer: Buffer | None = None


ANYWHERE = Location()


def location_of(op: Op) -> Location:
    """The memory a load or a store touches."""
    if op.name in ("load_view", "store_view", "atomic_red_view"):
        return Location(param=op.one("view").view.tensor.param)
    return ANYWHERE


def may_alias(a: Location, b: Location) -> bool:
    """Whether two locations may share bytes; written parameters are launched without aliases."""
    if a.buffer is not None or b.buffer is not None:
        return a.buffer is b.buffer
    return a.param is None or b.param is None or a.param == b.param


def is_write(op: Op) -> bool:
    """Whether memory may differ after an op: it writes, or it waits for what others write."""
    return bool(op.defn.effects & Effect.WRITE) or is_ordered(op)


@dataclass(frozen=True, slots=True)
class Pull:
    """A read that an expression does when it is computed.

    `exact` tells that element i of the expression needs element i of what is read, and no other.
    """

    location: Location
    exact: bool
    load: Op | None = None


def squeezed(shape: Shape) -> Shape:
    """A shape without its axes of length 1."""
    return tuple(n for n in shape if n > 1)


def pulls(
    value: Value, facts: Facts, carried: Mapping[Value, Buffer], kept: Mapping[Value, object]
) -> Iterator[Pull]:
    """The reads of memory that may change, done when a lazy tile is computed.

    `carried` are the tiles that loops overwrite; `kept` tiles have been read before.
    """
    seen: set[tuple[Value, bool]] = set()
    todo = [(value, True)]
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        current, exact = item
        if current in carried:
            yield Pull(Location(buffer=carried[current]), exact)
        if current in kept or not facts.is_lazy(current):
            continue
        op = facts.definition[current]
        if op.name in READS:
            yield Pull(location_of(op), exact, op)
        todo += [(v, exact and keeps_places(op, v)) for v in op.operands if is_tile(v)]


def keeps_places(op: Op, operand: Value) -> bool:
    """Whether element i of the result needs element i of the operand only."""
    if op.name in ("permute", "extract", "broadcast"):
        return False
    return squeezed(operand.tile.shape) == squeezed(op.result.tile.shape)


def same_place(load: Op, store: Op) -> bool:
    """Whether a load reads exactly the elements that a store writes, each where it is written."""
    if load.name != "load_view" or store.name != "store_view":
        return False
    a, b = load.one("view").view, store.one("view").view
    cut = (a.tensor.param, a.tile, a.dim_map, a.step, a.frame, a.sparse)
    if a.tensor.param is None or a.sparse is not None:
        return False
    same_cut = cut == (b.tensor.param, b.tile, b.dim_map, b.step, b.frame, b.sparse)
    return same_cut and load.all("index") == store.all("index")
